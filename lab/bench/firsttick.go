package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"almanac/lab/bench/page"
	"almanac/lab/bench/systems"
	"almanac/lab/report"
	"almanac/lab/system"
)

// A scenario is a herd of new jobs of Almanac.
type scenario struct {
	label    string
	jobs     int
	ticks    int // a minute apart
	schedule systems.Object
	once     bool          // retryType none
	before   time.Duration // from creating it to the first tick; 0: as the option says

	// The goals for the p99 of the first tick, and of each after it; 0: none.
	first, next time.Duration
}

// scenarios are what part first-tick measures; the first three are the quick ones.
func (b *bench) scenarios() []scenario {
	if b.options.Jobs > 0 {
		return b.herdScenarios(b.options.Jobs, "", 0, 0, 0)
	}
	const few, many = 250 * time.Millisecond, time.Second
	first := b.herdScenarios(1000, "", few, 100*time.Millisecond, 150*time.Millisecond)
	if b.options.Quick {
		return first
	}
	return slices.Concat(first, []scenario{
		{label: "once, `retryType` `none`", jobs: 1000, ticks: 1, once: true, first: few},
		{label: "once, four minutes after they were created", jobs: 1000, ticks: 1, before: 4 * time.Minute,
			first: few},
		{label: "every day", jobs: 1000, ticks: 1, schedule: systems.Daily, first: few},
	}, b.herdScenarios(2000, "", many, 250*time.Millisecond, 350*time.Millisecond))
}

// herdScenarios are the kinds of herds that differ most. The goals are for the first tick, and for each
// after it with a retry policy and without.
func (b *bench) herdScenarios(jobs int, where string, first, next, nextOnce time.Duration) []scenario {
	ticks := b.options.WarmUpTicks + b.options.Ticks
	return []scenario{
		{label: "every minute" + where, jobs: jobs, ticks: ticks, schedule: systems.Minutely, first: first, next: next},
		{label: "every minute, `retryType` `none`" + where, jobs: jobs, ticks: ticks, schedule: systems.Minutely,
			once: true, first: first, next: nextOnce},
		{label: "once" + where, jobs: jobs, ticks: 1, first: first},
	}
}

func (b *bench) measureFirstTick(ctx context.Context) error {
	return b.measureScenarios(ctx, b.Almanac, b.scenarios())
}

func (b *bench) measureScenarios(ctx context.Context, a *systems.AlmanacAPI, scenarios []scenario) error {
	for i, s := range scenarios {
		name := fmt.Sprintf("first-tick-%d-%d", time.Now().Unix(), i) // new to a cluster that runs on
		if err := b.measureScenario(ctx, a, name, s); err != nil {
			return fmt.Errorf("%d jobs %s: %w", s.jobs, s.label, err)
		}
	}
	return nil
}

func (b *bench) measureScenario(ctx context.Context, a *systems.AlmanacAPI, name string, s scenario) (err error) {
	before := cmp.Or(s.before, b.options.CreatedBefore)
	start := time.Now()
	h := systems.Herd{
		Name: name, Jobs: s.jobs, Every: time.Minute, Schedule: s.schedule, NoRetries: s.once,
		First: start.UTC().Add(creating(s.jobs) + before + time.Second).Truncate(time.Second),
	}
	defer func() { err = errors.Join(err, b.remove(ctx, a, h)) }()
	if err := a.Create(ctx, h); err != nil {
		return err
	}
	perSecond := float64(s.jobs) / time.Since(start).Seconds()
	if left := time.Until(h.First); left < before-time.Second {
		b.progress.Printf("the jobs were created only %s before their first tick", left.Round(time.Second))
	}
	ticks, err := b.awaitTicks(ctx, h, s.ticks)
	if err != nil {
		return err
	}
	addScenario(&b.page, s, perSecond, ticks)
	return nil
}

const clusterJobs = 500 // of each herd

// measureCluster measures few scenarios on a cluster of its own, with each of the settings of Temporal. Their goals are
// for the p99 of each tick.
func (b *bench) measureCluster(ctx context.Context) error {
	return errors.Join(
		b.measureClusterWith(ctx, system.Recommended, "the recommended settings", 150*time.Millisecond),
		b.measureClusterWith(ctx, system.Defaults, "Temporal's own settings", 500*time.Millisecond))
}

func (b *bench) measureClusterWith(
	ctx context.Context, settings system.Settings, name string, goal time.Duration,
) (err error) {
	b.progress.Printf("starting a cluster with %s", name)
	s, err := b.startSystem(ctx, system.Options{Form: system.Postgres, Settings: settings})
	if err != nil {
		return fmt.Errorf("with %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	scenarios := b.herdScenarios(cmp.Or(b.options.Jobs, clusterJobs), ", on a cluster with "+name, goal, goal, goal)
	return b.measureScenarios(ctx, systems.NewAlmanac(b.receiver, s.URLs()), scenarios)
}

// addScenario adds the first tick of a scenario, the worst of those after it, and their goals.
func addScenario(p *page.Page, s scenario, perSecond float64, ticks []systems.Tick) {
	name := report.CountOf(s.jobs, "job") + " " + s.label
	p.LogTicks(name, ticks)
	p.MustBePunctual(name, ticks)
	p.Add(&p.FirstTick, []string{name, "first tick", report.Tenth(perSecond)}, ticks[0].Cells())
	p.Within(name+", p99 of the first tick", ticks[0].Lateness.P99, s.first)
	if more := ticks[1:]; len(more) > 0 {
		p.Add(&p.FirstTick, []string{name, fmt.Sprintf("worst of %d more", len(more)), ""}, systems.Worst(more).Cells())
		p.Within(name+", p99 of the worst tick after it", systems.Worst(more).Lateness.P99, s.next)
	}
}
