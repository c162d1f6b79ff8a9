// Command bench measures how late Almanac's jobs are and what they cost, beside Temporal's own
// Schedules and the smallest job workflow that one could write. All run on the same embedded Temporal
// server, one after the other: the ratios between them are what counts.
//
// It is a module of its own, so that the product does not depend on what it is compared with.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
	_ "time/tzdata" // the engines are compared in a zone with daylight saving

	"almanac/bench/machine"
	"almanac/bench/options"
	"almanac/bench/report"
	"almanac/bench/systems"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures what the arguments select, and prints a report. It prints what was measured before a
// failure too, but writes a file only if nothing failed.
func run(ctx context.Context, args []string, out, progress io.Writer) error {
	o, err := options.Parse(args, partNames(), out)
	if err != nil {
		return err
	}
	logger := log.New(progress, "", log.Ltime)
	b := &bench{options: o, receiver: systems.NewReceiver(), progress: logger, report: report.Report{Progress: logger}}
	defer b.receiver.Close()
	err = b.measure(ctx)
	text, failed := b.report.Markdown(machine.Describe(ctx, args))
	if failed != nil {
		return errors.Join(err, failed)
	}
	_, failed = io.WriteString(out, text)
	if err = errors.Join(err, failed); err != nil || o.Out == "" {
		return err
	}
	return os.WriteFile(o.Out, []byte(text), 0o644)
}

// A bench is one run of the benchmark.
type bench struct {
	options  options.Options
	receiver *systems.Receiver
	progress *log.Logger
	report   report.Report

	*systems.Environment // nil while no part needs it
}

// A part is something to measure.
type part struct {
	name    string
	shared  bool // whether it is measured in the environment that the systems share
	measure func(*bench, context.Context) error
}

// parts are measured in this order: those that leave much behind on the shared server come last.
var parts = []part{
	{"engines", false, (*bench).measureEngines},
	{options.FirstTick, true, (*bench).measureFirstTick},
	{"isolation", true, (*bench).measureIsolation},
	{"bulk", true, (*bench).measureBulk},
	{"lateness", true, (*bench).measureLateness},
	{"sustained", true, (*bench).measureSustained},
	{"calls", true, (*bench).measureCalls},
	{"across", true, (*bench).measureAcross},
	{"cluster", false, (*bench).measureCluster},
	{"sleep", false, (*bench).measureSleep},
	{"observed", false, (*bench).measureObserved},
	{"next-run", false, (*bench).measureNextRun},
	{options.BreakingPoint, false, (*bench).measureBreakingPoint},
}

func partNames() (names []string) {
	for _, p := range parts {
		names = append(names, p.name)
	}
	return names
}

// measure measures the parts that are selected. One that fails does not keep the others from being
// measured.
func (b *bench) measure(ctx context.Context) error {
	var errs []error
	for _, p := range parts {
		if !slices.Contains(b.options.Parts, p.name) || ctx.Err() != nil {
			continue
		}
		b.progress.Printf("%s:", p.name)
		err := b.share(ctx, p.shared)
		if err == nil {
			err = p.measure(b, ctx)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.name, err))
		}
	}
	return errors.Join(append(errs, b.share(ctx, false), errors.Join(b.report.Violations...), ctx.Err())...)
}

// share starts the shared environment if it is needed and not there, and stops it if it is not needed.
func (b *bench) share(ctx context.Context, needed bool) (err error) {
	switch {
	case needed && len(b.options.APIs) > 0:
		b.Environment = &systems.Environment{Almanac: systems.NewAlmanac(b.receiver, b.options.APIs)}
	case needed && b.Environment == nil:
		log := slog.New(slog.NewTextHandler(b.progress.Writer(), &slog.HandlerOptions{Level: slog.LevelError}))
		b.Environment, err = systems.NewEnvironment(ctx, b.receiver, b.options.MaxHold, log)
	case !needed && b.Environment != nil:
		err = b.Close()
		b.Environment = nil
	}
	return err
}

// remove removes herds after a measurement, even if that was interrupted.
func (b *bench) remove(ctx context.Context, s systems.System, herds ...systems.Herd) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Minute)
	defer cancel()
	var errs []error
	for _, h := range herds {
		b.receiver.Take(h.Name)
		errs = append(errs, s.Remove(ctx, h))
	}
	return errors.Join(errs...)
}
