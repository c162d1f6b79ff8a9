// Command bench measures how late Almanac is, and what it costs, beside
// Temporal's own Schedules and the smallest job workflow that one could write.
// All run on the same embedded Temporal server, one after the other, so that
// the machine is the same for all; what counts are the ratios.
//
// It is a module of its own, so that the product does not depend on what it is
// compared with.
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
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"testing"
	_ "time/tzdata" // the engines are compared in a zone with daylight saving

	"almanac/bench/engines"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures what the arguments select. Whatever was measured before a
// failure is printed; files are written only where nothing failed.
func run(ctx context.Context, args []string, out, progress io.Writer) error {
	o, err := parseOptions(args, out)
	if err != nil {
		return err
	}
	stopProfile, err := startProfile(o.cpuProfile)
	if err != nil {
		return err
	}
	r := newResults(o, describeMachine(ctx), command(args))
	err = measure(ctx, o, r, log.New(progress, "", log.Ltime))
	err = errors.Join(err, stopProfile())
	text, failed := r.markdown()
	if failed != nil {
		return errors.Join(err, failed)
	}
	if _, failed := io.WriteString(out, text); failed != nil {
		return errors.Join(err, failed)
	}
	if err != nil || o.out == "" {
		return err
	}
	return r.write(o.out, text)
}

// startProfile writes a CPU profile to a file, if one is named, until it is stopped.
func startProfile(name string) (stop func() error, err error) {
	if name == "" {
		return func() error { return nil }, nil
	}
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() error { pprof.StopCPUProfile(); return file.Close() }, nil
}

// measure runs the parts that are selected. One that fails does not keep the
// others from being measured.
func measure(ctx context.Context, o options, r *results, progress *log.Logger) error {
	var errs []error
	if o.has(partEngines) {
		progress.Printf("recurrence engines")
		errs = append(errs, r.measureEngines(o))
	}
	if len(o.apis) > 0 {
		scenes, err := measureThere(ctx, o, scenes(o), progress)
		r.scenes = scenes
		errs = append(errs, err)
	} else if o.has(partPunctual) || o.has(partLateness) || o.has(partSustained) || o.has(partCalls) || o.has(partIsolation) {
		errs = append(errs, r.measureTogether(ctx, o, progress))
	}
	if o.has(partCluster) && ctx.Err() == nil {
		scenes, err := measureClusters(ctx, o, progress)
		r.scenes = append(r.scenes, scenes...)
		errs = append(errs, err)
	}
	if o.has(partSleep) && ctx.Err() == nil {
		var err error
		r.sleep, err = measureSleep(ctx, o, progress)
		errs = append(errs, err)
	}
	return errors.Join(append(errs, r.check())...)
}

func (r *results) measureEngines(o options) (err error) {
	testing.Init()
	if err := flag.Set("test.benchtime", o.benchtime.String()); err != nil {
		return err
	}
	r.engines, err = engines.Measure()
	return err
}

// measureThere measures scenes of an Almanac that runs elsewhere, and calls back from there.
func measureThere(ctx context.Context, o options, scenes []scene, progress *log.Logger) (results []sceneResult, err error) {
	sink, err := newSink(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sink.close()) }()
	a := &almanac{sink: sink}
	for i, url := range o.apis {
		api := newREST(strings.TrimSuffix(url, "/"))
		defer api.close()
		if i == 0 {
			a.api = api
		} else {
			a.others = append(a.others, api)
		}
	}
	return measureScenes(ctx, a, o, scenes, progress)
}

// measureTogether measures what shares one server.
func (r *results) measureTogether(ctx context.Context, o options, progress *log.Logger) (err error) {
	progress.Printf("starting Temporal, worker and API")
	g, err := newEnvironment(ctx, o, slog.New(slog.NewTextHandler(progress.Writer(), &slog.HandlerOptions{Level: slog.LevelError})))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.close()) }()

	var selected []system
	for _, name := range []string{nameLoop, nameSchedules, nameAlmanac} {
		if s := g.systems[name]; slices.Contains(o.systems, slug(s)) {
			selected = append(selected, s)
		}
	}
	var errs []error
	if o.has(partPunctual) { // before the others, which leave much behind
		scenes, err := measureScenes(ctx, g.almanac, o, scenes(o), progress)
		r.scenes = scenes
		errs = append(errs, err)
	}
	if o.has(partIsolation) && ctx.Err() == nil { // likewise
		beside, err := measureIsolation(ctx, g.almanac, o, progress)
		r.isolation = beside
		errs = append(errs, err)
	}
	for _, s := range selected {
		if o.has(partLateness) && ctx.Err() == nil {
			herds, used, err := measureLateness(ctx, g, s, o, progress)
			r.herds, r.costs[s.name()] = append(r.herds, herds...), used
			errs = append(errs, err)
		}
	}
	if o.has(partSustained) { // after the lateness, for it leaves the most behind
		errs = append(errs, r.measureSustained(ctx, g, selected, o, progress))
	}
	if o.has(partCalls) && ctx.Err() == nil {
		calls, err := measureCalls(ctx, g, progress)
		r.calls = calls
		errs = append(errs, err)
	}
	return errors.Join(append(errs, ctx.Err())...)
}

// measureSustained measures one system after the other, round by round, so that
// what changes in the meantime changes for all.
func (r *results) measureSustained(ctx context.Context, g *environment, selected []system, o options, progress *log.Logger) error {
	for round := range o.rounds {
		for _, s := range selected {
			rate, err := measureSustained(ctx, g, s, o, round, progress)
			if err != nil {
				return err
			}
			r.sustained[s.name()] = append(r.sustained[s.name()], rate)
		}
	}
	return nil
}
