// Package bench measures how late Almanac's jobs are and what they cost, beside Temporal's own Schedules and the
// smallest job workflow that one could write. All run on the same embedded Temporal server, one after the other: the
// ratios between them are what counts.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"slices"
	"time"

	"almanac/lab/bench/engines"
	"almanac/lab/bench/options"
	"almanac/lab/bench/page"
	"almanac/lab/bench/systems"
	"almanac/lab/receiver"
	"almanac/lab/system"
)

// Run measures what the arguments select, and prints a report. It prints what was measured before a failure too, but
// writes a file only if nothing failed.
func Run(ctx context.Context, args []string, out, progress io.Writer) error {
	o, err := options.Parse(args, partNames(), out)
	if err != nil {
		return err
	}
	logger := log.New(progress, "", log.Ltime)
	r, err := receiver.Start(0)
	if err != nil {
		return err
	}
	defer r.Close()
	b := &bench{options: o, receiver: r, progress: logger, page: page.Page{Progress: logger, Parts: partRows()}}
	err = b.measure(ctx)
	text, failed := b.page.Markdown(page.Describe(ctx, args))
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
	receiver *receiver.Receiver
	progress *log.Logger
	page     page.Page

	*systems.Environment // nil while no part needs it
}

// A part is something to measure.
type part struct {
	name    string
	shared  bool // whether it is measured in the environment that the systems share
	measure func(*bench, context.Context) error
	what    string // in a few words
}

// parts are measured in this order: those that leave much behind on the shared server come last.
var parts = []part{
	{"engines", false, (*bench).measureEngines, "the recurrence engine beside others"},
	{"flexible-window", false, (*bench).measureFlexibleWindow,
		"how evenly 10,000 jobs are spread over a flexible window of five minutes; computed, so it takes a second"},
	{options.FirstTick, true, (*bench).measureFirstTick, "how late new herds are at their first tick"},
	{options.Storm, true, (*bench).measureStorm, "a herd that fails, without and with notifications"},
	{"isolation", true, (*bench).measureIsolation, "calls of one tenant beside the herd of another one"},
	{"bulk", true, (*bench).measureBulk, "PUTs of one caller beside a bulk load of another one"},
	{"lateness", true, (*bench).measureLateness, "lateness and cost, beside Temporal's Schedules and a bare loop"},
	{"sustained", true, (*bench).measureSustained, "executions a second of jobs that are always overdue"},
	{"calls", true, (*bench).measureCalls, "calls of the API at rest"},
	{"across", true, (*bench).measureAcross, "lists across 10,000 jobs"},
	{"backfill", true, (*bench).measureBackfill,
		"the lateness of 500 jobs every minute, in turn without and beside a backfill of 10,000 occurrences"},
	{"cluster", false, (*bench).measureCluster, "herds on a cluster of its own, with PostgreSQL"},
	{"sleep", false, (*bench).measureSleep, "10,000 jobs that sleep, and one that comes due while nothing runs"},
	{"pause", false, (*bench).measurePause,
		"2,000 paused jobs whose pause ends while nothing runs: when what was promised has run, and how many at once"},
	{"observed", false, (*bench).measureObserved, "the cost of metrics, traces and notifications"},
	{"next-run", false, (*bench).measureNextRun, "the cost of `--show-next-run`"},
	{options.BreakingPoint, false, (*bench).measureBreakingPoint, "how many jobs in one second a program takes"},
}

func partRows() (rows page.Rows) {
	for _, p := range parts {
		rows = append(rows, []string{"`" + p.name + "`", p.what})
	}
	return rows
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
	return errors.Join(append(errs, b.share(ctx, false), errors.Join(b.page.Violations...), ctx.Err())...)
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

func (b *bench) measureEngines(context.Context) error {
	return engines.Measure(b.options.Benchtime, func(row []string) { b.page.Add(&b.page.Engines, row) })
}

// startSystem builds and starts a system with processes of its own.
func (b *bench) startSystem(ctx context.Context, o system.Options) (*system.Temporary, error) {
	b.progress.Printf("building and starting Almanac in the form %s", o.Form)
	return system.StartTemporary(ctx, o)
}
