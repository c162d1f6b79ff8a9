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
	ten := systems.Herd{Name: "isolation-ten", Jobs: isolationTen, First: tenFirst, Every: time.Minute,
		Schedule: systems.Minutely}
	asleep := sleepingHerd("isolation-asleep", isolationAsleep)
	herd := systems.Herd{
		Name: "isolation-herd", Jobs: cmp.Or(b.options.Jobs, isolationHerd), First: first, Every: time.Minute,
		Schedule: systems.Minutely, Parallel: isolationParallel,
	}
	defer func() { err = errors.Join(err, b.remove(ctx, b.Almanac, ten, asleep, herd)) }()
	if err := errors.Join(b.Almanac.Create(ctx, ten), b.Almanac.Create(ctx, asleep)); err != nil {
		return err
	}
	calls := tenantCalls(b.Almanac, ten, asleep)
	other := systems.NewTenant(calls, stageQuiet)
	if err := b.disturb(ctx, other, herd); err != nil {
		return err
	}
	ten.First = first
	ticks := systems.Worst(systems.SortTicks(ten, b.options.Ticks, b.receiver.Take(ten.Name)))
	b.progress.Printf("ten jobs: %s; the herd: %s", ticks,
		systems.Worst(systems.SortTicks(herd, b.options.Ticks, b.receiver.Take(herd.Name))))
	addTenant(&b.page, calls, other.Answers(), report.CountOf(herd.Jobs, "job"), ticks)
	return nil
}

// disturb creates the herd and lets its ticks pass while the other tenant calls.
func (b *bench) disturb(ctx context.Context, other *systems.Tenant, herd systems.Herd) error {
	create := herd.First.Add(-b.options.Before)
	pause(ctx, time.Until(create.Add(-b.options.Quiet)))
	calling, stop := context.WithCancel(ctx)
	var calls sync.WaitGroup
	calls.Go(func() { other.CallSteadily(calling, isolationPause) })
	defer calls.Wait()
	defer stop()
	pause(ctx, time.Until(create))
	other.Enter(stageCreating)
	start := time.Now()
	if err := b.Almanac.Create(ctx, herd); err != nil {
		return err
	}
	b.progress.Printf("created %.0f jobs a second, %s before they are due",
		float64(herd.Jobs)/time.Since(start).Seconds(), time.Until(herd.First).Round(time.Second))
	pause(ctx, createdAfter)
	other.Enter(stageQuiet)
	for i := range b.options.Ticks {
		due := herd.First.Add(time.Duration(i) * time.Minute)
		pause(ctx, time.Until(due.Add(-firingBefore)))
		other.Enter(stageFiring)
		pause(ctx, time.Until(due.Add(firingAfter)))
		other.Enter(stageQuiet)
	}
	return ctx.Err()
}

// tenantCalls are the calls that the other tenant makes.
func tenantCalls(a *systems.AlmanacAPI, ten, asleep systems.Herd) []systems.Call {
	turn := func(i int) int { return i % asleep.Jobs }
	return []systems.Call{
		{Name: "get a job", Do: func(ctx context.Context, i int) error {
			return a.Call(ctx, http.MethodGet, ten.JobPath(i%ten.Jobs), nil, nil)
		}},
		{Name: "list ten jobs", Do: func(ctx context.Context, _ int) error {
			return a.Call(ctx, http.MethodGet, ten.Path()+"/jobs", nil, nil)
		}},
		{Name: "create a job",
			Do: func(ctx context.Context, i int) error { return a.PutJob(ctx, asleep, asleep.Jobs+i) }},
		{Name: "replace a job", Do: func(ctx context.Context, i int) error { return a.PutJob(ctx, asleep, turn(i)) }},
		{Name: "patch a job", Do: func(ctx context.Context, i int) error {
			return a.Call(ctx, http.MethodPatch, asleep.JobPath(turn(i+asleep.Jobs/3)), interval(2+i%2), nil)
		}},
		{Name: "run a job", Do: func(ctx context.Context, i int) error {
			return a.Call(ctx, http.MethodPost, asleep.JobPath(turn(i+2*asleep.Jobs/3))+"/run", nil, nil)
		}},
	}
}

// addTenant adds each kind of call in each stage that has some, and holds the stages that are not quiet against how a
// tenant's calls are to be answered.
func addTenant(p *page.Page, calls []systems.Call, answers []systems.CallAnswer, herd string, ten systems.Tick) {
	slowest, failures := map[string]time.Duration{}, map[string]int{} // by stage
	for _, c := range calls {
		for _, stage := range []string{stageQuiet, stageCreating, stageFiring} {
			took, failed := tookIn(stage, c, answers)
			if len(took) == 0 {
				continue
			}
			all := report.SpreadOf(took)
			p.Add(&p.Isolation, []string{c.Name, stage, fmt.Sprint(all.N)}, all.Cells(), []string{fmt.Sprint(failed)})
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

// tookIn returns how long the calls of a kind took in a stage, and how many failed.
func tookIn(stage string, c systems.Call, answers []systems.CallAnswer) (took []time.Duration, failed int) {
	for _, a := range answers {
		if a.Call == c.Name && a.Stage == stage {
			took = append(took, a.Took)
			if a.Failed {
				failed++
			}
		}
	}
	return took, failed
}
