package activities

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"almanac/job"
)

// An outcome is how one attempt ended.
type outcome struct {
	start, end time.Time
	message    string
	err        error // the sender's
	unsent     error // why nothing was sent, if nothing was; the members above mean nothing then
	hostFull   bool  // its host was full, and no fence was passed: the server can have it made later
}

// outcomesKept is how long an outcome is kept for an attempt that takes over: much
// longer than the server takes to detect a lost attempt, for if it takes one that
// was completed for lost, it is busy.
const outcomesKept = time.Minute

// outcomes are the attempts of this process that are being made or ended lately.
//
// The server takes an attempt for lost if it does not hear of it in time, and has
// another one made. If only the server was slow, or could not write, and this
// process made that attempt itself, its outcome is known: the receiver does not see
// the request twice. The zero value holds none.
type outcomes struct {
	mu    sync.Mutex
	known map[outcomeKey]*pendingOutcome
	ended []*pendingOutcome // oldest first
	since time.Time         // when the server became reachable again
	down  bool              // the server does not answer; nothing is forgotten meanwhile
}

// An outcomeKey names an attempt. Several may be made for one number, by several
// processes, of which at most one is sent.
type outcomeKey struct {
	execution string
	action    job.ActionName
	number    int
}

type pendingOutcome struct {
	key  outcomeKey
	at   time.Time     // when it ended
	over chan struct{} // closed when outcome is set
	*outcome
}

// begin notes that an attempt is being made, until finish is called with how it ended.
func (o *outcomes) begin(key outcomeKey) (finish func(*outcome)) {
	p := &pendingOutcome{key: key, over: make(chan struct{})}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.known == nil {
		o.known = map[outcomeKey]*pendingOutcome{}
	}
	o.known[key] = p
	return func(result *outcome) {
		p.outcome, p.at = result, time.Now()
		close(p.over)
		o.mu.Lock()
		defer o.mu.Unlock()
		o.forget(p.at)
		switch {
		case o.known[key] != p:
		case result.unsent != nil:
			delete(o.known, key)
		default:
			o.ended = append(o.ended, p)
		}
	}
}

// forget drops what ended long ago. The lock is held.
func (o *outcomes) forget(now time.Time) {
	if o.down || now.Sub(o.since) <= outcomesKept {
		return
	}
	for len(o.ended) > 0 && now.Sub(o.ended[0].at) > outcomesKept {
		delete(o.known, o.ended[0].key)
		o.ended = o.ended[1:]
	}
}

// unreachable notes whether the server did not answer a heartbeat, or did.
func (o *outcomes) unreachable(down bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.down && !down {
		o.since = time.Now()
	}
	o.down = down
}

// await returns how an attempt of this process ended, once it has; nil if there
// is none that was sent, or the worker stops before. That this process sent nothing does
// not say that no other did.
func (o *outcomes) await(ctx context.Context, key outcomeKey) *outcome {
	o.mu.Lock()
	p := o.known[key]
	o.mu.Unlock()
	if p == nil {
		return nil
	}
	select {
	case <-p.over:
	case <-activity.GetWorkerStopChannel(ctx):
		return nil
	}
	if p.unsent != nil {
		return nil
	}
	return p.outcome
}
