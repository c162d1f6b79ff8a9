package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"almanac/lab/bench/page"
	"almanac/lab/bench/systems"
	"almanac/lab/report"
)

// One tenant creates a herd, which is due every minute. Another tenant makes calls at a steady pace
// meanwhile, whether or not earlier ones are answered, and has ten jobs that are due with the herd.
const (
	isolationHerd     = 2000                   // jobs of the first tenant
	isolationParallel = 32                     // of them that are created at the same time
	isolationTen      = 10                     // jobs of the other tenant, due before the herd is
	isolationAsleep   = 20                     // its jobs that sleep, and are changed and run in turn
	isolationPause    = 600 * time.Millisecond // between two calls of a kind
)

// The stages of the measurement.
const (
	stageQuiet    = "quiet"
	stageCreating = "creating" // until createdAfter the last create, since new jobs begin
	stageFiring   = "firing"   // from firingBefore a tick of the herd until firingAfter it

	createdAfter = 3 * time.Second
	firingBefore = 10 * time.Second
	firingAfter  = 15 * time.Second
)

func (b *bench) measureIsolation(ctx context.Context) (err error) {
	tenFirst := time.Now().UTC().Truncate(time.Second).Add(15 * time.Second)
	first := tenFirst.Add((b.options.Before + b.options.Quiet).Truncate(time.Minute) + time.Minute) // of the herd
	ten := systems.Herd{Name: "isolation-ten", Jobs: isolationTen, First: tenFirst, Every: time.Minute, Schedule: systems.Minutely}
	asleep := sleepingHerd("isolation-asleep", isolationAsleep)
	herd := systems.Herd{
		Name: "isolation-herd", Jobs: cmp.Or(b.options.Jobs, isolationHerd), First: first, Every: time.Minute,
		Schedule: systems.Minutely, Parallel: isolationParallel,
	}
	defer func() { err = errors.Join(err, b.remove(ctx, b.Almanac, ten, asleep, herd)) }()
	if err := errors.Join(b.Almanac.Create(ctx, ten), b.Almanac.Create(ctx, asleep)); err != nil {
		return err
	}
	other := &tenant{calls: tenantCalls(b.Almanac, ten, asleep), stage: stageQuiet}
	if err := b.disturb(ctx, other, herd); err != nil {
		return err
	}
	ten.First = first
	ticks := systems.Worst(systems.SortTicks(ten, b.options.Ticks, b.receiver.Take(ten.Name)))
	b.progress.Printf("ten jobs: %s; the herd: %s", ticks, systems.Worst(systems.SortTicks(herd, b.options.Ticks, b.receiver.Take(herd.Name))))
	addTenant(&b.page, other, report.CountOf(herd.Jobs, "job"), ticks)
	return nil
}

// disturb creates the herd and lets its ticks pass while the other tenant calls.
func (b *bench) disturb(ctx context.Context, other *tenant, herd systems.Herd) error {
	create := herd.First.Add(-b.options.Before)
	pause(ctx, time.Until(create.Add(-b.options.Quiet)))
	calling, stop := context.WithCancel(ctx)
	var calls sync.WaitGroup
	calls.Go(func() { other.callSteadily(calling) })
	defer calls.Wait()
	defer stop()
	pause(ctx, time.Until(create))
	other.enter(stageCreating)
	start := time.Now()
	if err := b.Almanac.Create(ctx, herd); err != nil {
		return err
	}
	b.progress.Printf("created %.0f jobs a second, %s before they are due", float64(herd.Jobs)/time.Since(start).Seconds(), time.Until(herd.First).Round(time.Second))
	pause(ctx, createdAfter)
	other.enter(stageQuiet)
	for i := range b.options.Ticks {
		due := herd.First.Add(time.Duration(i) * time.Minute)
		pause(ctx, time.Until(due.Add(-firingBefore)))
		other.enter(stageFiring)
		pause(ctx, time.Until(due.Add(firingAfter)))
		other.enter(stageQuiet)
	}
	return ctx.Err()
}

// tenantCalls are the calls that the other tenant makes.
func tenantCalls(a *systems.AlmanacAPI, ten, asleep systems.Herd) []call {
	turn := func(i int) int { return i % asleep.Jobs }
	return []call{
		{name: "get a job", do: func(ctx context.Context, i int) error {
			return a.Call(ctx, http.MethodGet, ten.JobPath(i%ten.Jobs), nil, nil)
		}},
		{name: "list ten jobs", do: func(ctx context.Context, _ int) error {
			return a.Call(ctx, http.MethodGet, ten.Path()+"/jobs", nil, nil)
		}},
		{name: "create a job", do: func(ctx context.Context, i int) error { return a.PutJob(ctx, asleep, asleep.Jobs+i) }},
		{name: "replace a job", do: func(ctx context.Context, i int) error { return a.PutJob(ctx, asleep, turn(i)) }},
		{name: "patch a job", do: func(ctx context.Context, i int) error {
			return a.Call(ctx, http.MethodPatch, asleep.JobPath(turn(i+asleep.Jobs/3)), interval(2+i%2), nil)
		}},
		{name: "run a job", do: func(ctx context.Context, i int) error {
			return a.Call(ctx, http.MethodPost, asleep.JobPath(turn(i+2*asleep.Jobs/3))+"/run", nil, nil)
		}},
	}
}

// A tenant makes calls, and keeps the answers.
type tenant struct {
	calls []call

	mu      sync.Mutex
	stage   string
	answers []answer
}

// An answer is one call as its caller saw it.
type answer struct {
	call   string
	stage  string // in which it was made
	took   time.Duration
	failed bool // not answered by 2xx
}

// enter begins a stage.
func (t *tenant) enter(stage string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stage = stage
}

// callSteadily makes all calls in turn until ctx ends, and returns once all answers are there.
func (t *tenant) callSteadily(ctx context.Context) {
	var calls sync.WaitGroup
	defer calls.Wait()
	pace := time.NewTicker(isolationPause / time.Duration(len(t.calls)))
	defer pace.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-pace.C:
		}
		calls.Go(func() { t.call(context.WithoutCancel(ctx), t.calls[i%len(t.calls)], i/len(t.calls)) })
	}
}

func (t *tenant) call(ctx context.Context, c call, i int) {
	t.mu.Lock()
	a := answer{call: c.name, stage: t.stage}
	t.mu.Unlock()
	start := time.Now()
	a.failed = c.do(ctx, i) != nil
	a.took = time.Since(start)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answers = append(t.answers, a)
}

// addTenant adds each kind of call in each stage that has some, and holds the stages that are not quiet
// against how a tenant's calls are to be answered.
func addTenant(p *page.Page, t *tenant, herd string, ten systems.Tick) {
	slowest, failures := map[string]time.Duration{}, map[string]int{} // by stage
	for _, c := range t.calls {
		for _, stage := range []string{stageQuiet, stageCreating, stageFiring} {
			var took []time.Duration
			failed := 0
			for _, a := range t.answers {
				if a.call == c.name && a.stage == stage {
					took = append(took, a.took)
					if a.failed {
						failed++
					}
				}
			}
			if len(took) == 0 {
				continue
			}
			all := report.SpreadOf(took)
			p.Add(&p.Isolation, []string{c.name, stage, fmt.Sprint(all.N)}, all.Cells(), []string{fmt.Sprint(failed)})
			slowest[stage] = max(slowest[stage], all.P99)
			failures[stage] += failed
		}
	}
	for _, stage := range []string{stageCreating, stageFiring} {
		name := fmt.Sprintf("calls beside %s, %s", herd, stage)
		p.Within(name+", p99 of the slowest kind", slowest[stage], time.Second)
		p.AtMost(name+", not answered by 2xx", float64(failures[stage]), 0, report.Count)
	}
	p.Within("ten jobs beside "+herd+", worst p99", ten.Lateness.P99, 250*time.Millisecond)
}
