package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"almanac/bench/systems"
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
func (o options) scenarios() []scenario {
	if o.jobs > 0 {
		return o.fewScenarios(o.jobs, "", 0)
	}
	const few, many = 250 * time.Millisecond, time.Second
	all := []scenario{
		{label: "every minute", jobs: 1000, ticks: 1 + o.ticks, schedule: systems.Minutely, first: few, next: 100 * time.Millisecond},
		{label: "every minute, `retryType` `none`", jobs: 1000, ticks: 1 + o.ticks, schedule: systems.Minutely, once: true, first: few, next: 150 * time.Millisecond},
		{label: "once", jobs: 1000, ticks: 1, first: few},
		{label: "once, `retryType` `none`", jobs: 1000, ticks: 1, once: true, first: few},
		{label: "once, four minutes after they were created", jobs: 1000, ticks: 1, before: 4 * time.Minute, first: few},
		{label: "every day", jobs: 1000, ticks: 1, schedule: systems.Daily, first: few},
		{label: "every minute", jobs: 2000, ticks: 1 + o.ticks, schedule: systems.Minutely, first: many, next: 250 * time.Millisecond},
		{label: "every minute, `retryType` `none`", jobs: 2000, ticks: 1 + o.ticks, schedule: systems.Minutely, once: true, first: many, next: 350 * time.Millisecond},
		{label: "once", jobs: 2000, ticks: 1, first: many},
	}
	if o.quick {
		return all[:3]
	}
	return all
}

// fewScenarios are the kinds of herds that differ most. All ticks have the same goal.
func (o options) fewScenarios(jobs int, where string, goal time.Duration) []scenario {
	ticks := 1 + o.ticks
	if o.smoke {
		ticks = 1
	}
	return []scenario{
		{label: "every minute" + where, jobs: jobs, ticks: ticks, schedule: systems.Minutely, first: goal, next: goal},
		{label: "every minute, `retryType` `none`" + where, jobs: jobs, ticks: ticks, schedule: systems.Minutely, once: true, first: goal, next: goal},
		{label: "once" + where, jobs: jobs, ticks: 1, first: goal},
	}
}

// A scenarioResult is how late the ticks of a scenario were.
type scenarioResult struct {
	scenario
	perSecond float64 // jobs that were created, 16 at a time
	ticks     []tick
}

func (b *bench) measureFirstTick(ctx context.Context) error {
	if len(b.options.apis) > 0 {
		return b.measureScenarios(ctx, systems.NewAlmanac(b.receiver, b.options.apis), b.options.scenarios())
	}
	return b.measureScenarios(ctx, b.Almanac, b.options.scenarios())
}

func (b *bench) measureScenarios(ctx context.Context, a *systems.AlmanacAPI, scenarios []scenario) error {
	for i, s := range scenarios {
		name := fmt.Sprintf("first-tick-%d-%d", time.Now().Unix(), i) // new to a cluster that runs on
		r, err := b.measureScenario(ctx, a, name, s)
		if err != nil {
			return fmt.Errorf("%d jobs %s: %w", s.jobs, s.label, err)
		}
		b.results.scenarios = append(b.results.scenarios, r)
		for n, t := range r.ticks {
			b.progress.Printf("%d jobs %s, tick %d: %s", s.jobs, s.label, n+1, t)
		}
	}
	return nil
}

func (b *bench) measureScenario(ctx context.Context, a *systems.AlmanacAPI, name string, s scenario) (r scenarioResult, err error) {
	before := cmp.Or(s.before, b.options.createdBefore)
	start := time.Now()
	h := systems.Herd{
		Name: name, Jobs: s.jobs, Every: time.Minute, Schedule: s.schedule, NoRetries: s.once,
		First: start.UTC().Add(creating(s.jobs) + before + time.Second).Truncate(time.Second),
	}
	defer func() { err = errors.Join(err, b.remove(ctx, a, h)) }()
	if err := a.Create(ctx, h); err != nil {
		return r, err
	}
	r = scenarioResult{scenario: s, perSecond: float64(s.jobs) / time.Since(start).Seconds()}
	if left := time.Until(h.First); left < before-time.Second {
		b.progress.Printf("the jobs were created only %s before their first tick", left.Round(time.Second))
	}
	r.ticks, err = b.awaitTicks(ctx, h, s.ticks)
	return r, err
}
