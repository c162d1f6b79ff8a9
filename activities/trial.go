package activities

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"almanac/job"
)

// A trial is what an attempt came to.
type trial struct {
	start, end time.Time
	message    string
	err        error // the sender's
	unsent     error // why nothing was sent, if nothing was; the rest means nothing then
}

// try holds the execution until it is due, and has its action performed once.
//
// The server takes an attempt for lost that it does not hear of in time, and
// another one takes over. Where the server was only slow to listen, and this
// process made that attempt itself, what it came to is the outcome of the new
// one as well: the receiver is not to see it twice.
func (r *Runner) try(ctx context.Context, in *Input, earlier []job.Attempt) *trial {
	if activity.GetInfo(ctx).HeartbeatTimeout == 0 {
		return r.tryOnce(ctx, in, earlier)
	}
	number := in.Before + int(activity.GetInfo(ctx).Attempt)
	for n := in.Before; n <= number && activity.GetInfo(ctx).Attempt == 1; n++ { // the one that was lost may not have counted
		if t := r.trials.await(ctx, in, n, earlier); t != nil {
			return t
		}
	}
	finish := r.trials.begin(&in.Execution, number)
	t := r.tryOnce(ctx, in, earlier)
	finish(t)
	return t
}

func (r *Runner) tryOnce(ctx context.Context, in *Input, earlier []job.Attempt) *trial {
	h, err := r.hold(ctx, in, earlier)
	if err != nil {
		return &trial{unsent: err}
	}
	end := r.pace.begin(func() { r.holds.sent(h) })
	t := &trial{start: time.Now()}
	t.message, t.err = r.send(ctx, *in, earlier)
	t.end = t.start.Add(time.Since(t.start))
	end()
	h.yield(ctx)
	return t
}

// trialsKept is how long an outcome is kept for whoever takes over: much longer
// than the server takes to miss an attempt, for where it does, it is busy.
const trialsKept = time.Minute

// trials are the attempts that a process makes, or made lately. The zero value
// holds none.
type trials struct {
	mu    sync.Mutex
	known map[string]*pendingTrial
	ended []endedTrial // oldest first
}

type pendingTrial struct {
	over chan struct{} // closed when trial is set
	*trial
}

type endedTrial struct {
	key string
	at  time.Time
}

func trialKey(e *job.Execution, number int) string {
	return e.ID + " " + string(e.ActionName) + "#" + strconv.Itoa(number)
}

// begin notes that an attempt is being made, until finish is called with what
// it came to.
func (t *trials) begin(e *job.Execution, number int) (finish func(*trial)) {
	key, p := trialKey(e, number), &pendingTrial{over: make(chan struct{})}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil {
		t.known = map[string]*pendingTrial{}
	}
	t.known[key] = p
	return func(result *trial) {
		p.trial = result
		close(p.over)
		t.mu.Lock()
		defer t.mu.Unlock()
		now := time.Now()
		for len(t.ended) > 0 && now.Sub(t.ended[0].at) > trialsKept {
			delete(t.known, t.ended[0].key)
			t.ended = t.ended[1:]
		}
		if result.unsent != nil {
			delete(t.known, key)
			return
		}
		t.ended = append(t.ended, endedTrial{key, now})
	}
}

// await returns what an attempt of this process came to, once it has; nil where
// there is none that was sent.
func (t *trials) await(ctx context.Context, in *Input, number int, earlier []job.Attempt) *trial {
	t.mu.Lock()
	p := t.known[trialKey(&in.Execution, number)]
	t.mu.Unlock()
	if p == nil {
		return nil
	}
	waiting, end := context.WithCancel(ctx)
	defer end()
	go func() {
		if keepAlive(ctx, waiting, earlier, in.Execution.Due) {
			end()
		}
	}()
	select {
	case <-p.over:
	case <-waiting.Done():
		return &trial{unsent: errRecalled()}
	case <-activity.GetWorkerStopChannel(ctx):
		return &trial{unsent: errReleased("the worker stopped while it waited for an earlier attempt")}
	}
	if p.unsent != nil || errors.Is(p.err, errCancelled) { // it ended because the server had given it up
		return nil
	}
	return p.trial
}
