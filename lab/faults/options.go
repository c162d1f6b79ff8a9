package faults

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
	"almanac/lab/faults/nemesis"
	"almanac/lab/system"
)

// options are the values of the flags.
type options struct {
	form      string
	seed      uint64
	duration  time.Duration // of the faults; creating, settling and reading come on top
	jobs      int
	herd      int // how many of these are due in one second of each minute
	promises  int // how many jobs there are beside these that are paused, skipped and backfilled
	quota     int // of a collection in which twice as many are created and deleted
	calendars int // how many there are beside all these that run by calendars
	faults    []string
	aims      []string
	quiet     time.Duration
	settle    time.Duration
	down      time.Duration
	changes   float64 // per minute and job
	tolerance time.Duration
	almanac   string // the program; empty: it is built
	out       string
	keep      bool
	check     string // directory of an earlier run; empty: a new run

	changesAfter string        // the fault after which changes are measured; empty: a run with the checker
	faultAt      time.Duration // when that fault comes

	// the fault after which the lateness of occurrences is measured; empty: a run with the checker
	latenessAfter string
	workers       int           // number of workers
	victims       int           // number of workers that this fault hits
	apart         time.Duration // time between two of them
	spread        int           // number of seconds of a minute over which jobs are due
}

const usage = `Usage: go run . faults [flags]   (in the directory lab)

Run Almanac with many jobs, inject faults and change jobs meanwhile, and check the laws
that docs/faults.md lists. The report says which were violated. The exit status is 1
if one was, or if the run failed.

  go run . faults                                   # one process, 200 jobs, 5 minutes of faults
  go run . faults -form cluster -faults kill,cut    # Temporal, two workers and two APIs
  go run . faults -form postgres                    # likewise, Temporal as its operators run it
  go run . faults -faults kill -aims create,fan-out # only at these moments
  go run . faults -jobs 3500 -herd 3000             # most of them due in one second
  go run . faults -form cluster -changes-after kill # how long changes take after a fault
  go run . faults -form cluster -lateness-after pause # how late occurrences are after a fault
  go run . faults -check DIR                        # check the logs of an earlier run again
`

func parseOptions(args []string, output io.Writer) (options, error) {
	var o options
	var faults, aims string
	flags := flag.NewFlagSet("faults", flag.ContinueOnError)
	o.addFlags(flags, &faults, &aims)
	o.addFlagsAfter(flags)
	if err := help.Parse(flags, usage, args, output); err != nil {
		return o, err
	}
	for o.seed == 0 {
		o.seed = rand.Uint64N(1_000_000)
	}
	var errFaults, errAims error
	if kinds := nemesis.Kinds[o.form]; faults != "none" {
		o.faults, errFaults = parseNames(faults, kinds,
			fmt.Sprintf("-faults must be all, none or some of %s in the form %s", strings.Join(kinds, ","), o.form))
	}
	o.aims, errAims = parseNames(aims, nemesis.Aims, "-aims must be all or some of "+strings.Join(nemesis.Aims, ","))
	return o, errors.Join(o.validate(), errFaults, errAims)
}

// addFlags adds the flags of a run with the checker. faults and aims are lists.
func (o *options) addFlags(flags *flag.FlagSet, faults, aims *string) {
	flags.StringVar(&o.form, "form", system.One,
		"`form` of the system under test: one is a single almanac dev; cluster is Temporal, two workers and two "+
			"APIs as processes of their own; postgres is the same with PostgreSQL and each of Temporal's services as "+
			"processes of their own")
	flags.Uint64Var(&o.seed, "seed", 0, "determines jobs, changes and faults; 0: a random one, which is printed")
	flags.DurationVar(&o.duration, "duration", 5*time.Minute,
		"how long faults are injected; creating the jobs, settling and reading the histories come on top")
	flags.IntVar(&o.jobs, "jobs", 200, "number of jobs, 1 to 10000")
	flags.IntVar(&o.herd, "herd", 0, "how many of the jobs are due in one second of each minute")
	flags.IntVar(&o.promises, "promises", 40,
		"number of further jobs that are paused, skipped and backfilled, some with a flexible window")
	flags.IntVar(&o.quota, "quota", 6,
		"quota of a collection in which twice as many jobs are created and deleted at the same time; 0: none are")
	flags.IntVar(&o.calendars, "calendars", 20, "number of further jobs that run by calendars, which change and are lost")
	flags.StringVar(faults, "faults", "all", "kinds of fault: all, none or some of "+
		strings.Join(nemesis.Kinds[system.Cluster], ",")+"; the form one has no slow, blackhole and cut, and postgres "+
		"no disk. keys encrypts what Temporal stores from the start")
	flags.StringVar(aims, "aims", "all", "moments that kill, pause and stop are aimed at: all or some of "+
		strings.Join(nemesis.Aims, ","))
	flags.DurationVar(&o.quiet, "quiet", 25*time.Second,
		"minimum time between two faults; up to as much again is added at random")
	flags.DurationVar(&o.settle, "settle", 100*time.Second,
		"time after the last fault before everything is read; with less than 90s, attempts that have not ended are "+
			"reported as violations")
	flags.DurationVar(&o.down, "down", 200*time.Second, "length of the fault down")
	flags.Float64Var(&o.changes, "changes", 0.3, "changes of each job per minute")
	flags.DurationVar(&o.tolerance, "tolerance", 250*time.Millisecond,
		"maximum time between the answer to a change and a request by the old definition")
	flags.StringVar(&o.almanac, "almanac", "", "`program` to test; empty: it is built")
	flags.StringVar(&o.out, "out", "", "`directory` for the report, the logs and the histories that do not replay; "+
		"empty: a new temporary one")
	flags.StringVar(&o.check, "check", "", "`directory` of an earlier run whose logs are checked again; nothing is run")
	flags.BoolVar(&o.keep, "keep", false, "keep the database")
}

// addFlagsAfter adds the flags of what is measured instead of such a run.
func (o *options) addFlagsAfter(flags *flag.FlagSet) {
	flags.StringVar(&o.changesAfter, "changes-after", "",
		"instead of a run: measure how long changes take, each of one job, right after this `fault` of one of two "+
			"workers: "+strings.Join(changesAfterFaults, ", "))
	flags.DurationVar(&o.faultAt, "fault-at", 4*time.Second,
		"time of that fault, after the first jobs were due in their minute; half of the jobs are due 30s later "+
			"unless -spread says otherwise")
	flags.StringVar(&o.latenessAfter, "lateness-after", "",
		"instead of a run: measure how late occurrences are in the minute after this `fault` of some of the "+
			"workers: "+strings.Join(changesAfterFaults, ", "))
	flags.IntVar(&o.workers, "workers", system.Instances, "number of workers, unless the form is one")
	flags.IntVar(&o.victims, "victims", 1, "number of workers that the fault of -lateness-after hits")
	flags.DurationVar(&o.apart, "apart", 0, "time between two of these")
	flags.IntVar(&o.spread, "spread", 2, "number of seconds of a minute, evenly apart, in which the jobs of "+
		"-changes-after and -lateness-after are due")
}

// validate checks all flags but the lists.
func (o *options) validate() error {
	var errs []error
	if nemesis.Kinds[o.form] == nil {
		errs = append(errs, fmt.Errorf("-form must be one, cluster or postgres (got %q)", o.form))
	}
	if o.jobs < 1 || o.jobs > 10_000 {
		errs = append(errs, fmt.Errorf("-jobs must be between 1 and 10000 (got %d)", o.jobs))
	}
	if o.herd < 0 || o.herd > o.jobs {
		errs = append(errs, fmt.Errorf("-herd must be between 0 and the number of jobs (got %d)", o.herd))
	}
	if o.promises < 0 || o.promises > 1000 {
		errs = append(errs, fmt.Errorf("-promises must be between 0 and 1000 (got %d)", o.promises))
	}
	if o.quota < 0 || o.quota > 100 {
		errs = append(errs, fmt.Errorf("-quota must be between 0 and 100 (got %d)", o.quota))
	}
	if o.calendars < 0 || o.calendars > 200 {
		errs = append(errs, fmt.Errorf("-calendars must be between 0 and 200 (got %d)", o.calendars))
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
	for _, f := range [][2]string{{"changes-after", o.changesAfter}, {"lateness-after", o.latenessAfter}} {
		if f[1] != "" && !slices.Contains(changesAfterFaults, f[1]) {
			errs = append(errs, fmt.Errorf("-%s must be %s (got %q)", f[0], strings.Join(changesAfterFaults, ", "), f[1]))
		}
	}
	if o.changesAfter+o.latenessAfter != "" && o.form == system.One {
		errs = append(errs, errors.New("-changes-after and -lateness-after need two workers: -form must be cluster "+
			"or postgres"))
	}
	if o.workers < 1 || o.workers > 10 {
		errs = append(errs, fmt.Errorf("-workers must be between 1 and 10 (got %d)", o.workers))
	}
	if o.victims < 1 || o.victims > o.workers {
		errs = append(errs, fmt.Errorf("-victims must be between 1 and the number of workers (got %d)", o.victims))
	}
	if o.spread < 1 || o.spread > 60 {
		errs = append(errs, fmt.Errorf("-spread must be between 1 and 60 (got %d)", o.spread))
	}
	if o.faultAt < 0 || o.faultAt >= time.Minute {
		errs = append(errs, fmt.Errorf("-fault-at must be at least 0s and less than 1m (got %s)", o.faultAt))
	}
	if o.tolerance < 0 {
		errs = append(errs, fmt.Errorf("-tolerance must be at least 0s (got %s)", o.tolerance))
	}
	return errors.Join(errs...)
}

// parseNames parses a list of allowed names, or all. The error begins with must.
func parseNames(list string, allowed []string, must string) ([]string, error) {
	if list == "all" {
		return allowed, nil
	}
	names := strings.Split(list, ",")
	for _, name := range names {
		if !slices.Contains(allowed, name) {
			return nil, fmt.Errorf("%s (got %q)", must, name)
		}
	}
	return names, nil
}
