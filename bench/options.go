package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"almanac/activities"
	"almanac/devserver"
	"almanac/internal/help"
)

// The parts of the benchmark.
const (
	partPunctual  = "punctual"
	partCluster   = "cluster"
	partLateness  = "lateness"
	partSustained = "sustained"
	partCalls     = "calls"
	partIsolation = "isolation"
	partSleep     = "sleep"
	partEngines   = "engines"
)

var allParts = []string{partPunctual, partCluster, partLateness, partSustained, partCalls, partIsolation, partSleep, partEngines}

// allSystems are the slugs of the systems.
var allSystems = []string{"almanac", "bare-loop", "temporal-schedules"}

// options say what is measured, and for how long.
type options struct {
	parts       []string
	systems     []string
	herds       [][]int // sizes; those of one element share a minute
	settle      int     // ticks before those that are measured
	ticks       int
	brief       bool // end when all requests of the last tick have come
	rounds      int
	sustain     time.Duration // a round of it
	sleeping    int           // jobs
	rest        time.Duration // for how long they are left alone, and after that watched
	benchtime   time.Duration // for one engine and schedule
	synchronous string
	maxHold     time.Duration
	once        bool
	quick       bool
	apis        []string      // addresses; empty: everything runs in this process
	sceneJobs   int           // of each scene; 0: as the scenes say
	clusterJobs int           // of each scene on a cluster
	before      time.Duration // from when a scene's jobs are there to their first tick
	out         string        // directory; empty: nothing is written
	cpuProfile  string        // file; empty: none
}

func (o options) has(part string) bool { return slices.Contains(o.parts, part) }

const helpText = `Usage: go run . [flags]   (in the directory bench)

Measure how late Almanac is, and what it costs, beside Temporal's own Schedules and
the smallest job workflow that one could write, on the same embedded Temporal
server; and how late Almanac is on a cluster (part cluster, which needs Linux and
Debian's package postgresql; internal/cluster/run starts the same). All parts take
two hours, on a machine that does nothing else; the ratios count, not the
figures. docs/benchmarks.md explains them.

  go run . -quick                                   # the most important figures, in ten minutes
  go run . -parts punctual -systems almanac -herds 500
  go run . -out ../docs                             # all, into benchmarks.md and lateness.svg
`

func parseOptions(args []string, output io.Writer) (options, error) {
	var o options
	var parts, systems, herds, apis string
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&parts, "parts", strings.Join(allParts, ","), "what to measure, joined by commas")
	flags.StringVar(&systems, "systems", strings.Join(allSystems, ","), "which systems to compare, joined by commas")
	flags.StringVar(&herds, "herds", "1+200+1000,2000", "numbers of jobs that are due in the same second; up to three joined by + share a minute, apart from each other")
	flags.IntVar(&o.settle, "settle", 3, "ticks that are shown apart before those that are measured, for Almanac adapts to a herd")
	flags.IntVar(&o.ticks, "ticks", 3, "ticks that are measured")
	flags.BoolVar(&o.brief, "brief", false, "end once the requests of the last tick have come: to see that all works, for the costs are not comparable then")
	flags.IntVar(&o.rounds, "rounds", 3, "rounds of sustained executions")
	flags.DurationVar(&o.sustain, "sustain", 20*time.Second, "how long a round of sustained executions takes")
	flags.IntVar(&o.sleeping, "sleeping", 10_000, "jobs that only sleep")
	flags.DurationVar(&o.rest, "rest", 2*time.Minute, "how long the jobs that only sleep are left alone, and after that watched")
	flags.DurationVar(&o.benchtime, "benchtime", 500*time.Millisecond, "how long each recurrence engine is asked for each schedule")
	flags.StringVar(&o.synchronous, "synchronous", devserver.SynchronousFull, "when a commit counts as done: full or normal, as in almanac dev")
	flags.DurationVar(&o.maxHold, "max-hold", activities.DefaultLead().Hold, "within what time of the execution before it an action is dispatched at once, as in almanac dev; with 0s, Almanac's jobs sleep between two ticks")
	flags.BoolVar(&o.once, "once", false, "Almanac's jobs have retryType none, so that each request is sent at most once")
	flags.BoolVar(&o.quick, "quick", false, "the most important figures within ten minutes: part "+partPunctual+" with few herds and one more tick each")
	flags.StringVar(&apis, "api", "", "addresses of Almanac's APIs, such as those that task cluster prints, joined by commas: part "+partPunctual+" is measured there; empty: everything runs in this process")
	flags.IntVar(&o.sceneJobs, "scene-jobs", 0, "how many jobs the herds of parts "+partPunctual+" and "+partIsolation+" have; 0: 1,000 and 2,000")
	flags.IntVar(&o.clusterJobs, "cluster-jobs", 500, "how many jobs the herds of part "+partCluster+" have")
	flags.DurationVar(&o.before, "created-before", time.Minute, "how long before their first tick the herds of part "+partPunctual+" are there, but for those that say so themselves")
	flags.StringVar(&o.out, "out", "", "directory to write benchmarks.md and lateness.svg to; empty: only print")
	flags.StringVar(&o.cpuProfile, "cpuprofile", "", "file to write a CPU profile of all that runs in this process to, for go tool pprof")
	if err := help.Parse(flags, helpText, args, output); err != nil {
		return o, err
	}
	if o.quick {
		parts, o.ticks = partPunctual, 1
	}
	if apis != "" {
		parts, o.apis = partPunctual, strings.Split(apis, ",")
	}
	var errParts, errSystems, errHerds error
	o.parts, errParts = parseWords("parts", parts, allParts)
	o.systems, errSystems = parseWords("systems", systems, allSystems)
	o.herds, errHerds = parseHerds(herds)
	return o, errors.Join(errParts, errSystems, errHerds, o.check())
}

// check returns everything that is wrong with numbers and words.
func (o options) check() error {
	var errs []error
	if o.sceneJobs < 0 || o.sceneJobs > maxHerd {
		errs = append(errs, fmt.Errorf("-scene-jobs must be from 0 to %d", maxHerd))
	}
	if o.clusterJobs < 1 || o.clusterJobs > maxHerd {
		errs = append(errs, fmt.Errorf("-cluster-jobs must be from 1 to %d", maxHerd))
	}
	if o.settle < 0 || o.ticks < 1 || o.rounds < 1 || o.sleeping < 1 {
		errs = append(errs, errors.New("-settle must be at least 0, and -ticks, -rounds and -sleeping at least 1"))
	}
	if o.before < 0 || o.before > backlogAge {
		errs = append(errs, fmt.Errorf("-created-before must be from 0s to %s", backlogAge))
	}
	if o.maxHold < 0 {
		errs = append(errs, errors.New("-max-hold must be at least 0"))
	}
	if o.sustain <= 0 || o.rest <= 0 || o.benchtime <= 0 {
		errs = append(errs, errors.New("-sustain, -rest and -benchtime must be more than 0"))
	}
	if o.synchronous != devserver.SynchronousFull && o.synchronous != devserver.SynchronousNormal {
		errs = append(errs, fmt.Errorf("-synchronous is %q, want %s or %s", o.synchronous, devserver.SynchronousFull, devserver.SynchronousNormal))
	}
	return errors.Join(errs...)
}

func parseWords(name, text string, known []string) ([]string, error) {
	words := strings.Split(text, ",")
	for _, w := range words {
		if !slices.Contains(known, w) {
			return nil, fmt.Errorf("-%s has %q, want some of %s", name, w, strings.Join(known, ","))
		}
	}
	return words, nil
}

func parseHerds(text string) ([][]int, error) {
	var herds [][]int
	for shared := range strings.SplitSeq(text, ",") {
		var sizes []int
		for size := range strings.SplitSeq(shared, "+") {
			n, err := strconv.Atoi(size)
			if err != nil || n < 1 || n > maxHerd || slices.Contains(sizes, n) {
				return nil, fmt.Errorf("-herds has %q, want numbers from 1 to %d, none twice in a minute", size, maxHerd)
			}
			sizes = append(sizes, n)
		}
		if len(sizes) > len(offsets) {
			return nil, fmt.Errorf("-herds has %q, want at most %d that share a minute", shared, len(offsets))
		}
		slices.Sort(sizes)
		herds = append(herds, sizes)
	}
	return herds, nil
}

// maxHerd is as many jobs as a collection can hold.
const maxHerd = 10_000
