package activities

import (
	"context"
	"sync"

	"go.temporal.io/sdk/activity"
)

// A job can be changed after one of its attempts has passed its fence. The change is not answered before it is certain
// that the attempt is not sent later, which it is when its lease is over. So that the change need not wait for that, it
// asks the process that holds the attempt to release it: to give it up, unless it has begun to send it. A process that
// does not answer is not relied on; it may be frozen, and continue within the lease.

// TypeRelease is the activity type of [Runner.Release]. It is performed on [Runner.Queue] only.
const TypeRelease = "Release"

// ReleaseInput names an attempt of the workflow that asks.
type ReleaseInput struct {
	Activity string `json:"id"`
	Attempt  int32  `json:"attempt"` // as the server counts
}

// Release gives up an attempt that this process holds, and reports whether it did. Then its request was not sent, and
// never will be. It returns false if the process has begun to send it, or does not have it.
func (r *Runner) Release(ctx context.Context, in ReleaseInput) (bool, error) {
	return r.releases.release(releaseKey{activity.GetInfo(ctx).WorkflowExecution.RunID, in.Activity, in.Attempt}), nil
}

// A releaseKey identifies an attempt. Each attempt of an activity that the server makes has one of its own.
type releaseKey struct {
	run      string
	activity string
	attempt  int32
}

// releases are the attempts that a process has and has not ended. The zero value is ready for use.
type releases struct {
	mu  sync.Mutex
	all map[releaseKey]*releasable
}

// A releasable is an attempt that can be released until it begins to send.
type releasable struct {
	of       *releases
	key      releaseKey
	begun    bool // it is being sent
	released bool // for good
	giveUp   context.CancelFunc
}

// enter records an attempt. The context ends when it is released. The caller calls leave when nothing of it can be sent
// any more.
func (r *releases) enter(ctx context.Context) (context.Context, *releasable) {
	info := activity.GetInfo(ctx)
	ctx, cancel := context.WithCancel(ctx)
	one := &releasable{of: r, key: releaseKey{info.WorkflowExecution.RunID, info.ActivityID, info.Attempt}, giveUp: cancel}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[releaseKey]*releasable{}
	}
	r.all[one.key] = one
	return ctx, one
}

func (r *releases) release(key releaseKey) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.all[key]
	if one == nil || one.begun {
		return false
	}
	one.released = true
	one.giveUp()
	return true
}

// begin reports whether the attempt may be sent, which it then cannot be released from.
func (o *releasable) begin() bool {
	o.of.mu.Lock()
	defer o.of.mu.Unlock()
	o.begun = !o.released
	return o.begun
}

// notSent makes an attempt releasable again that began, but of which nothing was sent.
func (o *releasable) notSent() {
	o.of.mu.Lock()
	defer o.of.mu.Unlock()
	o.begun = false
}

func (o *releasable) leave() {
	o.of.mu.Lock()
	defer o.of.mu.Unlock()
	o.giveUp()
	if o.of.all[o.key] == o { // a server that crashed may hand out an attempt twice
		delete(o.of.all, o.key)
	}
}
