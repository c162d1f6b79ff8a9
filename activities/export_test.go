package activities

import (
	"context"
	"time"

	"almanac/job"
)

// OccupyPlaces makes sends wait until free is called.
func (r *Runner) OccupyPlaces() (free func()) {
	end := r.limiter.begin(func() {})
	end() // creates the places
	for range cap(r.limiter.places) {
		r.limiter.places <- struct{}{}
	}
	return func() {
		for range cap(r.limiter.places) {
			<-r.limiter.places
		}
	}
}

// OccupyHost counts a request to the action's host until free is called.
func (r *Runner) OccupyHost(a *job.Action) (free func()) {
	free, _ = r.hosts.Enter(context.Background(), hostKey(a), r.PerHost) // waits without limit
	return free
}

// HostIsFull reports whether the action's host has reached its limit.
func (r *Runner) HostIsFull(a *job.Action) bool { return r.hosts.Full(hostKey(a), r.PerHost) }

// For tests of the loss time.
const (
	Calm         = calm
	Large        = large
	BusyHeldLoss = busyHeldLoss
	FencePlaces  = fencePlaces
)

// SetFenceTime makes the runner expect that a fence of a large herd takes so long.
func (r *Runner) SetFenceTime(d time.Duration) { r.pace.each = d }

// HeldLoss is the loss time that a runner returns.
func (r *Runner) HeldLoss(together int, spread float64) time.Duration {
	return r.heldLoss(together, spread, maxWindow)
}

// HeldLossOf is the loss time of a quick server.
func HeldLossOf(together int, position float64) time.Duration {
	return new(Runner).heldLoss(together, position, maxWindow)
}

// ReleaseOnly releases the only attempt that the process has, if it has that number.
func (r *Runner) ReleaseOnly(attempt int32) bool {
	r.releases.mu.Lock()
	var key releaseKey
	for key = range r.releases.all {
	}
	r.releases.mu.Unlock()
	key.attempt = attempt
	return r.releases.release(key)
}
