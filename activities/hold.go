package activities

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"runtime"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
)

// A heldAttempt is an attempt that waits for its due time; nil if it was due already.
type heldAttempt struct {
	cohort *cohort
	spread float64       // position of its fence among its cohort's, in [0, 1): the last one is 0. It follows from its job
	window time.Duration // the longest for the fences of its kind; see fenceWindow
}

// A cohort is the attempts held for one due time.
type cohort struct {
	due  int64         // Unix time in seconds
	size int           // attempts ever held
	open int           // attempts not yet sent
	gone chan struct{} // closed when open reaches 0
}

// leastYield and mostYield limit the longest time that an ended attempt yields, which grows while the server is slow.
const (
	leastYield = time.Second
	mostYield  = 5 * time.Second
)

// yield waits until the others of the cohort are sent, or for most. Reporting an outcome costs more than sending, so
// the first reports would otherwise delay the last requests.
func (h *heldAttempt) yield(ctx context.Context, most time.Duration) {
	if h == nil {
		return
	}
	select {
	case <-h.cohort.gone:
	case <-time.After(most):
	case <-ctx.Done():
	}
}

// clockInterval is how often a wait checks the clock, which may be set, or advance while the machine is
// suspended.
const clockInterval = 5 * time.Second

// waitUntil waits until a time by the clock for due times. An error says why the attempt is no longer
// wanted.
func (r *Runner) waitUntil(ctx context.Context, until time.Time) error {
	for wait := r.Clock.Until(until); wait > 0; wait = r.Clock.Until(until) {
		if err := r.wait(ctx, time.Now().Add(min(wait, clockInterval))); err != nil {
			return err
		}
	}
	return nil
}

// wait waits until a time by this machine's clock, with the errors of waitUntil.
func (r *Runner) wait(ctx context.Context, until time.Time) error {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-activity.GetWorkerStopChannel(ctx):
		return errStopping
	case <-ctx.Done():
		return errWithdrawn
	}
}

// holds are the attempts that a process holds. The zero value is ready for use.
type holds struct {
	mu      sync.Mutex
	held    int // attempts not yet sent
	cohorts map[int64]*cohort
	tidied  time.Time // time of the last or the next garbage collection
	collect func()    // nil: runtime.GC
}

// enter records a held attempt of a job.
func (h *holds) enter(job string, due time.Time, remaining, window time.Duration) *heldAttempt {
	hash := sha256.Sum256([]byte(job))
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cohorts == nil {
		h.cohorts = map[int64]*cohort{}
	}
	together := h.cohorts[due.Unix()]
	if together == nil {
		together = &cohort{due: due.Unix(), gone: make(chan struct{})}
		h.cohorts[together.due] = together
	}
	h.held++
	together.open++
	if together.size++; together.size == crowd {
		h.tidyBefore(time.Now().Add(remaining))
	}
	return &heldAttempt{cohort: together, spread: float64(binary.BigEndian.Uint32(hash[:])) / (1 << 32), window: window}
}

const (
	// crowd is the cohort size from which garbage is collected ahead.
	crowd = 256

	// tidyAhead is how long before the due time garbage is collected, which takes some hundred
	// milliseconds. Less than tidyTooLate before, it is left out.
	tidyAhead   = 1500 * time.Millisecond
	tidyTooLate = 500 * time.Millisecond

	// tidyPause is the shortest time between two such collections.
	tidyPause = 10 * time.Second
)

// tidyBefore schedules a garbage collection before a large cohort is sent. Sending allocates so much
// that a collection would often start during it and delay some requests. h.mu is held.
func (h *holds) tidyBefore(due time.Time) {
	at := due.Add(-tidyAhead)
	if time.Until(due) < tidyTooLate || at.Sub(h.tidied).Abs() < tidyPause {
		return
	}
	h.tidied = at
	collect := h.collect
	if collect == nil {
		collect = runtime.GC
	}
	time.AfterFunc(time.Until(at), collect)
}

func (h *holds) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.held
}

// size returns how many attempts were ever held for the due time of one; 0 if it was not held.
func (h *holds) size(one *heldAttempt) int {
	if one == nil {
		return 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return one.cohort.size
}

// sent records that an attempt is no longer held, so that its cohort does not wait for it.
func (h *holds) sent(one *heldAttempt) {
	if one == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held--
	if one.cohort.open--; one.cohort.open == 0 {
		close(one.cohort.gone)
		delete(h.cohorts, one.cohort.due)
	}
}
