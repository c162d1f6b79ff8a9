package activities

import (
	"context"
	"hash/fnv"
	"runtime"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
)

// HeldLossTimeout is how long after its due time the server may hear nothing of
// an attempt that is held before it takes the attempt for lost.
const HeldLossTimeout = 3 * time.Second

// Fences are spread over the time before the due time: those of a herd would
// otherwise queue up at the server. They end fenceMargin before it.
const (
	fenceMargin = 200 * time.Millisecond
	fenceTime   = 2500 * time.Microsecond // for each of those that are held for the same due time
	maxFences   = 6 * time.Second
)

// A hold is an attempt that is ready and waits until it is due; nil if it was
// due already.
type hold struct {
	cohort *cohort
	spread float64 // where among its cohort its fence comes, in [0, 1)
}

// A cohort is what is held for one due time.
type cohort struct {
	due  int64         // Unix time in seconds
	size int           // those that were ever held
	open int           // those that are not sent
	gone chan struct{} // closed when none is open any more
}

// awaitFence waits until it is time for the fence.
func (r *Runner) awaitFence(ctx context.Context, h *hold, due time.Time) error {
	if h == nil {
		return nil
	}
	if err := r.waitUntil(ctx, due.Add(-fenceMargin-maxFences)); err != nil {
		return err
	}
	spread := min(maxFences, time.Duration(r.holds.size(h))*fenceTime)
	return r.waitUntil(ctx, due.Add(-fenceMargin-time.Duration(h.spread*float64(spread))))
}

// yieldAtMost bounds how long an attempt that has ended lets others go first.
const yieldAtMost = time.Second

// yield waits until the others of a cohort are sent. To report an outcome costs
// more than to send: reported at once, the first ones would delay the last.
func (h *hold) yield(ctx context.Context) {
	if h == nil {
		return
	}
	select {
	case <-h.cohort.gone:
	case <-time.After(yieldAtMost):
	case <-ctx.Done():
	}
}

// clockInterval is how often a wait looks at the clock, which may be set, or go on
// while the machine is suspended.
const clockInterval = 5 * time.Second

// waitUntil waits until an instant by the clock that due times are judged by. An
// error says why the attempt is not wanted any more.
func (r *Runner) waitUntil(ctx context.Context, until time.Time) error {
	for wait := r.Clock.Until(until); wait > 0; wait = r.Clock.Until(until) {
		if err := r.wait(ctx, time.Now().Add(min(wait, clockInterval))); err != nil {
			return err
		}
	}
	return nil
}

// wait waits until an instant by this machine's clock.
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

// holds are what a process holds. The zero value holds nothing.
type holds struct {
	mu      sync.Mutex
	held    int // attempts that are not sent
	cohorts map[int64]*cohort
	tidied  time.Time // when garbage is collected next, or was last
	collect func()    // nil: runtime.GC
}

// enter notes an attempt that is held, until it is sent.
func (h *holds) enter(id string, due time.Time, remaining time.Duration) *hold {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(id))
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
	return &hold{cohort: together, spread: float64(hash.Sum32()) / (1 << 32)}
}

const (
	// crowd is how many that are held for one due time are many.
	crowd = 256

	// tidyAhead is how long before that the garbage is collected, which takes
	// some hundred milliseconds; too late is tidyTooLate before.
	tidyAhead   = 1500 * time.Millisecond
	tidyTooLate = 500 * time.Millisecond

	// tidyPause is for how long that serves others as well.
	tidyPause = 10 * time.Second
)

// tidyBefore has the garbage collected before many are sent at once. They allocate
// so much that a collection would often begin among them, and hold some of them
// up until it is done. The lock is held.
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

// count returns how many attempts are held.
func (h *holds) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.held
}

// size returns how many attempts are or were held for the due time of one.
func (h *holds) size(one *hold) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return one.cohort.size
}

// sent notes that an attempt is not held any more: the others of its cohort need not
// wait for it.
func (h *holds) sent(one *hold) {
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
