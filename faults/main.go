//go:build linux

// Command faults runs Almanac with many jobs, stops, pauses and cuts off its
// processes, overloads it, and changes jobs meanwhile. Then it checks the laws that
// docs/faults.md lists (package laws). It trusts the log of the receiver of all
// requests, and checks Almanac's own history and counters against it.
//
//	go run ./faults                                # one process, 200 jobs, 5 minutes of faults
//	go run ./faults -form cluster -faults kill,cut # Temporal, two workers and two APIs
//	go run ./faults -form postgres                 # likewise, Temporal as its operators run it
//	go run ./faults -faults kill -aims create,fan-out # only at these stages
//	go run ./faults -form cluster -changes-after kill # how long changes take then
//	go run ./faults -check DIR                     # check the logs of an earlier run again
//
// The seed determines the jobs, the changes and the faults. It does not determine
// the timing of the machine, so two runs with the same seed are alike but not the
// same.
//
// The directory -out gets:
//   - report.txt: figures, violations with the timeline of their job, and what was excused
//   - requests, changes, faults, reads, lists and replays (.jsonl): what was seen
//   - violations and excused (.jsonl): what the checker made of it
//   - history-*.json: workflow histories that do not replay
//   - *.log: what the processes printed
//
// The exit status is 1 if a law was violated or the run failed. A violation is
// excused where a fault explains it, or where a request was in flight when a
// change was answered.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"almanac/faults/laws"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); {
	case err == nil, errors.Is(err, flag.ErrHelp):
	default:
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

// run makes one run, or checks an earlier one again.
func run(ctx context.Context, args []string, out, progress io.Writer) error {
	o, err := parseOptions(args, out)
	if err != nil {
		return err
	}
	logger := log.New(progress, "", log.Ltime)
	var l *laws.Log
	if o.check != "" {
		l, err = readLogs(o.check)
	} else {
		l, err = experiment(ctx, &o, out, logger)
	}
	if l == nil {
		return err
	}
	if o.check == "" {
		if failed := writeLogs(o.out, l); failed != nil || err != nil { // a run that was ended early has no end to check
			return errors.Join(err, failed)
		}
	}
	l.Run.Tolerance = o.tolerance
	logger.Printf("checking %d requests", len(l.Requests))
	verdict := laws.Check(l)
	var text bytes.Buffer
	writeReport(&text, l, verdict)
	if _, err := out.Write(text.Bytes()); err != nil {
		return err
	}
	if o.check == "" {
		if err := writeVerdict(o.out, text.Bytes(), verdict); err != nil {
			return err
		}
		fmt.Fprintf(out, "\nlogs and report: %s\n", o.out)
	}
	if n := len(verdict.Violations); n > 0 {
		return fmt.Errorf("%d violations; repeat the run with -seed %d", n, l.Run.Seed)
	}
	return nil
}

// experiment runs Almanac, breaks it, and returns what was seen; nothing where it
// only measured how long changes take.
func experiment(ctx context.Context, o *options, out io.Writer, logger *log.Logger) (_ *laws.Log, err error) {
	logger.Printf("seed %d", o.seed)
	work, err := os.MkdirTemp("", "almanac-faults-")
	if err != nil {
		return nil, err
	}
	if o.out == "" {
		o.out = work + "-out"
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return nil, err
	}
	if o.keep {
		logger.Printf("the database stays in %s", work)
	} else {
		defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	}
	if err := o.build(ctx, work, logger); err != nil {
		return nil, err
	}
	var keys *keyFile
	if slices.Contains(o.faults, faultKeys) {
		if keys, err = newKeyFile(filepath.Join(work, "keys")); err != nil {
			return nil, err
		}
	}
	system, err := newSystem(ctx, *o, work, keys)
	if err != nil {
		return nil, err
	}
	defer system.stop()
	if err := system.start(ctx); err != nil {
		return nil, err
	}
	receiver, err := newReceiver(o.seed)
	if err != nil {
		return nil, err
	}
	defer receiver.server.Close()
	if o.changesAfter != "" {
		return nil, measureChanges(ctx, o, system, receiver, out, logger)
	}
	return observe(ctx, o, system, receiver, logger)
}

// build builds the programs that no flag names.
func (o *options) build(ctx context.Context, into string, logger *log.Logger) (err error) {
	if o.almanac == "" {
		logger.Printf("building almanac")
		if o.almanac, err = build(ctx, "cmd/almanac", into); err != nil {
			return err
		}
	}
	if o.temporal == "" && o.form == formCluster {
		logger.Printf("building temporal")
		o.temporal, err = build(ctx, "faults/temporal", into)
	}
	return err
}

// stream returns one of the seed's independent streams of random numbers.
func stream(seed, number uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, number)) }

// observe creates the jobs, makes changes and faults, and reads everything in the end.
func observe(ctx context.Context, o *options, s *system, r *receiver, logger *log.Logger) (*laws.Log, error) {
	call := newCaller(s)
	begin := time.Now().UTC().Add(time.Duration(o.jobs) * 25 * time.Millisecond)
	subjects := newSubjects(o.jobs, begin, o.duration, stream(o.seed, 1))
	c := newChanger(call, r, subjects, stream(o.seed, 2))
	b := &breaker{options: *o, system: s, receiver: r, changer: c, random: stream(o.seed, 3), progress: logger}
	if err := c.create(ctx); err != nil {
		return nil, err
	}
	l := &laws.Log{Run: laws.Run{Seed: o.seed, Form: o.form, Loaded: time.Now().UTC(), Tolerance: o.tolerance}}
	logger.Printf("%d jobs are created, due from %s on", o.jobs, begin.Format(time.TimeOnly))
	defer func() {
		l.Requests, l.Changes, l.Lists, l.Faults = r.log(), c.changesLog(), c.lists, b.faults
		l.Reads = append(c.reads, l.Reads...)
	}()

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go report(ctx, o, b, logger)
	changing, quiet := context.WithCancel(ctx)
	defer quiet()
	if o.changes > 0 {
		c.open.Go(func() { c.toggle(changing, ctx) })
	}
	c.open.Go(func() { c.list(changing) })
	c.open.Go(func() { c.run(changing, ctx, o.changes*float64(o.jobs)) })
	err := b.run(ctx, time.Now().Add(o.duration))
	quiet()
	if err != nil {
		stop() // so that no change is repeated any more
	}
	c.open.Wait() // what was disabled or deleted is enabled or created again
	if err != nil {
		return l, err
	}
	l.Run.Quiet = time.Now().UTC()
	logger.Printf("quiet; settling for %s", o.settle)
	if err := pause(ctx, o.settle); err != nil {
		return l, err
	}
	return l, end(ctx, o, s, c, l, logger)
}

// end reads everything once nothing moves any more.
func end(ctx context.Context, o *options, s *system, c *changer, l *laws.Log, logger *log.Logger) (err error) {
	if err := c.freeze(ctx); err != nil {
		return err
	}
	if err := c.receiver.idle(ctx, 75*time.Second); err != nil {
		return err
	}
	if err := pause(ctx, 5*time.Second); err != nil { // their outcomes are recorded
		return err
	}
	l.Run.Frozen = time.Now().UTC()
	subjects := c.all()
	logger.Printf("reading %d jobs", len(subjects))
	if l.Reads, err = readAll(ctx, c.caller, subjects); err != nil {
		return err
	}
	logger.Printf("replaying all histories")
	if l.Run.Histories, l.Replays, err = replayAll(ctx, s, o.out); err != nil {
		return err
	}
	return s.check()
}

// report says every ten seconds how far the run is.
func report(ctx context.Context, o *options, b *breaker, logger *log.Logger) {
	begin := time.Now()
	for pause(ctx, 10*time.Second) == nil {
		faults, now := b.state()
		b.changer.mu.Lock()
		changes := len(b.changer.log) - o.jobs
		b.changer.mu.Unlock()
		logger.Printf("%s: %d requests, %d changes, %d faults %s", time.Since(begin).Round(time.Second), b.receiver.count(), changes, faults, now)
	}
}
