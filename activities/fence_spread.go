package activities

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
)

// The fences of a herd are spread over the time before the due time, its window, so that they do not queue up at the
// server. The window ends a margin before the due time, which is short for few: an attempt whose worker is lost after
// its fence may have been sent, so nobody sends it soon.
//
// The window is as long as the server needs for the fences of the herd, so that they are not late. It is no longer: a
// change of a job that has passed its fence waits for its lease to be over if the worker does not answer; see
// [Runner.Release].
const (
	leastFenceTime = 2500 * time.Microsecond // per attempt held for the same due time
	usualFenceTime = 4 * time.Millisecond    // of a large herd, before any has been measured
	mostFenceTime  = 8 * time.Millisecond
	smallHerd      = 400 // attempts that take the least time

	maxWindow = 30 * time.Second
	// of attempts that no other follows: those that have passed their fence are lost with their worker.
	maxWindowOnce = 6 * time.Second

	leastMargin = 50 * time.Millisecond
	marginTime  = 5 * time.Millisecond // per attempt held for the same due time
	mostMargin  = 300 * time.Millisecond

	// fencePlaces is how many fences of a process are under way at most. The server would answer more of them no sooner,
	// and one that is answered when its lease or the time limit of the call is over is asked for again.
	fencePlaces = 128

	// mostOverrun limits what outlast allows for, so that whoever takes a lost attempt over does so within takeUpLimit.
	mostOverrun = takeUpLimit - MaxHeldLoss
	// outlastAhead is when outlast looks at a herd: all of its jobs have been dispatched by then; see
	// workflows/plan/lead.go.
	outlastAhead = 40 * time.Second
)

// fenceSpread returns how long before the due time the first and the last fence of a herd are passed. together is the
// number of attempts that are held for that time, each the time that a fence of a large herd takes.
func fenceSpread(together int, each, most time.Duration) (first, last time.Duration) {
	last = min(mostMargin, leastMargin+time.Duration(together)*marginTime)
	return last + min(most, herdTime(together, each)), last
}

// herdTime returns how long the server takes for the fences of a herd, given the time for one of a large herd.
func herdTime(together int, each time.Duration) time.Duration {
	n, small := time.Duration(together), time.Duration(min(together, smallHerd))
	return small*leastFenceTime + (n-small)*each
}

// fenceWindow returns the longest window for the fences of actions with so many attempts.
func fenceWindow(attempts int) time.Duration {
	if attempts == 1 {
		return maxWindowOnce
	}
	return maxWindow
}

// overrun returns how long after its due time an attempt passes its fence at the earliest, if the fences of its herd take
// longer than the window, at most mostOverrun; 0 if they do not. spread is the position of its fence.
func overrun(together int, each, most time.Duration, spread float64) time.Duration {
	all := herdTime(together, each)
	if all <= most {
		return 0
	}
	return max(0, min(time.Duration((1-spread)*float64(all))-most-mostMargin, mostOverrun))
}

// awaitFence waits until the attempt's time to pass the fence. A herd may grow until the last of the windows begins. If
// it is smaller than the one before, by which the loss time was chosen, its fences are as early before that as they were.
func (r *Runner) awaitFence(ctx context.Context, in *Input, h *heldAttempt, c *lossClock) error {
	if h == nil {
		return nil
	}
	if err := r.outlast(ctx, in, h, c); err != nil {
		return err
	}
	windows := []time.Duration{maxWindow, maxWindowOnce}
	if h.window == maxWindowOnce {
		windows = windows[1:]
	}
	for _, window := range windows {
		if err := r.waitUntil(ctx, in.Execution.Begin().Add(-mostMargin-window)); err != nil {
			return err
		}
		first, last := fenceSpread(r.holds.size(h), r.pace.time(), h.window)
		ahead := max(last+time.Duration(h.spread*float64(first-last)), r.Clock.Until(in.Execution.Begin())-c.until(fenceToLoss))
		if ahead > mostMargin+maxWindowOnce || window == maxWindowOnce {
			return r.waitUntil(ctx, in.Execution.Begin().Add(-ahead))
		}
	}
	return nil
}

// outlast sees to it that an attempt does not count as lost before its turn comes to pass the fence, if its herd is too
// large for the window: thousands that are lost and made again would take the time that the fences of the others need.
// It does so before the window begins, as fast as the server would take the fences.
func (r *Runner) outlast(ctx context.Context, in *Input, h *heldAttempt, c *lossClock) error {
	due := in.Execution.Begin()
	if err := r.waitUntil(ctx, due.Add(-outlastAhead)); err != nil {
		return err
	}
	late := func() time.Duration { return overrun(r.holds.size(h), r.pace.time(), h.window, h.spread) }
	if late() == 0 {
		return nil
	}
	ahead := mostMargin + h.window + time.Duration(h.spread*float64(herdTime(r.holds.size(h), r.pace.time())))
	if err := r.waitUntil(ctx, due.Add(-min(ahead, outlastAhead))); err != nil {
		return err
	}
	lost := r.Clock.Until(due) + late() + MaxHeldLoss
	if c.timeout == 0 || c.until(0) >= lost {
		return nil
	}
	if timeout := time.Since(c.heard) + lost; r.setLoss(ctx, timeout) == nil {
		c.timeout = timeout
	}
	return nil
}

// enterFence waits for one of the places of fences under way, unless the attempt is lost before; a zero time is never.
// The caller calls leave. An error says why nothing is sent.
func (r *Runner) enterFence(ctx context.Context, lost time.Time) (leave func(), err error) {
	var timeout <-chan time.Time
	if !lost.IsZero() {
		if time.Now().After(lost) {
			return nil, errNoFence
		}
		timer := time.NewTimer(time.Until(lost))
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case r.pace.enter() <- struct{}{}:
		return func() { <-r.pace.enter() }, nil
	case <-timeout:
		return nil, errNoFence
	case <-activity.GetWorkerStopChannel(ctx):
		return nil, errStopping
	case <-ctx.Done():
		return nil, errWithdrawn
	}
}

const (
	// busyFences is the number of fences of a process under way from which on the server is busy with them, so that the
	// time that one takes follows from how long they take together.
	busyFences = 8

	// Each fence counts as much as this part of the time so far. One that the server answers while it is not busy
	// shortens the time: it could take more.
	fenceWeight = 32
	idleWeight  = 8192
)

// A pace measures how long the server takes for a fence while it has many. The zero value is ready for use.
type pace struct {
	once   sync.Once
	places chan struct{}

	mu   sync.Mutex
	open int           // fences under way
	each time.Duration // 0: none was measured
}

// enter returns the channel that has room for fencePlaces fences.
func (p *pace) enter() chan struct{} {
	p.once.Do(func() { p.places = make(chan struct{}, fencePlaces) })
	return p.places
}

// time returns the time per fence of a large herd.
func (p *pace) time() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current()
}

func (p *pace) current() time.Duration {
	if p.each == 0 {
		return usualFenceTime
	}
	return p.each
}

// begin notes that a fence is under way, until passed is called.
func (p *pace) begin() (passed func(error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open++
	begin, before := time.Now(), p.open
	return func(err error) {
		took := time.Since(begin)
		p.mu.Lock()
		defer p.mu.Unlock()
		together := max(before, p.open)
		p.open--
		each := p.current()
		switch {
		case err != nil: // how long it would have taken is not known
			return
		case together >= busyFences:
			each += (took/time.Duration(together) - each) / fenceWeight
		default:
			each -= each / idleWeight
		}
		p.each = min(max(each, leastFenceTime), mostFenceTime)
	}
}
