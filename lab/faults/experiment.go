// Package faults runs Almanac with many jobs, injects faults and changes jobs meanwhile. Then it checks the
// laws that docs/faults.md lists. It trusts the log of the receiver that all jobs call, and checks Almanac's
// own history and counters against it. With -h it prints examples and all flags.
//
// The seed determines the jobs, the changes and the faults. It does not determine the timing of the machine,
// so two runs with the same seed are similar but not identical.
//
// The directory -out gets:
//   - report.md: figures, violations with the timeline of their job, and what was excused
//   - run, requests, changes, faults, reads, lists and replays (.jsonl): the record of the run
//   - violations and excused (.jsonl): the result of the check
//   - history-*.json: workflow histories that do not replay
//   - *.log: the output of the processes
//
// The exit status is 1 if a law was violated or the run failed. A violation is excused if a fault explains
// it, or if a request was in flight when a change was answered.
package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"almanac/lab/client"
	"almanac/lab/faults/checker"
	"almanac/lab/faults/nemesis"
	"almanac/lab/faults/workload"
	"almanac/lab/receiver"
	"almanac/lab/record"
	"almanac/lab/system"
	"almanac/lab/wait"
)

// Run runs an experiment, or checks an earlier one, as the arguments say, and prints the report.
func Run(ctx context.Context, args []string, out, progress io.Writer) error {
	o, err := parseOptions(args, out)
	if err != nil {
		return err
	}
	logger := log.New(progress, "", log.Ltime)
	var l *record.Log
	if o.check != "" {
		l, err = record.ReadLog(o.check)
	} else {
		l, err = runExperiment(ctx, &o, out, logger)
	}
	if l == nil || err != nil { // a run that failed has no end to check
		return err
	}
	return check(l, &o, out, logger)
}

// check checks a log and writes the report. A new run's report is also written to its directory.
func check(l *record.Log, o *options, out io.Writer, logger *log.Logger) error {
	l.Run.Tolerance = o.tolerance
	logger.Printf("checking %d requests", len(l.Requests))
	verdict := checker.Check(l)
	text := reportText(l, verdict)
	if _, err := out.Write(text); err != nil {
		return err
	}
	if o.check == "" {
		if err := writeReport(o.out, text, verdict); err != nil {
			return err
		}
		fmt.Fprintf(out, "\nlogs and report: %s\n", o.out)
	}
	if n := len(verdict.Violations); n > 0 {
		return fmt.Errorf("%d violations; repeat the run with -seed %d", n, l.Run.Seed)
	}
	return nil
}

// An experiment is a system under test and the receiver of its jobs' requests.
type experiment struct {
	options  *options
	system   *system.System
	receiver *receiver.Receiver
	client   *client.Client
	progress *log.Logger
}

// runExperiment makes a new run and writes its log. The log is nil if only changes were measured.
func runExperiment(ctx context.Context, o *options, out io.Writer, logger *log.Logger) (l *record.Log, err error) {
	logger.Printf("seed %d", o.seed)
	dir, err := os.MkdirTemp("", "almanac-faults-")
	if err != nil {
		return nil, err
	}
	if o.keep {
		logger.Printf("the database stays in %s", dir)
	} else {
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	if o.out == "" {
		o.out = dir + "-out"
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return nil, err
	}
	s, err := newSystem(ctx, o, dir, logger)
	if err != nil {
		return nil, err
	}
	defer s.Stop()
	if err := s.Start(ctx); err != nil {
		return nil, err
	}
	r, err := receiver.Start(o.seed)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	x := &experiment{options: o, system: s, receiver: r, client: client.New("", s.URLs()...), progress: logger}
	switch {
	case o.changesAfter != "":
		return nil, x.measureChanges(ctx, out)
	case o.latenessAfter != "":
		return nil, x.measureLateness(ctx, out)
	}
	l, err = x.run(ctx)
	return l, errors.Join(err, l.Write(o.out))
}

// newSystem prepares the processes, and builds the programs that no flag gives.
func newSystem(ctx context.Context, o *options, dir string, logger *log.Logger) (*system.System, error) {
	laboratory, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := system.Options{
		Form: o.form, Almanac: o.almanac, Temporal: []string{laboratory, "temporal"}, Dir: dir, Logs: o.out,
		Workers: o.workers, Proxy: true,
		Env:   []string{"ALMANAC_LOG_LEVEL=warn"},
		Flags: slices.Clone(system.Unlimited),
	}
	if o.form == system.One {
		s.Flags = append(s.Flags, "--plans", "unlimited", "--synchronous", "normal")
	}
	if slices.Contains(o.faults, record.FaultKeys) {
		if s.Keys, err = system.NewKeyFile(filepath.Join(dir, "keys")); err != nil {
			return nil, err
		}
	}
	logger.Print("building what no flag gives")
	return system.New(ctx, s)
}

// stream returns one of the seed's independent streams of random numbers.
func stream(seed, number uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, number)) }

// run creates the jobs, changes them and injects faults, and reads everything at the end. If it fails, the
// log has what was recorded until then.
func (x *experiment) run(ctx context.Context) (*record.Log, error) {
	o := x.options
	begin := time.Now().UTC().Add(time.Duration(o.jobs) * 25 * time.Millisecond)
	jobs := workload.NewJobs(o.jobs, o.herd, begin, o.duration, stream(o.seed, 1))
	w := workload.New(x.client, x.receiver, jobs, stream(o.seed, 2))
	w.Promising = workload.NewPromising(o.promises, begin, stream(o.seed, 4))
	w.Contending = workload.NewContending(o.quota, begin)
	w.Dated = workload.NewDated(o.calendars, begin, stream(o.seed, 5))
	temporal, err := dialTemporal(x.system)
	if err != nil {
		return nil, err
	}
	defer temporal.Close()
	w.Terminate = func(ctx context.Context, workflowID string) error {
		return temporal.TerminateWorkflow(ctx, workflowID, "", "a fault experiment")
	}
	n := &nemesis.Nemesis{
		Faults: o.faults, Aims: o.aims, Quiet: o.quiet, Down: o.down,
		System: x.system, Receiver: x.receiver, Workload: w, Random: stream(o.seed, 3), Progress: x.progress,
	}
	l := &record.Log{Run: record.Run{Seed: o.seed, Form: o.form, Herd: o.herd, Quota: o.quota, Tolerance: o.tolerance}}
	defer func() {
		w.AddTo(l)
		l.Requests, l.Alerts = x.receiver.Requests(), x.receiver.Told()
	}()
	if err := w.Create(ctx); err != nil {
		return l, err
	}
	l.Run.Loaded = time.Now().UTC()
	x.progress.Printf("%d jobs are created, due from %s on", o.jobs, begin.Format(time.TimeOnly))
	if l.Faults, err = x.disturb(ctx, w, n); err != nil {
		return l, err
	}
	l.Run.Quiet = time.Now().UTC()
	x.progress.Printf("quiet; settling for %s", o.settle)
	if err := wait.For(ctx, o.settle); err != nil {
		return l, err
	}
	return l, x.readEnd(ctx, w, l)
}

// disturb changes jobs and injects faults, which it returns when all changes are finished.
func (x *experiment) disturb(ctx context.Context, w *workload.Workload, n *nemesis.Nemesis) ([]record.Fault, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go x.printProgress(ctx, w)
	changing, quiet := context.WithCancel(ctx)
	defer quiet()
	w.Run(changing, ctx, x.options.changes*float64(x.options.jobs))
	faults, err := n.Run(ctx, time.Now().Add(x.options.duration))
	quiet()
	if err != nil {
		stop() // no change is repeated any more
	}
	w.Wait()
	return faults, err
}

// readEnd stops all jobs and reads how they ended.
func (x *experiment) readEnd(ctx context.Context, w *workload.Workload, l *record.Log) (err error) {
	if err := w.Freeze(ctx); err != nil {
		return err
	}
	if err := x.receiver.AwaitIdle(ctx, 75*time.Second); err != nil {
		return err
	}
	if err := wait.For(ctx, 5*time.Second); err != nil { // until the outcomes are recorded
		return err
	}
	l.Run.Frozen = time.Now().UTC()
	ids := w.IDs()
	x.progress.Printf("reading %d jobs", len(ids))
	if l.Reads, err = workload.ReadAll(ctx, x.client, workload.Collections(), ids); err != nil {
		return err
	}
	x.progress.Printf("replaying all histories")
	keys, err := x.system.Keys.Ring()
	if err != nil {
		return err
	}
	if l.Run.Histories, l.Replays, err = replayAll(ctx, x.system.Frontend, keys, x.options.out); err != nil {
		return err
	}
	return x.system.Check()
}

// printProgress logs the progress of the run every ten seconds until ctx ends.
func (x *experiment) printProgress(ctx context.Context, w *workload.Workload) {
	begin := time.Now()
	for wait.For(ctx, 10*time.Second) == nil {
		x.progress.Printf("%s: %d requests, %d changes, %d notifications", time.Since(begin).Round(time.Second),
			x.receiver.Count(workload.Collections()...), w.Changes(), x.receiver.Alerts())
	}
}
