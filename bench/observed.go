package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"almanac/bench/report"
	"almanac/bench/systems"
)

const (
	observedJobs   = 1000
	observedWithin = 1.05 // the goal: what everything on may take, of what everything off takes
	scrapeEvery    = 5 * time.Second
)

// An observation is what a program did while it was watched, or not.
type observation struct {
	p99 []time.Duration // of the measured ticks
	cpu []float64       // ms an execution, of each round
}

// measureObserved measures a herd in a program of its own, in turn without and with all that watches it: metrics are
// scraped, traces and metrics are sent by OTLP, and the collection has notifications of all events.
func (b *bench) measureObserved(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "almanac-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b.progress.Printf("building almanac")
	path, err := systems.Build(ctx, dir, "./cmd/almanac")
	if err != nil {
		return err
	}
	var off, on observation
	for round := range 2 * b.options.Rounds {
		watched := round%4 == 1 || round%4 == 2 // off, on, on, off
		into := &off
		if watched {
			into = &on
		}
		data := filepath.Join(dir, fmt.Sprint(round))
		if err := b.observe(ctx, path, data, watched, into); err != nil {
			return fmt.Errorf("watched: %t: %w", watched, err)
		}
	}
	b.reportObserved(off, on)
	return nil
}

func (b *bench) reportObserved(off, on observation) {
	p99off, p99on := report.Median(off.p99), report.Median(on.p99)
	cpuOff, cpuOn := report.Median(off.cpu), report.Median(on.cpu)
	change := func(from, to float64) string { return fmt.Sprintf("%+.1f %%", 100*(to/from-1)) }
	b.report.Add(&b.report.Observed, []string{"lateness, p99 of a tick, median", report.FormatDuration(p99off), report.FormatDuration(p99on), change(float64(p99off), float64(p99on))})
	b.report.Add(&b.report.Observed, []string{"CPU an execution, median", report.FormatMilliseconds(cpuOff), report.FormatMilliseconds(cpuOn), change(cpuOff, cpuOn)})
	b.report.AddGoal("all observability on, p99", "at most +5 %", change(float64(p99off), float64(p99on)), float64(p99on) <= observedWithin*float64(p99off))
	b.report.AddGoal("all observability on, CPU an execution", "at most +5 %", change(cpuOff, cpuOn), cpuOn <= observedWithin*cpuOff)
}

// observe measures one program.
func (b *bench) observe(ctx context.Context, path, data string, watched bool, into *observation) (err error) {
	var env []string
	var spans atomic.Int64
	if watched {
		otlp := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			n, _ := io.Copy(io.Discard, r.Body)
			spans.Add(n)
		}))
		defer otlp.Close()
		env = []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + otlp.URL}
	}
	p, err := systems.StartWith(ctx, env, path, "dev", "--data", data, "--listen", "127.0.0.1:0", "--temporal-listen", "127.0.0.1:0", "--ui-listen", "127.0.0.1:0", "--log-level", "warn",
		"--max-rate-per-caller", "0", "--max-in-flight-per-caller", "0") // all jobs are created by one caller
	if err != nil {
		return err
	}
	defer p.End(os.Interrupt)
	almanac := systems.NewAlmanac(b.receiver, p.APIs)
	h := systems.Herd{Name: "observed", Jobs: observedJobs, Every: time.Minute, Schedule: systems.Minutely}
	if b.options.Jobs > 0 {
		h.Jobs = b.options.Jobs
	}
	p.AwaitQuiet(ctx)
	idle, err := p.Rate(ctx, b.options.Idle)
	if err != nil {
		return err
	}
	h.First = time.Now().UTC().Add(calm + creating(h.Jobs) + 10*time.Second).Truncate(time.Second)
	defer b.receiver.Take(h.Name)
	if err := almanac.Create(ctx, h); err != nil {
		return err
	}
	if watched {
		if err := almanac.Notify(ctx, h); err != nil {
			return err
		}
		scraping, stop := context.WithCancel(ctx)
		scraped := scrape(scraping, almanac)
		defer func() {
			stop()
			if bytes := <-scraped; err == nil && (bytes == 0 || spans.Load() == 0) {
				err = fmt.Errorf("%d bytes of metrics and %d of traces came: nothing was watched", bytes, spans.Load())
			}
		}()
	}
	for time.Until(h.First) < calm { // creating took longer than was thought
		h.First = h.First.Add(h.Every)
	}
	return b.observeTicks(ctx, p, h, idle, watched, into)
}

// observeTicks lets the ticks of a herd pass.
func (b *bench) observeTicks(ctx context.Context, p *systems.Program, h systems.Herd, idle float64, watched bool, into *observation) error {
	warmUp := b.options.WarmUpTicks
	pause(ctx, time.Until(h.First.Add(time.Duration(warmUp)*h.Every-calm)))
	start := time.Now()
	before, err := p.CPU(ctx)
	if err != nil {
		return err
	}
	ticks, err := b.awaitTicks(ctx, h, warmUp+b.options.Ticks)
	if err != nil {
		return err
	}
	after, err := p.CPU(ctx)
	if err != nil {
		return err
	}
	b.report.LogTicks(fmt.Sprintf("watched: %t", watched), ticks)
	b.report.MustBePunctual(report.CountOf(h.Jobs, "job"), ticks)
	executions := 0
	for _, t := range ticks[warmUp:] {
		into.p99 = append(into.p99, t.Lateness.P99)
		executions += t.Lateness.N
	}
	if executions == 0 {
		return errors.New("no request of the measured ticks came")
	}
	into.cpu = append(into.cpu, 1000*(after-before-idle*time.Since(start).Seconds())/float64(executions))
	return nil
}

// scrape reads the metrics of an API every few seconds until ctx ends, and then sends how many bytes they had.
func scrape(ctx context.Context, a *systems.AlmanacAPI) <-chan int {
	done := make(chan int, 1)
	go func() {
		total := 0
		for ctx.Err() == nil {
			n, _ := a.Metrics(ctx) // what could not be read is not counted
			total += n
			pause(ctx, scrapeEvery)
		}
		done <- total
	}()
	return done
}
