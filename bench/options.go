package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"almanac/activities"
	"almanac/bench/systems"
	"almanac/internal/help"
)

// options say what is measured, and for how long.
type options struct {
	parts         []string
	systems       []string      // slugs
	herds         []int         // numbers of jobs, for part lateness
	jobs          int           // of every herd; 0: as the parts say
	ticks         int           // that are measured
	rounds        int           // of sustained executions
	sleeping      int           // jobs
	createdBefore time.Duration // from when a herd is created to its first tick
	maxHold       time.Duration
	apis          []string // addresses; empty: everything runs in this process
	quick, smoke  bool
	out           string // file; empty: none

	// -smoke makes these shorter.
	warmUpTicks int           // before those that are measured
	idle        time.Duration // for how long the process is watched at rest
	warmUp      time.Duration // before sustained executions are measured
	sustain     time.Duration // a round of them
	rest        time.Duration // for how long sleeping jobs are left alone, and after that watched
	benchtime   time.Duration // for one engine and schedule
	before      time.Duration // of part isolation, from creating the herd to its first tick
	quiet       time.Duration // and from the first call to creating the herd
	lists       int           // times that lists are read
	bulk        time.Duration // for how long PUTs are measured beside a bulk load, and alone
	window      time.Duration // of part across, in which jobs run
}

const helpText = `Usage: go run . [flags]   (in the directory bench)

Measure how late Almanac's jobs are and what they cost, beside Temporal's own Schedules and
the smallest job workflow that one could write. Part cluster needs Linux and Debian's
package postgresql. All parts take four hours, on a machine that does nothing else; the
ratios count, not the figures. docs/benchmarks.md explains them.

  go run . -quick                                   # the most important figures, in ten minutes
  go run . -parts lateness -systems almanac -jobs 500
  go run . -parts across                            # lists across 10,000 jobs, in an hour and some minutes
  go run . -parts across -window 10m                # the same, once a sixth of them ran
  go run . -parts observed -rounds 1                # with and without metrics, traces and notifications, in ten minutes
  go run . -out ../docs/benchmarks.md               # everything
`

func parseOptions(args []string, output io.Writer) (options, error) {
	o := options{
		systems: systems.Slugs, herds: []int{1, 200, 1000, 2000}, sleeping: 10_000,
		warmUpTicks: 1, idle: calm, sustain: 20 * time.Second, rest: 2 * time.Minute, benchtime: 500 * time.Millisecond,
		before: time.Minute, quiet: 50 * time.Second, lists: 100, bulk: 20 * time.Second, window: time.Hour,
		warmUp: systems.AttemptTimeout + 5*time.Second, // the server has looked at the timeouts of the first activities then
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.Func("parts", "what to measure, joined by commas: "+strings.Join(partNames(), ",")+"; default: everything, or what -quick, -smoke or -api say",
		func(text string) (err error) { o.parts, err = choose(text, partNames()); return err })
	flags.Func("systems", "systems to compare, joined by commas; default: "+strings.Join(o.systems, ","),
		func(text string) (err error) { o.systems, err = choose(text, systems.Slugs); return err })
	flags.Func("api", "addresses of the APIs of an Almanac on this machine, such as those that task cluster prints, joined by commas: measures part "+partFirstTick+" there",
		func(text string) error { o.apis = strings.Split(text, ","); return nil })
	flags.IntVar(&o.jobs, "jobs", 0, "number of jobs of each herd of the parts "+partFirstTick+", isolation, lateness, across, observed and cluster; 0: up to 2,000, on a cluster 500, and 10,000 of part across")
	flags.IntVar(&o.ticks, "ticks", 2, "number of ticks that are measured, after the first one")
	flags.IntVar(&o.rounds, "rounds", 2, "number of rounds of sustained executions, and of part observed")
	flags.DurationVar(&o.createdBefore, "created-before", time.Minute, "how long before their first tick the herds of part "+partFirstTick+" are created, and at least those of part across, at most 24h")
	flags.DurationVar(&o.window, "window", time.Hour, "how long the jobs of part across run before lists are read, of the hour in which each runs once")
	flags.DurationVar(&o.maxHold, "max-hold", activities.DefaultMaxHold, "within what time of the execution before it an action is dispatched at once, as in almanac dev; with 0s, Almanac's jobs sleep between two ticks")
	flags.BoolVar(&o.quick, "quick", false, "measure part "+partFirstTick+" with three herds and one more tick")
	flags.BoolVar(&o.smoke, "smoke", false, "measure all parts but the cluster at a size that says nothing about speed, to see that they work")
	flags.StringVar(&o.out, "out", "", "file for the report, which is written if nothing failed; empty: only print it")
	if err := help.Parse(flags, helpText, args, output); err != nil {
		return o, err
	}
	err := o.check()
	if o.parts == nil {
		o.parts = o.defaultParts()
	}
	if o.quick {
		o.ticks = 1
	}
	if o.smoke {
		o.shrink()
	}
	if o.jobs > 0 {
		o.herds = []int{o.jobs}
	}
	return o, err
}

func partNames() (names []string) {
	for _, p := range parts {
		names = append(names, p.name)
	}
	return names
}

// defaultParts are measured if none are named.
func (o options) defaultParts() []string {
	switch {
	case o.quick || len(o.apis) > 0:
		return []string{partFirstTick}
	case o.smoke:
		return slices.DeleteFunc(partNames(), func(name string) bool { return name == "cluster" })
	}
	return partNames()
}

// shrink makes everything as small as it can be.
func (o *options) shrink() {
	o.jobs, o.sleeping = 20, 100
	o.warmUpTicks, o.ticks, o.rounds = 0, 1, 1
	o.createdBefore, o.idle, o.warmUp, o.sustain, o.rest = 5*time.Second, 3*time.Second, 3*time.Second, 3*time.Second, 5*time.Second
	o.benchtime, o.before, o.quiet, o.lists, o.bulk, o.window = 2*time.Millisecond, 20*time.Second, 5*time.Second, 10, time.Second, 10*time.Second
}

// check returns what is wrong with numbers, or with flags beside each other.
func (o options) check() error {
	switch {
	case o.jobs < 0 || o.jobs > maxHerd:
		return fmt.Errorf("-jobs must be from 0 to %d", maxHerd)
	case o.ticks < 1 || o.rounds < 1:
		return errors.New("-ticks and -rounds must be at least 1")
	case o.createdBefore < 0 || o.createdBefore > 24*time.Hour:
		return errors.New("-created-before must be from 0s to 24h")
	case o.window < time.Second || o.window > time.Hour:
		return errors.New("-window must be from 1s to 1h")
	case o.maxHold < 0:
		return errors.New("-max-hold must be at least 0s")
	case len(o.apis) > 0 && len(o.parts) > 0 && !slices.Equal(o.parts, []string{partFirstTick}):
		return errors.New("-api measures part " + partFirstTick + " only")
	}
	return nil
}

func choose(text string, known []string) ([]string, error) {
	words := strings.Split(text, ",")
	for _, w := range words {
		if !slices.Contains(known, w) {
			return nil, fmt.Errorf("must have only %s", strings.Join(known, ","))
		}
	}
	return words, nil
}

// maxHerd is as many jobs as a collection can hold.
const maxHerd = 10_000
