// Package options has the flags of the benchmark.
package options

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"almanac/activities"
	"almanac/internal/help"
	"almanac/lab/bench/systems"
)

// Options say what is measured, and for how long.
type Options struct {
	Parts         []string
	Systems       []string      // slugs
	Herds         []int         // numbers of jobs, for part lateness
	Jobs          int           // of every herd; 0: as the parts say
	Ticks         int           // that are measured
	Rounds        int           // of sustained executions
	Sleeping      int           // jobs
	CreatedBefore time.Duration // from when a herd is created to its first tick
	MaxHold       time.Duration
	APIs          []string // addresses; empty: everything runs in this process
	Quick, Smoke  bool
	Out           string // file; empty: none

	// -smoke makes these shorter.
	WarmUpTicks int           // before those that are measured
	Idle        time.Duration // for how long the process is watched at rest
	WarmUp      time.Duration // before sustained executions are measured
	Sustain     time.Duration // a round of them
	Rest        time.Duration // for how long sleeping jobs are left alone, and after that watched
	Benchtime   time.Duration // for one engine and schedule
	Before      time.Duration // of part isolation, from creating the herd to its first tick
	Quiet       time.Duration // and from the first call to creating the herd
	Lists       int           // times that lists are read
	Bulk        time.Duration // for how long PUTs are measured beside a bulk load, and alone
	Window      time.Duration // of part across, in which jobs run
	Down        time.Duration // of part pause, from the end of the pause until everything is started again
	Held        int           // of part pause: occurrences of each job that are held
	Backfilled  int           // of part backfill: occurrences
}

const helpText = `Usage: go run . bench [flags]   (in the directory lab)

Measure how late Almanac's jobs are and what they cost, beside Temporal's own Schedules and
the smallest job workflow that one could write. Part cluster needs Linux and Debian's
package postgresql. All parts take five hours, on a machine that does nothing else; the
ratios count, not the figures. docs/benchmarks.md explains them.

  go run . bench -quick                                   # the most important figures, in ten minutes
  go run . bench -parts lateness -systems almanac -jobs 500
  go run . bench -parts across                            # lists across 10,000 jobs, in an hour and some minutes
  go run . bench -parts across -window 10m                # the same, once a sixth of them ran
  go run . bench -parts observed -rounds 1                # with and without metrics, traces and notifications
  go run . bench -parts next-run -rounds 1                # the same, with and without --show-next-run
  go run . bench -parts breaking-point                    # how many jobs in one second an almanac dev takes, in an hour
  go run . bench -parts storm -jobs 10000                 # jobs that fail together, with and without notifications
  go run . bench -parts pause,backfill,flexible-window    # what a person asks for at night, in half an hour
  go run . bench -parts breaking-point -api ADDRESSES     # the same of an Almanac that runs on this machine
  go run . bench -out ../docs/benchmarks.md               # everything
`

// Parse reads the arguments of the command. parts are the names of what can be measured, in order. Help goes to output.
func Parse(args, parts []string, output io.Writer) (Options, error) {
	o := Options{
		Systems: systems.Slugs, Herds: []int{1, 200, 1000, 2000}, Sleeping: 10_000,
		WarmUpTicks: 1, Idle: 15 * time.Second, Sustain: 20 * time.Second, Rest: 2 * time.Minute,
		Benchtime: 500 * time.Millisecond,
		Before:    time.Minute, Quiet: 50 * time.Second, Lists: 100, Bulk: 20 * time.Second, Window: time.Hour,
		Held: 3, Backfilled: 10_000,
		// the server has looked at the timeouts of the first activities then
		WarmUp: systems.AttemptTimeout + 5*time.Second,
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	o.addFlags(flags, parts)
	if err := help.Parse(flags, helpText, args, output); err != nil {
		return o, err
	}
	err := o.check()
	if o.Parts == nil {
		o.Parts = o.defaultParts(parts)
	}
	if o.Quick {
		o.Ticks = 1
	}
	if o.Smoke {
		o.shrink()
	}
	if o.Jobs > 0 {
		o.Herds = []int{o.Jobs}
	}
	return o, err
}

// addFlags adds the flags of the command.
func (o *Options) addFlags(flags *flag.FlagSet, parts []string) {
	flags.Func("parts", "what to measure, joined by commas: "+strings.Join(parts, ",")+
		"; default: everything, or what -quick, -smoke or -api say",
		func(text string) (err error) { o.Parts, err = choose(text, parts); return err })
	flags.Func("systems", "systems to compare, joined by commas; default: "+strings.Join(o.Systems, ","),
		func(text string) (err error) { o.Systems, err = choose(text, systems.Slugs); return err })
	flags.Func("api", "addresses of the APIs of an Almanac on this machine, such as those that task cluster "+
		"prints, joined by commas: measures part "+FirstTick+" there, "+BreakingPoint+" or "+Storm,
		func(text string) error { o.APIs = strings.Split(text, ","); return nil })
	flags.IntVar(&o.Jobs, "jobs", 0, "number of jobs of each herd of the parts "+FirstTick+
		", "+Storm+", isolation, lateness, across, observed, next-run, pause, backfill and cluster, and of the first step of "+
		BreakingPoint+"; 0: up to 2,000, on a cluster and beside a backfill 500, 10,000 of part across, and 500 of "+
		BreakingPoint)
	flags.IntVar(&o.Ticks, "ticks", 2, "number of ticks that are measured, after the first one")
	flags.IntVar(&o.Rounds, "rounds", 2, "number of rounds of sustained executions, and of parts observed, next-run and backfill")
	flags.DurationVar(&o.CreatedBefore, "created-before", time.Minute, "how long before their first tick the herds of "+
		"the parts "+FirstTick+", "+Storm+" and "+BreakingPoint+" are created, and at least those of part across; at most "+
		"24h")
	flags.DurationVar(&o.Window, "window", time.Hour,
		"how long the jobs of part across run before lists are read, of the hour in which each runs once")
	flags.DurationVar(&o.Down, "down", 3*time.Minute,
		"from the end of the pause of part pause until Almanac is started again")
	flags.DurationVar(&o.MaxHold, "max-hold", activities.DefaultMaxHold,
		"within what time of the execution before it an action is dispatched at once, as in almanac dev; with 0s, "+
			"Almanac's jobs sleep between two ticks")
	flags.BoolVar(&o.Quick, "quick", false, "measure part "+FirstTick+" with three herds and one more tick")
	flags.BoolVar(&o.Smoke, "smoke", false, "measure all parts but cluster, pause and backfill at a size that says nothing about "+
		"speed, to see that they work")
	flags.StringVar(&o.Out, "out", "", "file for the report, which is written if nothing failed; empty: only print it")
}

// defaultParts are measured if none are named.
func (o *Options) defaultParts(parts []string) []string {
	switch {
	case o.Quick || len(o.APIs) > 0:
		return []string{FirstTick}
	case o.Smoke:
		long := []string{"cluster", "pause", "backfill"} // minutes each, whatever their size
		return slices.DeleteFunc(slices.Clone(parts), func(name string) bool { return slices.Contains(long, name) })
	}
	return parts
}

// shrink makes everything as small as it can be.
func (o *Options) shrink() {
	o.Jobs, o.Sleeping = 20, 100
	o.WarmUpTicks, o.Ticks, o.Rounds = 0, 1, 1
	o.CreatedBefore, o.Before, o.Quiet, o.Window = 5*time.Second, 20*time.Second, 5*time.Second, 10*time.Second
	o.Idle, o.WarmUp, o.Sustain, o.Rest = 3*time.Second, 3*time.Second, 3*time.Second, 5*time.Second
	o.Benchtime, o.Lists, o.Bulk = 2*time.Millisecond, 10, time.Second
	o.Down, o.Held, o.Backfilled = 5*time.Second, 2, 2000
}

// check returns what is wrong with numbers, or with flags beside each other.
func (o *Options) check() error {
	switch {
	case o.Jobs < 0 || o.Jobs > MaxHerd:
		return fmt.Errorf("-jobs must be from 0 to %d", MaxHerd)
	case o.Ticks < 1 || o.Rounds < 1:
		return errors.New("-ticks and -rounds must be at least 1")
	case o.CreatedBefore < 0 || o.CreatedBefore > 24*time.Hour:
		return errors.New("-created-before must be from 0s to 24h")
	case o.Window < time.Second || o.Window > time.Hour:
		return errors.New("-window must be from 1s to 1h")
	case o.MaxHold < 0 || o.Down < 0:
		return errors.New("-max-hold and -down must be at least 0s")
	case len(o.APIs) > 0 && slices.ContainsFunc(o.Parts,
		func(part string) bool { return part != FirstTick && part != BreakingPoint && part != Storm }):
		return errors.New("-api measures the parts " + FirstTick + ", " + BreakingPoint + " and " + Storm + " only")
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

// FirstTick is the part that -quick and -api measure, unless -api is to measure one of the others.
const (
	FirstTick     = "first-tick"
	BreakingPoint = "breaking-point"
	Storm         = "storm"
)

// MaxHerd is as many jobs as a collection can hold.
const MaxHerd = 10_000
