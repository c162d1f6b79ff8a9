package activities

import (
	"context"
	"time"

	"almanac/job"
)

// OccupyPlaces makes sends wait until free is called.
func (r *Runner) OccupyPlaces() (free func()) {
	end := r.pace.begin(func() {})
	end() // creates the places
	for range cap(r.pace.places) {
		r.pace.places <- struct{}{}
	}
	return func() {
		for range cap(r.pace.places) {
			<-r.pace.places
		}
	}
}

// OccupyHost counts a request to the action's host until free is called.
func (r *Runner) OccupyHost(a *job.Action) (free func()) {
	free, _ = r.hosts.enter(context.Background(), hostKey(a), r.PerHost) // waits without limit
	return free
}

// HostIsFull reports whether the action's host has reached its limit.
func (r *Runner) HostIsFull(a *job.Action) bool { return r.hosts.full(hostKey(a), r.PerHost) }

// A TestLease is a lease for a test.
type TestLease struct{ lease lease }

// WithTestLease returns a context for a request that may begin within length from now.
func WithTestLease(ctx context.Context, length time.Duration) (context.Context, *TestLease) {
	l := &TestLease{lease{start: time.Now(), length: length}}
	return withLease(ctx, &l.lease), l
}

// Used reports whether sending began.
func (l *TestLease) Used() bool { return l.lease.used.Load() }

// Refused reports whether sending was refused since the lease was over.
func (l *TestLease) Refused() bool { return l.lease.refused.Load() }
