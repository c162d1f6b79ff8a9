package nemesis

import (
	"slices"
	"time"

	"almanac/lab/processes"
	"almanac/lab/record"
	"almanac/lab/system"
)

// FaultDown kills everything and keeps it down for minutes; it is recorded as a kill.
const FaultDown = "down"

// Kinds are the kinds of fault that each form of the system can have.
var Kinds = map[string][]string{
	system.One: {
		record.FaultKill, record.FaultPause, record.FaultStop, FaultDown, record.FaultDisk, record.FaultFlags,
		record.FaultKeys, record.FaultOverload, record.FaultStorm,
	},
	system.Cluster: {
		record.FaultKill, record.FaultPause, record.FaultStop, FaultDown, record.FaultDisk, record.FaultSlow,
		record.FaultBlackhole, record.FaultCut,
		record.FaultFlags, record.FaultKeys, record.FaultOverload, record.FaultStorm,
	},
	system.Postgres: {
		record.FaultKill, record.FaultPause, record.FaultStop, FaultDown, record.FaultSlow, record.FaultBlackhole,
		record.FaultCut,
		record.FaultFlags, record.FaultKeys, record.FaultOverload, record.FaultStorm,
	},
}

// A plan is a fault that is to be injected.
type plan struct {
	kind   string
	target target
	aim    string
	length time.Duration // of a pause, of the time until a restart, of a fault of the network or the disk
	flags  []string      // of the processes after a restart
	burst  int           // number of changes around it
	herd   []record.Job  // jobs that are due together during an overload
}

// isLong reports whether the fault is a long downtime.
func (p *plan) isLong() bool { return p.kind == record.FaultKill && p.length > time.Minute }

// A target is what a fault hits.
type target struct {
	name      string
	processes []*processes.Process
	stops     []string
}

// targets returns the groups of processes that a fault may hit. The first one is everything.
func (n *Nemesis) targets() []target {
	s := n.System
	everything := target{"everything", s.All, []string{record.API, record.Server, record.AllWorkers, record.Worker}}
	if s.Form == system.One {
		everything.name = "almanac"
		return []target{everything}
	}
	all := []target{
		everything,
		{"temporal", s.Temporal, []string{record.Server}},
		{"workers", s.Workers, []string{record.AllWorkers, record.Worker}},
		{s.APIs[0].Name, s.APIs[:1], []string{record.API}},
	}
	if len(s.Temporal) > 1 {
		for _, p := range s.Temporal {
			all = append(all, target{p.Name, []*processes.Process{p}, []string{record.Server}})
		}
	}
	for _, p := range s.Workers { // twice: they are hit most
		worker := target{p.Name, []*processes.Process{p}, []string{record.Worker}}
		all = append(all, worker, worker)
	}
	return all
}

// target returns a random target. Half of the faults aimed at creates hit the API that starts the workflows.
func (n *Nemesis) target(targets []target, aim string) target {
	api := slices.IndexFunc(targets, func(t target) bool { return slices.Equal(t.stops, []string{record.API}) })
	if aim == AimCreate && api >= 0 && n.Random.IntN(2) == 0 {
		return targets[api]
	}
	return targets[n.Random.IntN(len(targets))]
}

// seconds returns a random time.
func (n *Nemesis) seconds(least, most float64) time.Duration {
	return time.Duration((least + n.Random.Float64()*(most-least)) * float64(time.Second))
}

// plans returns a plan of every fault, kills of every aim, in random order.
func (n *Nemesis) plans() []plan {
	var all []plan
	for _, kind := range n.Faults {
		switch kind {
		case record.FaultKill:
			all = append(all, n.processPlans(kind, n.Aims, 0, 15, 0, 12)...)
		case record.FaultPause:
			all = append(all, n.processPlans(kind, n.someAims(6), 2, 90, 4, 12)...)
		case record.FaultStorm:
			all = append(all, n.plan(kind), n.plan(kind))
		case record.FaultStop:
			all = append(all, n.processPlans(kind, n.someAims(4), 0, 10, 0, 8)...)
		default:
			all = append(all, n.plan(kind))
		}
	}
	n.Random.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	return all
}

// processPlans returns a plan of a fault of some processes for each aim. It lasts from least to most seconds,
// with at least burst changes around it and up to extra more.
func (n *Nemesis) processPlans(kind string, aims []string, least, most float64, burst, extra int) []plan {
	targets := n.targets()
	var all []plan
	for _, aim := range aims {
		all = append(all, plan{kind: kind, target: n.target(targets, aim), aim: aim, length: n.seconds(least, most),
			burst: burst + n.Random.IntN(extra)})
	}
	return all
}

// flagChoices are the flags that the workers may be restarted with.
var flagChoices = [][]string{{"--max-hold", "0s"}, {"--max-hold", "2m"}, {"--max-hold", "5s"},
	{"--max-cached-workflows", "20"}}

// plan returns the plan of a kind of fault that [Nemesis.plans] includes once.
func (n *Nemesis) plan(kind string) plan {
	everything := n.targets()[0]
	p := plan{kind: kind, target: target{"network", nil, []string{record.Server}}}
	switch kind {
	case record.FaultFlags:
		p.target, p.aim, p.flags = n.group("workers", []string{record.AllWorkers, record.Worker},
			n.System.Workers...), AimRandom, flagChoices[n.Random.IntN(len(flagChoices))]
		p.burst = n.Random.IntN(8)
		return p
	case record.FaultOverload:
		p.target, p.aim, p.burst = target{name: "load"}, aimHerd, n.Random.IntN(8)
		return p
	}
	p.aim = executionAims[n.Random.IntN(len(executionAims))]
	switch kind {
	case record.FaultStorm:
		p.target, p.length = target{name: "receiver"}, n.seconds(10, 40)
	case FaultDown:
		p.kind, p.target, p.length = record.FaultKill, everything, n.Down
		return p
	case record.FaultKeys:
		p.target = n.group("workers and APIs", []string{record.API, record.AllWorkers, record.Worker},
			slices.Concat(n.System.Workers, n.System.APIs)...)
	case record.FaultDisk:
		p.target, p.length = n.group("disk", []string{record.Server}, n.System.Server), n.seconds(3, 20)
		p.target.name = "disk"
	case record.FaultSlow:
		p.length = n.seconds(10, 40)
	case record.FaultBlackhole, record.FaultCut:
		p.length = n.seconds(3, 40)
	}
	p.burst = n.Random.IntN(8)
	return p
}

// group returns a target of some processes; in the form one, its only process.
func (n *Nemesis) group(name string, stops []string, all ...*processes.Process) target {
	if n.System.Form == system.One {
		return n.targets()[0]
	}
	return target{name, all, stops}
}
