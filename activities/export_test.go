package activities

import (
	"context"
	"time"

	"almanac/job"
)

// OccupyPlaces has sends wait for their turn, until free is called.
func (r *Runner) OccupyPlaces() (free func()) {
	end := r.pace.begin(func() {})
	end() // the places are made now
	for range cap(r.pace.places) {
		r.pace.places <- struct{}{}
	}
	return func() {
		for range cap(r.pace.places) {
			<-r.pace.places
		}
	}
}

// OccupyHost counts a request to where an action goes, until free is called.
func (r *Runner) OccupyHost(a *job.Action) (free func()) {
	free, _ = r.hosts.enter(context.Background(), hostKey(a), r.PerHost) // which waits as long as it takes
	return free
}

// HostIsFull reports whether where an action goes has as many requests as it may have.
func (r *Runner) HostIsFull(a *job.Action) bool { return r.hosts.full(hostKey(a), r.PerHost) }

// A TestLease is a lease for one test.
type TestLease struct{ lease lease }

// WithTestLease returns a context for a request that may begin within that time from now.
func WithTestLease(ctx context.Context, length time.Duration) (context.Context, *TestLease) {
	l := &TestLease{lease{start: time.Now(), length: length}}
	return withLease(ctx, &l.lease), l
}

// Used reports whether sending began.
func (l *TestLease) Used() bool { return l.lease.used.Load() }

// Refused reports whether sending was to begin too late.
func (l *TestLease) Refused() bool { return l.lease.refused.Load() }
