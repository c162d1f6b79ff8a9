package activities

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"almanac/internal/telemetry"
	"almanac/job"
)

// An outcome is the result of one attempt.
type outcome struct {
	start, end time.Time
	began      time.Time     // start, by this machine's clock
	beginning  job.Beginning // of the first attempt
	message    string
	err        error        // the sender's
	unsent     error        // why nothing was sent; if set, the fields above are undefined
	hostFull   bool         // the host was at its limit and no fence was passed, so the server can retry it
	lost       bool         // whether a request was sent is not known; err is nil then
	held       *heldAttempt // nil if it was not held
	observed   *telemetry.Observed
}

// outcomesKept is how long an outcome is kept, from when it is reported, for an attempt that takes over. It
// is much longer than the server takes to detect a lost attempt, since a server that lost a completed
// attempt is busy.
const outcomesKept = time.Minute

// outcomes are the attempts of this process that are being made or ended recently.
//
// The server has a lost attempt made again. If the attempt was not lost, but the server was slow or
// could not write, and it comes back to the process that made it, the known outcome is reported and the
// receiver gets no duplicate. The zero value is ready for use.
type outcomes struct {
	mu    sync.Mutex
	known map[outcomeKey]*pendingOutcome
	ended []*pendingOutcome // reported ones, oldest first
	since time.Time         // when the server became reachable again
	down  bool              // the server does not answer; nothing is forgotten meanwhile
}

// An outcomeKey identifies an attempt. Several processes may make one of the same number; at most one
// of them is sent.
type outcomeKey struct {
	execution string
	action    job.ActionName
	number    int
}

// outcomeKey returns the key of the attempt that follows those recorded.
func (in *Input) outcomeKey(recorded []job.Attempt) outcomeKey {
	return outcomeKey{in.Execution.ID, in.Execution.ActionName, in.SentBefore + len(recorded) + 1}
}

type pendingOutcome struct {
	key  outcomeKey
	at   time.Time     // when it was first reported; zero: not yet
	over chan struct{} // closed when outcome is set
	*outcome
}

// begin records an attempt that is being made. finish records its outcome.
func (o *outcomes) begin(key outcomeKey) (finish func(*outcome)) {
	p := &pendingOutcome{key: key, over: make(chan struct{})}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.known == nil {
		o.known = map[outcomeKey]*pendingOutcome{}
	}
	o.known[key] = p
	return func(result *outcome) {
		o.mu.Lock()
		defer o.mu.Unlock()
		p.outcome = result
		close(p.over)
		if result.unsent != nil && o.known[key] == p {
			delete(o.known, key)
		}
	}
}

// reported records that an outcome is reported. Until then it is kept.
func (o *outcomes) reported(key outcomeKey, result *outcome) {
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.forget(now)
	if p := o.known[key]; p != nil && p.outcome == result && p.at.IsZero() {
		p.at = now
		o.ended = append(o.ended, p)
	}
}

// forget removes outcomes that were reported more than outcomesKept ago. o.mu is held.
func (o *outcomes) forget(now time.Time) {
	if o.down || now.Sub(o.since) <= outcomesKept {
		return
	}
	for len(o.ended) > 0 && now.Sub(o.ended[0].at) > outcomesKept {
		delete(o.known, o.ended[0].key)
		o.ended = o.ended[1:]
	}
}

// unreachable records whether the server failed to answer a heartbeat.
func (o *outcomes) unreachable(down bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.down && !down {
		o.since = time.Now()
	}
	o.down = down
}

// await waits for the outcome of an attempt of this process. It returns nil if there is none, if the
// attempt was not sent (another process may still have sent it), or if the worker stops.
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
