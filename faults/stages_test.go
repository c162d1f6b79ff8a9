//go:build linux

package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/faults/laws"
	"almanac/internal/codec"
	"almanac/internal/processes"
	"almanac/job"
)

// broken returns a breaker of a system of that form that was never started.
func broken(t *testing.T, args ...string) *breaker {
	t.Helper()
	o, err := parseOptions(append(args, "-seed", "1"), t.Output())
	require.NoError(t, err)
	s := &system{form: o.form, server: &processes.Process{Name: "almanac"}}
	s.all, s.workers, s.apis = []*processes.Process{s.server}, []*processes.Process{s.server}, []*processes.Process{s.server}
	if o.form != formOne {
		s.temporal = s.all
		s.workers = []*processes.Process{{Name: "worker1"}, {Name: "worker2"}}
		s.apis = []*processes.Process{{Name: "api1"}, {Name: "api2"}}
		s.all = slices.Concat(s.all, s.workers, s.apis)
	}
	return &breaker{options: o, system: s, random: stream(o.seed, 3)}
}

func TestTheDeckHasEveryFaultAndStage(t *testing.T) {
	t.Parallel()
	for _, form := range []string{formOne, formCluster, formPostgres} {
		b := broken(t, "-form", form)
		var kinds, aims []string
		for _, p := range b.deck() {
			kinds = append(kinds, p.kind)
			if p.kind == faultKill {
				aims = append(aims, p.aim)
			}
			if p.kind == faultKeys {
				require.True(t, slices.Contains(p.target.stops, laws.API) && slices.Contains(p.target.stops, laws.Workers))
				require.Equal(t, form == formOne, slices.Contains(p.target.processes, b.system.server))
			}
		}
		require.Subset(t, aims, stages)
		for _, kind := range b.options.faults {
			if kind != faultDown { // a long kill
				require.Contains(t, kinds, kind, form)
			}
		}
	}
}

func TestTheDeckKeepsToTheStagesThatWereAskedFor(t *testing.T) {
	t.Parallel()
	deck := broken(t, "-faults", "kill,pause,stop", "-aims", "create,fan-out").deck()
	require.Len(t, deck, 2+6+4)
	for _, p := range deck {
		require.Contains(t, []string{aimCreate, aimFanOut}, p.aim)
	}
}

func TestCreatesAreHitAtTheirAPI(t *testing.T) {
	t.Parallel()
	b := broken(t, "-form", "cluster")
	hits := 0
	for range 1000 {
		if b.target(b.targets(), aimCreate).name == "api1" {
			hits++
		}
	}
	require.Greater(t, hits, 500)
	require.Zero(t, len((&changer{}).addition(laws.Definition{}).at.Name)%2, "call uses the first API for names of even length")
}

func TestAdditionsHaveNewNames(t *testing.T) {
	t.Parallel()
	c := &changer{subjects: newSubjects(4, time.Now(), time.Minute, stream(1, 1))}
	c.addition(once(time.Now()))
	c.addition(once(time.Now()))
	seen := map[laws.Job]bool{}
	for _, s := range c.all() {
		require.False(t, seen[s.at])
		seen[s.at] = true
	}
	require.Len(t, seen, 6)
}

func TestJobsThatRunOnceAreValid(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 10, 500, time.UTC)
	r := &receiver{url: "http://127.0.0.1:1"}
	d, err := job.ParseDefinition([]byte(r.definitionBody(laws.Job{Collection: "c", Name: "x", Life: 1}, once(now))), job.ParseOptions{Now: now})
	require.NoError(t, err)
	require.Nil(t, d.Recurrence)
	require.Equal(t, now.Truncate(time.Second), d.StartTime.Time)
}

func TestKeys(t *testing.T) {
	t.Parallel()
	f, err := newKeyFile(filepath.Join(t.TempDir(), "keys"))
	require.NoError(t, err)
	require.NoError(t, f.rotate())
	ring, err := f.ring()
	require.NoError(t, err)
	require.Equal(t, []string{"key2", "key1"}, ring.IDs())
	text, err := os.ReadFile(f.path)
	require.NoError(t, err)
	read, err := codec.ParseKeys(string(text))
	require.NoError(t, err)
	require.Equal(t, ring.IDs(), read.IDs())
	require.Equal(t, []string{"--encryption-keys-file", f.path}, f.flags())

	var none *keyFile
	require.Empty(t, none.flags())
	ring, err = none.ring()
	require.NoError(t, err)
	require.Nil(t, ring)
}
