package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"almanac/bench/report"
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
		{label: "once, four minutes after they were created", jobs: 1000, ticks: 1, before: 4 * time.Minute, first: few},
		{label: "every day", jobs: 1000, ticks: 1, schedule: systems.Daily, first: few},
	}, b.herdScenarios(2000, "", many, 250*time.Millisecond, 350*time.Millisecond))
}

// herdScenarios are the kinds of herds that differ most. The goals are for the first tick, and for each
// after it with a retry policy and without.
func (b *bench) herdScenarios(jobs int, where string, first, next, nextOnce time.Duration) []scenario {
	ticks := b.options.WarmUpTicks + b.options.Ticks
	return []scenario{
		{label: "every minute" + where, jobs: jobs, ticks: ticks, schedule: systems.Minutely, first: first, next: next},
		{label: "every minute, `retryType` `none`" + where, jobs: jobs, ticks: ticks, schedule: systems.Minutely, once: true, first: first, next: nextOnce},
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
	addScenario(&b.report, s, perSecond, ticks)
	return nil
}

const clusterJobs = 500 // of each herd

// measureCluster measures few scenarios on a cluster of its own, with each of the settings of Temporal
// that internal/cluster/run knows. Their goals are for the p99 of each tick.
func (b *bench) measureCluster(ctx context.Context) error {
	return errors.Join(
		b.measureClusterWith(ctx, "recommended", "the recommended settings", 150*time.Millisecond),
		b.measureClusterWith(ctx, "defaults", "Temporal's own settings", 500*time.Millisecond))
}

func (b *bench) measureClusterWith(ctx context.Context, settings, name string, goal time.Duration) (err error) {
	dir, err := os.MkdirTemp("", "almanac-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b.progress.Printf("starting a cluster with %s", name)
	path, err := systems.Build(ctx, dir, "./internal/cluster/run")
	if err != nil {
		return err
	}
	cluster, err := systems.Start(ctx, path, "-settings", settings)
	if err != nil {
		return fmt.Errorf("with %s: %w", name, err)
	}
	defer cluster.End(syscall.SIGTERM)
	scenarios := b.herdScenarios(cmp.Or(b.options.Jobs, clusterJobs), ", on a cluster with "+name, goal, goal, goal)
	return b.measureScenarios(ctx, systems.NewAlmanac(b.receiver, cluster.APIs), scenarios)
}

// addScenario adds the first tick of a scenario, the worst of those after it, and their goals.
func addScenario(r *report.Report, s scenario, perSecond float64, ticks []report.Tick) {
	name := report.CountOf(s.jobs, "job") + " " + s.label
	r.LogTicks(name, ticks)
	r.MustBePunctual(name, ticks)
	r.Add(&r.FirstTick, []string{name, "first tick", report.FormatTenth(perSecond)}, ticks[0].Cells())
	r.Within(name+", p99 of the first tick", ticks[0].Lateness.P99, s.first)
	if more := ticks[1:]; len(more) > 0 {
		r.Add(&r.FirstTick, []string{name, fmt.Sprintf("worst of %d more", len(more)), ""}, report.Worst(more).Cells())
		r.Within(name+", p99 of the worst tick after it", report.Worst(more).Lateness.P99, s.next)
	}
}
