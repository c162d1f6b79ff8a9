package activities

import (
	"context"
	"sync"
	"time"
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
)

// fenceSpread returns how long before the due time the first and the last fence of a herd are passed. together is the
// number of attempts that are held for that time, each the time that a fence of a large herd takes.
func fenceSpread(together int, each, most time.Duration) (first, last time.Duration) {
	n, small := time.Duration(together), time.Duration(min(together, smallHerd))
	last = min(mostMargin, leastMargin+n*marginTime)
	return last + min(most, small*leastFenceTime+(n-small)*each), last
}

// awaitFence waits until the attempt's time to pass the fence. A herd may grow until the last of the windows begins. If
// it is smaller than the one before, by which the loss time was chosen, its fences are as early before that as they were.
func (r *Runner) awaitFence(ctx context.Context, in *Input, h *heldAttempt, c *lossClock) error {
	if h == nil {
		return nil
	}
	windows := []time.Duration{maxWindow, maxWindowOnce}
	if in.MaxAttempts == 1 {
		windows = windows[1:]
	}
	most := windows[0]
	for _, window := range windows {
		if err := r.waitUntil(ctx, in.Execution.Due.Add(-mostMargin-window)); err != nil {
			return err
		}
		first, last := fenceSpread(r.holds.size(h), r.pace.time(), most)
		ahead := max(last+time.Duration(h.spread*float64(first-last)), r.Clock.Until(in.Execution.Due)-c.until(fenceToLoss))
		if ahead > mostMargin+maxWindowOnce || window == maxWindowOnce {
			return r.waitUntil(ctx, in.Execution.Due.Add(-ahead))
		}
	}
	return nil
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
	mu   sync.Mutex
	open int           // fences under way
	each time.Duration // 0: none was measured
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
