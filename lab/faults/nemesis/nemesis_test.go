package nemesis

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/lab/processes"
	"almanac/lab/record"
	"almanac/lab/system"
)

// newNemesis returns a nemesis of a system that was never started.
func newNemesis(form string, seed uint64) *Nemesis {
	server := []*processes.Process{{Name: "almanac"}}
	s := &system.System{Form: form, Server: server[0], All: server, Workers: server, APIs: server}
	if form != system.One {
		s.Temporal = server
		s.Workers = []*processes.Process{{Name: "worker1"}, {Name: "worker2"}}
		s.APIs = []*processes.Process{{Name: "api1"}, {Name: "api2"}}
		s.All = slices.Concat(server, s.Workers, s.APIs)
	}
	return &Nemesis{Faults: Kinds[form], Aims: Aims, Down: 200 * time.Second, System: s,
		Random: rand.New(rand.NewPCG(seed, 3))}
}

func TestThePlansHaveEveryFaultAndAim(t *testing.T) {
	t.Parallel()
	for _, form := range []string{system.One, system.Cluster, system.Postgres} {
		n := newNemesis(form, 1)
		var kinds, aims []string
		for _, p := range n.plans() {
			kinds = append(kinds, p.kind)
			if p.kind == record.FaultKill {
				aims = append(aims, p.aim)
			}
			if p.kind == record.FaultKeys {
				require.True(t, slices.Contains(p.target.stops, record.API) &&
					slices.Contains(p.target.stops, record.AllWorkers))
				require.Equal(t, form == system.One, slices.Contains(p.target.processes, n.System.Server))
			}
		}
		require.Subset(t, aims, Aims)
		for _, kind := range Kinds[form] {
			if kind != FaultDown { // a long kill
				require.Contains(t, kinds, kind, form)
			}
		}
	}
}

func TestThePlansHaveOnlyTheGivenAims(t *testing.T) {
	t.Parallel()
	n := newNemesis(system.One, 1)
	n.Faults, n.Aims = []string{record.FaultKill, record.FaultPause, record.FaultStop}, []string{AimCreate, AimFanOut}
	plans := n.plans()
	require.Len(t, plans, 2+6+4)
	for _, p := range plans {
		require.Contains(t, []string{AimCreate, AimFanOut}, p.aim)
	}
}

func TestTheSameSeedMakesTheSamePlans(t *testing.T) {
	t.Parallel()
	n := newNemesis(system.Cluster, 1)
	var first []plan
	for range 3 {
		first = append(first, n.plans()...)
	}
	again := newNemesis(system.Cluster, 1)
	for i, p := range slices.Concat(again.plans(), again.plans(), again.plans()) {
		p.target.processes = first[i].target.processes // those of another system
		require.Equal(t, first[i], p)
	}
}

func TestHalfOfTheFaultsAimedAtCreatesHitTheirAPI(t *testing.T) {
	t.Parallel()
	n := newNemesis(system.Cluster, 1)
	hits := 0
	for range 1000 {
		if n.target(n.targets(), AimCreate).name == "api1" {
			hits++
		}
	}
	require.Greater(t, hits, 500)
}
