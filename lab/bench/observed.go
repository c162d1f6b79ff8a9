package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"time"

	"almanac/lab/bench/systems"
	"almanac/lab/processes"
	"almanac/lab/report"
	"almanac/lab/system"
)

const (
	observedJobs   = 1000
	observedWithin = 1.05 // the goal: what everything on may take, of what everything off takes
	scrapeEvery    = 5 * time.Second
)

// An observation is what a program did.
type observation struct {
	p99 []time.Duration // of the measured ticks
	cpu []float64       // ms an execution, of each round
}

// A variation is what a program is compared with: one without it.
type variation struct {
	name string
	// metrics are scraped, traces and metrics are sent by OTLP, and the collection has notifications of all events
	watched bool
	flags   []string // of the program
	goal    bool     // it may take little
}

func (b *bench) measureObserved(ctx context.Context) error {
	return b.compare(ctx, variation{name: "all observability on", watched: true, goal: true})
}

func (b *bench) measureNextRun(ctx context.Context) error {
	return b.compare(ctx, variation{name: "--show-next-run", flags: []string{"--show-next-run"}})
}

// compare measures a herd in a program of its own, in turn without and with a variation.
func (b *bench) compare(ctx context.Context, v variation) error {
	var off, on observation
	for round := range 2 * b.options.Rounds {
		of, into := variation{name: "without " + v.name}, &off
		if round%4 == 1 || round%4 == 2 { // off, on, on, off
			of, into = v, &on
		}
		if err := b.observe(ctx, of, into); err != nil {
			return fmt.Errorf("%s: %w", of.name, err)
		}
	}
	b.reportComparison(v, off, on)
	return nil
}

func (b *bench) reportComparison(v variation, off, on observation) {
	p99off, p99on := report.Median(off.p99), report.Median(on.p99)
	cpuOff, cpuOn := report.Median(off.cpu), report.Median(on.cpu)
	change := func(off, on float64) string { return fmt.Sprintf("%+.1f %%", 100*(on/off-1)) }
	p99, cpu := change(float64(p99off), float64(p99on)), change(cpuOff, cpuOn)
	b.page.Add(&b.page.Observed, []string{
		v.name + ": lateness, p99 of a tick, median", report.Duration(p99off), report.Duration(p99on), p99,
	})
	b.page.Add(&b.page.Observed, []string{
		v.name + ": CPU an execution, median", report.Milliseconds(cpuOff), report.Milliseconds(cpuOn), cpu,
	})
	if v.goal {
		b.page.AddGoal(v.name+", p99", "at most +5 %", p99, float64(p99on) <= observedWithin*float64(p99off))
		b.page.AddGoal(v.name+", CPU an execution", "at most +5 %", cpu, cpuOn <= observedWithin*cpuOff)
	}
}

// observe measures one program.
func (b *bench) observe(ctx context.Context, v variation, into *observation) (err error) {
	var env []string
	var spans atomic.Int64
	if v.watched {
		otlp := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			n, _ := io.Copy(io.Discard, r.Body)
			spans.Add(n)
		}))
		defer otlp.Close()
		env = []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + otlp.URL}
	}
	s, err := b.startSystem(ctx, system.Options{
		Form: system.One, Env: env,
		Flags: slices.Concat([]string{"--ui-listen", "127.0.0.1:0", "--log-level", "warn"}, system.Unlimited, v.flags),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return b.observeHerd(ctx, systems.NewAlmanac(b.receiver, s.URLs()), s.Server.Usage(), &spans, v, into)
}

// observeHerd measures a herd of a program. spans is how many bytes of traces came.
func (b *bench) observeHerd(
	ctx context.Context, almanac *systems.AlmanacAPI, p processes.Usage, spans *atomic.Int64, v variation,
	into *observation,
) (err error) {
	h := systems.Herd{
		Name: "observed", Jobs: cmp.Or(b.options.Jobs, observedJobs), Every: time.Minute, Schedule: systems.Minutely,
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
	if v.watched {
		if err := almanac.Notify(ctx, h); err != nil {
			return err
		}
		scraping, stop := context.WithCancel(ctx)
		scraped := almanac.Scrape(scraping, scrapeEvery)
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
	return b.observeTicks(ctx, p, h, idle, v.name, into)
}

// observeTicks lets the ticks of a herd pass.
func (b *bench) observeTicks(
	ctx context.Context, p processes.Usage, h systems.Herd, idle float64, name string, into *observation,
) error {
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
	b.page.LogTicks(name, ticks)
	b.page.MustBePunctual(report.CountOf(h.Jobs, "job"), ticks)
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
