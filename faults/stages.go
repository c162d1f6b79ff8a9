//go:build linux

package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"almanac/faults/laws"
)

// The stages that a fault can be aimed at.
const (
	aimRandom   = "random"
	aimTimer    = "before the timer" // a job sleeps, 21 to 25 s before it is due: leads are at most 20 s
	aimHeld     = "held"             // 8 s before a job is due
	aimClose    = "close"            // 0.1 to 2 s before
	aimFence    = "fence passed"     // 0 to 0.2 s before
	aimRequest  = "request"          // while the receiver has the request
	aimAnswered = "answered"         // between answer and recording
	aimRetry    = "retry wait"       // between two attempts
	aimError    = "error action"     // while the receiver has the error action's request
	aimRenew    = "continue-as-new"  // about 100 of 110 manual runs of a job were answered
	aimFanOut   = "fan-out"          // 20 to 300 ms after a collection is disabled or enabled
	aimCreate   = "create"           // 5 to 100 ms after many jobs are created
	aimHerd     = "herd"             // 0 to 1 s before many jobs are due together; only of an overload
)

// executionStages are the stages that executions reach without help.
var executionStages = []string{aimRandom, aimHeld, aimClose, aimFence, aimRequest, aimAnswered, aimRetry, aimError}

// stages are all stages that kill, pause and stop are aimed at.
var stages = slices.Concat(executionStages, []string{aimTimer, aimRenew, aimFanOut, aimCreate})

// someAims returns n of the stages at random, each once before any is repeated.
func (b *breaker) someAims(n int) []string {
	var some []string
	for len(some) < n {
		for _, i := range b.random.Perm(len(b.options.aims)) {
			some = append(some, b.options.aims[i])
		}
	}
	return some[:n]
}

// target returns one of some targets: half of the faults aimed at creates hit the
// API that starts the workflows.
func (b *breaker) target(targets []target, aim string) target {
	api := slices.IndexFunc(targets, func(t target) bool { return slices.Equal(t.stops, []string{laws.API}) })
	if aim == aimCreate && api >= 0 && b.random.IntN(2) == 0 {
		return targets[api]
	}
	return targets[b.random.IntN(len(targets))]
}

// aim brings about the stage that a fault is aimed at, or waits for it. It returns
// the job that has reached it. A stage that nothing reaches is as good as a random
// one.
func (b *breaker) aim(ctx context.Context, p *plan) laws.Job {
	milliseconds := func(least, most int) time.Duration {
		return time.Duration(least+b.random.IntN(most-least+1)) * time.Millisecond
	}
	switch p.aim {
	case aimRandom:
		return laws.Job{}
	case aimTimer:
		return b.asleep(ctx, milliseconds(21_000, 25_000))
	case aimHeld:
		return b.before(ctx, 8*time.Second)
	case aimClose:
		return b.before(ctx, milliseconds(100, 2000))
	case aimFence:
		return b.before(ctx, milliseconds(0, 200))
	case aimRenew:
		return b.renew(ctx, renewRuns-b.random.IntN(20), milliseconds(0, 50))
	case aimFanOut:
		return b.fanOut(ctx, milliseconds(20, 300))
	case aimCreate:
		return b.createMany(ctx, 20+b.random.IntN(20), milliseconds(5, 100))
	case aimHerd:
		p.herd = b.herd(ctx, milliseconds(0, 1000))
		return laws.Job{}
	}
	j, _ := b.receiver.await(ctx, p.aim, aimTime)
	return j
}

// aimTime is how long a stage is waited for.
const aimTime = 25 * time.Second

// before waits until some time before a job is due.
func (b *breaker) before(ctx context.Context, ahead time.Duration) laws.Job {
	for range 1000 {
		s := b.changer.subjects[b.random.IntN(len(b.changer.subjects))]
		if !s.mu.TryLock() {
			continue
		}
		j := s.at
		due, ok := s.next(time.Now().Add(ahead))
		s.mu.Unlock()
		if ok && time.Until(due) < aimTime {
			_ = pause(ctx, time.Until(due.Add(-ahead)))
			return j
		}
	}
	return laws.Job{}
}

// once is the definition of a job that runs once.
func once(due time.Time) laws.Definition {
	return laws.Definition{
		Version: 1, Start: due.UTC().Truncate(time.Second), Once: true,
		Retries: 2, RetryInterval: 15 * time.Second, Overlap: "bufferOne", Behaviour: "ok",
	}
}

// asleep waits until some time before jobs are due that run once: those sleep,
// where a minutely job is dispatched right after the execution before.
func (b *breaker) asleep(ctx context.Context, ahead time.Duration) laws.Job {
	due := time.Now().Add(ahead + 5*time.Second)
	added := b.changer.add(ctx, 5, once(due))
	_ = pause(ctx, time.Until(due.Truncate(time.Second).Add(-ahead)))
	return anyOf(added)
}

func anyOf(jobs []laws.Job) laws.Job {
	if len(jobs) == 0 {
		return laws.Job{}
	}
	return jobs[0]
}

// renewRuns is how many manual runs a job gets, so that its workflow continues as
// new, which it does after 100 executions.
const renewRuns = 110

// renew runs a job again and again by hand, and returns some time after that many
// runs were answered. The others go on. The job itself is due much later, for an
// occurrence that is dispatched would keep its workflow from continuing as new.
func (b *breaker) renew(ctx context.Context, answered int, after time.Duration) laws.Job {
	c := b.changer
	j := anyOf(c.add(ctx, 1, once(time.Now().Add(90*time.Second))))
	if j == (laws.Job{}) {
		return j
	}
	reached := make(chan struct{})
	var applied atomic.Int64
	var last sync.Once
	for range 6 {
		c.open.Go(func() {
			for applied.Load() < renewRuns && ctx.Err() == nil {
				switch c.make(ctx, laws.RunNow, j, nil, "") {
				case laws.Unknown:
					return // the fault
				case laws.Refused:
					_ = pause(ctx, 100*time.Millisecond) // too many are under way
				case laws.Applied:
					if applied.Add(1) >= int64(answered) {
						last.Do(func() { close(reached) })
					}
				}
			}
		})
	}
	select {
	case <-reached:
	case <-ctx.Done():
	case <-time.After(aimTime):
	}
	_ = pause(ctx, after)
	return j
}

// fanOut disables a collection with many jobs and enables it again. It returns
// some time after one of the two was issued.
func (b *breaker) fanOut(ctx context.Context, after time.Duration) laws.Job {
	c := b.changer
	if !c.fan.TryLock() {
		return laws.Job{} // the one before has not ended
	}
	j := laws.Job{Collection: fmt.Sprintf("faults%d", b.random.IntN(collections-1))} // the last one is toggled
	enabling := b.random.IntN(2) == 0
	issued := make(chan struct{})
	c.open.Go(func() {
		defer c.fan.Unlock()
		if !enabling {
			close(issued)
		}
		c.make(ctx, laws.DisableCollection, j, nil, "")
		_ = pause(ctx, c.between(2*time.Second, 15*time.Second))
		if enabling {
			close(issued)
		}
		c.make(ctx, laws.EnableCollection, j, nil, "")
	})
	<-issued
	_ = pause(ctx, after)
	return j
}

// createMany creates many jobs at once, and returns some time after that. Half of
// the creates are not repeated if they have no answer, so that nothing but Almanac
// itself decides whether the job exists.
func (b *breaker) createMany(ctx context.Context, n int, after time.Duration) laws.Job {
	c := b.changer
	var first laws.Job
	for i := range n {
		d := newDefinition(time.Now().UTC().Add(10*time.Second), time.Minute, b.random)
		d.Start = newStart(time.Now().UTC().Add(10*time.Second), b.random)
		d.Once, d.Count, d.Behaviour = false, 5, "ok"
		s := c.addition(d)
		if i == 0 {
			first = s.at
		}
		tries := 1
		if i%2 == 0 {
			tries = maxTries
		}
		c.open.Go(func() { c.try(ctx, laws.Create, s.at, &s.definition, c.receiver.definitionBody(s.at, d), tries) })
	}
	_ = pause(ctx, after)
	return first
}

// herd creates many jobs that are due together once, and returns them some time
// before they are due.
func (b *breaker) herd(ctx context.Context, ahead time.Duration) []laws.Job {
	n := max(20, min(150, b.options.jobs/2))
	due := time.Now().Add(15*time.Second + time.Duration(n)*50*time.Millisecond)
	added := b.changer.add(ctx, n, once(due))
	_ = pause(ctx, time.Until(due.Truncate(time.Second).Add(-ahead)))
	return added
}

const (
	overloadRuns  = 300 // manual runs of an overload
	overloadOfOne = 40  // of one job: 50 may be under way
	recoveryTime  = 2 * time.Minute
)

// overload runs jobs by hand, all at once, and waits until all is answered and the
// herd was sent.
func (b *breaker) overload(ctx context.Context, p plan) error {
	var locked []*subject
	for _, i := range b.random.Perm(len(b.changer.subjects)) {
		if s := b.changer.subjects[i]; s.mu.TryLock() {
			locked = append(locked, s)
		}
	}
	var group sync.WaitGroup
	for i := range min(overloadRuns, len(locked)*overloadOfOne) {
		j := locked[i%len(locked)].at
		group.Go(func() { b.changer.make(ctx, laws.RunNow, j, nil, "") })
	}
	group.Wait()
	for _, s := range locked {
		s.mu.Unlock()
	}
	return b.receiver.arrived(ctx, p.herd, recoveryTime)
}

// addition returns a new name with a definition, which is not created yet.
func (c *changer) addition(d laws.Definition) *subject {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.added)
	s := &subject{
		at:         laws.Job{Collection: fmt.Sprintf("faults%d", n%(collections-1)), Name: fmt.Sprintf("x%05d", n), Life: 1},
		definition: d,
	}
	c.added = append(c.added, s)
	return s
}

// add creates n jobs of a definition, and returns those that exist for certain.
func (c *changer) add(ctx context.Context, n int, d laws.Definition) []laws.Job {
	all := make([]*subject, n)
	exists := make([]bool, n)
	var group sync.WaitGroup
	slots := make(chan struct{}, 4)
	for i := range n {
		all[i] = c.addition(d)
		group.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			at := all[i].at
			exists[i] = c.make(ctx, laws.Create, at, &all[i].definition, c.receiver.definitionBody(at, d)) == laws.Applied
		})
	}
	group.Wait()
	var jobs []laws.Job
	for i, s := range all {
		if exists[i] {
			jobs = append(jobs, s.at)
		}
	}
	return jobs
}

// all returns all names, those created for faults as well.
func (c *changer) all() []*subject {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Concat(c.subjects, c.added)
}
