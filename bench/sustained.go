package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"
)

// What is measured when every job always has something to do: overdue
// occurrences, one after another.
const (
	sustainedJobs = 64
	sustainedDebt = 12 * time.Hour // a minute of it is an execution of each job
)

// warmUp returns how long jobs are at work before it is measured. It takes that
// long until the server looks at the timeouts of the first activities, which is
// part of what an execution costs.
func (o options) warmUp() time.Duration {
	if o.brief {
		return 3 * time.Second
	}
	return attemptTimeout + 5*time.Second
}

// measureSustained returns how many executions a second a system completes in
// one round.
func measureSustained(ctx context.Context, g *environment, s system, o options, round int, progress *log.Logger) (rate float64, err error) {
	h := herd{name: fmt.Sprintf("%s-sustained-%d", slug(s), round), jobs: sustainedJobs, every: time.Minute}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeWithin)
		defer cancel()
		if err = errors.Join(err, s.remove(ctx, h)); err != nil {
			err = fmt.Errorf("sustained executions of %s: %w", s.name(), err)
		}
	}()
	if err := g.usage.awaitQuiet(ctx); err != nil {
		return 0, err
	}
	if err := s.createOverdue(ctx, h, sustainedDebt); err != nil {
		return 0, fmt.Errorf("create: %w", err)
	}
	if err := g.sink.await(ctx, h.name, 1, firstWithin); err != nil { // Schedules take some seconds
		return 0, err
	}
	if err := pause(ctx, o.warmUp()); err != nil {
		return 0, err
	}
	before, start := g.sink.count(h.name), time.Now()
	if err := pause(ctx, o.sustain); err != nil {
		return 0, err
	}
	rate = float64(g.sink.count(h.name)-before) / time.Since(start).Seconds()
	progress.Printf("%s: %.1f executions/s sustained", s.name(), rate)
	return rate, checkBusy(g.sink.take(h.name), h)
}

// checkBusy returns an error if a job has run out of work.
func checkBusy(arrivals []arrival, h herd) error {
	const debt = int(sustainedDebt / time.Minute)
	done := make([]int, h.jobs)
	for _, a := range arrivals {
		done[a.job]++
		if done[a.job] == debt {
			return fmt.Errorf("job %s was done with its %d occurrences before the measurement ended: choose shorter rounds", h.id(a.job), debt)
		}
	}
	return nil
}
