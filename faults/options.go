//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"almanac/internal/help"
)

// The forms in which Almanac runs.
const (
	formOne      = "one"      // one process
	formCluster  = "cluster"  // Temporal, two workers and two APIs
	formPostgres = "postgres" // likewise, with PostgreSQL and each service of Temporal as processes of their own
)

// The kinds of fault.
const (
	faultKill      = "kill"      // kill -9, and a restart after 0 to 15 s
	faultPause     = "pause"     // SIGSTOP, and SIGCONT after 2 to 60 s
	faultStop      = "stop"      // SIGTERM, and a restart
	faultDown      = "down"      // everything is killed for minutes
	faultDisk      = "disk"      // the database cannot grow for a while
	faultSlow      = "slow"      // what passes between Temporal and the others is delayed
	faultBlackhole = "blackhole" // connections to Temporal stay open, and nothing passes
	faultCut       = "cut"       // connections to Temporal are closed, and refused for a while
	faultFlags     = "flags"     // a restart with other flags
	faultKeys      = "keys"      // SIGTERM, and a restart with a new first encryption key
	faultOverload  = "overload"  // some 300 manual runs at once, while many jobs are due
)

var (
	faultsOfOne      = []string{faultKill, faultPause, faultStop, faultDown, faultDisk, faultFlags, faultKeys, faultOverload}
	faultsOfCluster  = []string{faultKill, faultPause, faultStop, faultDown, faultDisk, faultSlow, faultBlackhole, faultCut, faultFlags, faultKeys, faultOverload}
	faultsOfPostgres = []string{faultKill, faultPause, faultStop, faultDown, faultSlow, faultBlackhole, faultCut, faultFlags, faultKeys, faultOverload}
)

// faultsOf are the faults that each form can have.
var faultsOf = map[string][]string{formOne: faultsOfOne, formCluster: faultsOfCluster, formPostgres: faultsOfPostgres}

// options say what a run does.
type options struct {
	form      string
	seed      uint64
	duration  time.Duration // of the faults; creating, settling and reading come on top
	jobs      int
	faults    []string
	aims      []string      // the stages that kill, pause and stop are aimed at
	quiet     time.Duration // between two faults, at least
	settle    time.Duration // after the last fault
	down      time.Duration // the longest downtime
	changes   float64       // a minute and job
	tolerance time.Duration
	almanac   string // the program; empty: it is built
	temporal  string // likewise, for the form cluster
	out       string
	keep      bool
	check     string // directory of an earlier run
	workers   int    // processes of each kind, unless in the form one

	changesAfter string        // the fault after which changes are measured; empty: there is a run of faults
	faultAt      time.Duration // when that comes
}

const usage = `Usage: go run ./faults [flags]

Run Almanac with many jobs, make faults, change jobs meanwhile, and check the laws
that docs/faults.md lists. The report says which were violated. The exit status is 1
if one was, or if the run failed.

  go run ./faults                                   # one process, 200 jobs, 5 minutes of faults
  go run ./faults -form cluster -faults kill,cut    # Temporal, two workers and two APIs
  go run ./faults -form postgres                    # likewise, Temporal as its operators run it
  go run ./faults -faults kill -aims create,fan-out # only at these stages
  go run ./faults -form cluster -changes-after kill # how long changes take then
  go run ./faults -check DIR                        # check the logs of an earlier run again
`

func parseOptions(args []string, output io.Writer) (options, error) {
	var o options
	var faults, aims string
	flags := flag.NewFlagSet("faults", flag.ContinueOnError)
	flags.StringVar(&o.form, "form", formOne, "how Almanac runs, a `form`: one is a single almanac dev; cluster is Temporal, two workers and two APIs as processes of their own; postgres is the same with PostgreSQL and each of Temporal's services as processes of their own")
	flags.Uint64Var(&o.seed, "seed", 0, "determines jobs, changes and faults; 0: a random one, which is printed")
	flags.DurationVar(&o.duration, "duration", 5*time.Minute, "how long faults are made; creating the jobs, settling and reading the histories come on top")
	flags.IntVar(&o.jobs, "jobs", 200, "number of jobs, 1 to 10000")
	flags.StringVar(&faults, "faults", "all", "which faults: all, none or some of "+strings.Join(faultsOfCluster, ",")+"; the form one has no slow, blackhole and cut, and postgres no disk. keys encrypts what Temporal stores from the start")
	flags.StringVar(&aims, "aims", "all", "at which stages kill, pause and stop are aimed: all or some of "+strings.Join(stages, ","))
	flags.DurationVar(&o.quiet, "quiet", 25*time.Second, "least time between two faults; up to as much again is added at random")
	flags.DurationVar(&o.settle, "settle", 100*time.Second, "time after the last fault before everything is read; less than 90s reports attempts that are still under way")
	flags.DurationVar(&o.down, "down", 200*time.Second, "how long the fault down keeps everything down")
	flags.Float64Var(&o.changes, "changes", 0.3, "changes for each job and minute")
	flags.DurationVar(&o.tolerance, "tolerance", 250*time.Millisecond, "how long after the answer to a change a request by the old definition may arrive")
	flags.StringVar(&o.almanac, "almanac", "", "program to test; empty: ./cmd/almanac is built")
	flags.StringVar(&o.temporal, "temporal", "", "program that runs Temporal in the form cluster; empty: ./faults/temporal is built")
	flags.StringVar(&o.out, "out", "", "directory for the report, the logs and the histories that do not replay; empty: a new temporary one")
	flags.StringVar(&o.check, "check", "", "directory of an earlier run, whose logs are checked again; nothing is run")
	flags.StringVar(&o.changesAfter, "changes-after", "", "instead of a run: how long changes of jobs take that are held, each changed once right after this fault of one of two workers: "+strings.Join(faultsBeforeChanges, ", "))
	flags.DurationVar(&o.faultAt, "fault-at", 4*time.Second, "when that fault comes, after half of the jobs were due; the others are due 30s after these")
	flags.BoolVar(&o.keep, "keep", false, "keep the database")
	if err := help.Parse(flags, usage, args, output); err != nil {
		return o, err
	}
	for o.seed == 0 {
		o.seed = rand.Uint64N(1_000_000)
	}
	o.workers = 2
	return o, errors.Join(o.validate(), o.pick(faults), o.pickAims(aims))
}

// validate returns everything that is wrong with numbers and words.
func (o *options) validate() error {
	var errs []error
	if faultsOf[o.form] == nil {
		errs = append(errs, fmt.Errorf("-form must be one, cluster or postgres (got %q)", o.form))
	}
	if o.jobs < 1 || o.jobs > 10_000 {
		errs = append(errs, fmt.Errorf("-jobs must be between 1 and 10000 (got %d)", o.jobs))
	}
	if o.changes < 0 {
		errs = append(errs, fmt.Errorf("-changes must be at least 0 (got %g)", o.changes))
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"duration", o.duration}, {"quiet", o.quiet}, {"settle", o.settle}, {"down", o.down}} {
		if d.value < time.Second || d.value > 24*time.Hour {
			errs = append(errs, fmt.Errorf("-%s must be between 1s and 24h (got %s)", d.name, d.value))
		}
	}
	if o.changesAfter != "" && !slices.Contains(faultsBeforeChanges, o.changesAfter) {
		errs = append(errs, fmt.Errorf("-changes-after must be %s (got %q)", strings.Join(faultsBeforeChanges, ", "), o.changesAfter))
	}
	if o.changesAfter != "" && o.form == formOne {
		errs = append(errs, errors.New("-changes-after needs two workers: -form must be cluster or postgres"))
	}
	if o.faultAt < 0 || o.faultAt >= time.Minute {
		errs = append(errs, fmt.Errorf("-fault-at must be at least 0s and less than 1m (got %s)", o.faultAt))
	}
	if o.tolerance < 0 {
		errs = append(errs, fmt.Errorf("-tolerance must be at least 0s (got %s)", o.tolerance))
	}
	return errors.Join(errs...)
}

// pick reads the list of faults.
func (o *options) pick(list string) error {
	possible := faultsOf[o.form]
	switch list {
	case "all":
		o.faults = possible
		return nil
	case "none":
		return nil
	}
	for name := range strings.SplitSeq(list, ",") {
		if !slices.Contains(possible, name) {
			return fmt.Errorf("-faults must be all, none or some of %s in the form %s (got %q)", strings.Join(possible, ","), o.form, name)
		}
		o.faults = append(o.faults, name)
	}
	return nil
}

// pickAims reads the list of stages.
func (o *options) pickAims(list string) error {
	if list == "all" {
		o.aims = stages
		return nil
	}
	for name := range strings.SplitSeq(list, ",") {
		if !slices.Contains(stages, name) {
			return fmt.Errorf("-aims must be all or some of %s (got %q)", strings.Join(stages, ","), name)
		}
		o.aims = append(o.aims, name)
	}
	return nil
}
