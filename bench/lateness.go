package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"almanac/bench/systems"
)

const (
	// slowSchedules is a number of jobs that Temporal's Schedules cannot start within a minute on two
	// cores.
	slowSchedules = 1000

	maxSampled = 20 // jobs of a herd whose events are counted
)

// A herdResult is how late a herd of one system was.
type herdResult struct {
	system        string
	jobs          int
	warmUp, ticks []tick
}

// A cost is what the measured ticks of a system used.
type cost struct {
	executions int
	cpu        float64 // seconds, without what the process uses at rest
	bytes      float64 // by which the database grew
	events     float64 // in the histories of the sampled executions
	sampled    int     // executions
}

// measureLateness measures one herd after another of one system after another.
func (b *bench) measureLateness(ctx context.Context) error {
	var errs []error
	for _, s := range b.Systems(b.options.systems) {
		for _, jobs := range b.options.herds {
			if err := b.measureHerd(ctx, s, jobs); err != nil {
				errs = append(errs, fmt.Errorf("%d jobs, %s: %w", jobs, s.Name(), err))
				break
			}
		}
	}
	return errors.Join(errs...)
}

func (b *bench) measureHerd(ctx context.Context, s systems.System, jobs int) (err error) {
	if err := b.Usage.AwaitQuiet(ctx); err != nil {
		return err
	}
	idle, err := systems.Rate(ctx, b.Usage.CPU, b.options.idle())
	if err != nil {
		return err
	}
	h := systems.Herd{Name: fmt.Sprintf("%s-%d", systems.Slug(s.Name()), jobs), Jobs: jobs, Every: time.Minute, Schedule: systems.Minutely}
	if s.Name() == systems.Schedules && jobs >= slowSchedules {
		h.Every = 2 * time.Minute
	}
	h.First = time.Now().UTC().Add(calm + creating(jobs) + 10*time.Second).Truncate(time.Second)
	b.progress.Printf("%s: creating %d jobs, due from %s on", s.Name(), jobs, h.First.Format(time.TimeOnly))
	defer func() { err = errors.Join(err, b.remove(ctx, s, h)) }()
	if err := s.Create(ctx, h); err != nil {
		return err
	}
	for time.Until(h.First) < calm { // creating took longer than was thought
		h.First = h.First.Add(h.Every)
	}
	return b.watchHerd(ctx, s, h, idle)
}

// idle is how long the process is watched at rest.
func (o options) idle() time.Duration {
	if o.smoke {
		return 3 * time.Second
	}
	return calm
}

// watchHerd lets the ticks of a herd pass, and adds up what the measured ones used. It reads that
// before a tick is due, when all is at rest.
func (b *bench) watchHerd(ctx context.Context, s systems.System, h systems.Herd, idle float64) error {
	measured := h
	measured.First = h.First.Add(time.Duration(b.options.warmUpTicks) * h.Every)
	if err := systems.Pause(ctx, time.Until(measured.First.Add(-calm))); err != nil {
		return err
	}
	eventsBefore, err := countEvents(ctx, s, h, nil)
	if err != nil {
		return err
	}
	before, err := b.Usage.Read(ctx)
	if err != nil {
		return err
	}
	ticks, err := b.awaitTicks(ctx, h, b.options.warmUpTicks+b.options.ticks)
	if err != nil {
		return err
	}
	after, err := b.Usage.Read(ctx)
	if err != nil {
		return err
	}
	var due []time.Time
	for i := range b.options.ticks {
		due = append(due, measured.First.Add(time.Duration(i)*h.Every))
	}
	eventsAfter, err := countEvents(ctx, s, h, due)
	if err != nil {
		return err
	}
	r := herdResult{s.Name(), h.Jobs, ticks[:b.options.warmUpTicks], ticks[b.options.warmUpTicks:]}
	b.results.herds = append(b.results.herds, r)
	sum := r.sum()
	b.progress.Printf("%s: %d jobs: %s", r.system, r.jobs, sum)
	if sum.lateness.n == 0 {
		return errors.New("no request of the measured ticks came")
	}
	c := b.results.costs[s.Name()]
	c.executions += sum.lateness.n + sum.twice
	c.cpu += after.CPU - before.CPU - idle*after.At.Sub(before.At).Seconds()
	c.bytes += float64(after.Bytes - before.Bytes)
	c.events += float64(eventsAfter - eventsBefore)
	c.sampled += min(h.Jobs, maxSampled) * len(due)
	b.results.costs[s.Name()] = c
	return nil
}

// sum sums up the measured ticks, with the medians of their percentiles.
func (r herdResult) sum() tick { return combine(r.ticks, median[time.Duration]) }

// countEvents counts the events of some jobs of a herd, and of their executions that were due at the
// given times.
func countEvents(ctx context.Context, s systems.System, h systems.Herd, due []time.Time) (events int64, err error) {
	for number := range min(h.Jobs, maxSampled) {
		n, err := s.Events(ctx, h, number, due)
		if err != nil {
			return 0, err
		}
		events += n
	}
	return events, nil
}
