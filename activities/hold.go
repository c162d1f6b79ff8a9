package activities

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"almanac/job"
)

// TypeRecall is the name of the local activity type that [Runner.Recall] is
// registered under.
const TypeRecall = "Recall"

// The types of the application errors of an attempt that ended while it was
// held: nothing was sent.
const (
	ErrTypeRecalled = "Recalled" // since the job was changed
	ErrTypeReleased = "Released" // since its worker stops, or lost touch with the server: another one is to take over
)

const (
	// announceAhead is how long before the due time the server is told of an
	// attempt that is not to be repeated.
	announceAhead = 250 * time.Millisecond

	// recallPause is how often a recalled attempt asks whether the server knows.
	recallPause = 100 * time.Millisecond

	// recallTimeout is how long after a recall the workflow task that asked for
	// it may still be going on. If nothing has come of it by then, nothing will.
	recallTimeout = 30 * time.Second
)

// hold waits until the execution is due by this machine's clock. An error ends
// the attempt, of which nothing is sent. Of what was due already, and of what goes
// on although it was recalled, nobody waits for the hold, which is nil.
func (r *Runner) hold(ctx context.Context, in *Input, earlier []job.Attempt) (*hold, error) {
	due := in.Execution.Due
	for time.Now().Before(due) {
		h := r.holds.enter(in.Execution.ID, due)
		err := h.wait(ctx, due.Add(-announceAhead))
		if err == nil {
			err = r.announce(ctx, in, earlier)
		}
		if err == nil {
			err = h.wait(ctx, due)
		}
		switch left := r.holds.leave(in.Execution.ID, h); {
		case left && err == nil:
			return h, nil
		case left:
			r.holds.sent(h)
			return nil, err
		}
		if err := giveWay(ctx, earlier); err != nil {
			return nil, err
		}
	}
	return nil, r.announce(ctx, in, earlier)
}

// Unsent reports whether an activity with that input, which ended with that
// error, is known not to have sent anything: because it was held, or because its
// worker was killed before it announced an attempt that is not to be repeated.
func Unsent(in *Input, err error) bool {
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return failed.Type() == ErrTypeRecalled || failed.Type() == ErrTypeReleased
	}
	_, sending, lost := Lost(err)
	return lost && in.MaxAttempts == 1 && !sending
}

// Lost reports whether an activity ended with that error because its worker was
// not heard of any more. It returns the records of the attempts that are known,
// and whether the one that was lost is known to have been sent, or about to be.
func Lost(err error) (attempts []job.Attempt, sending, lost bool) {
	timeout, ok := errors.AsType[*temporal.TimeoutError](err)
	if !ok || timeout.TimeoutType() != enums.TIMEOUT_TYPE_HEARTBEAT {
		return nil, false, false
	}
	if timeout.HasLastHeartbeatDetails() {
		_ = timeout.LastHeartbeatDetails(&attempts, &sending) // of what cannot be read, nothing is known
	}
	return attempts, sending, true
}

// announce tells the server that an attempt is about to be sent which must not
// be sent twice. If the worker is killed before, another one knows that it may.
func (r *Runner) announce(ctx context.Context, in *Input, earlier []job.Attempt) error {
	if in.MaxAttempts > 1 || activity.GetInfo(ctx).HeartbeatTimeout == 0 {
		return nil
	}
	err := heartbeat(ctx, earlier, true)
	switch {
	case isWithdrawn(err):
		return errRecalled()
	case err != nil:
		return errReleased("the server could not be told that it is about to be sent; nothing was sent")
	}
	return nil
}

// giveWay ends a recalled attempt as soon as the server knows that it is
// cancelled. It returns nil, and the attempt goes on, where nothing came of the
// recall since a worker, or the server, was killed: then whoever asked for the
// change has no answer, and the occurrence must not be lost.
func giveWay(ctx context.Context, earlier []job.Attempt) error {
	deadline := time.After(recallTimeout)
	for {
		select {
		case <-ctx.Done():
			return errRecalled()
		case <-deadline:
			return nil
		case <-time.After(recallPause):
			if isWithdrawn(heartbeat(ctx, earlier, false)) {
				return errRecalled()
			}
		}
	}
}

// heartbeat tells the server at once how far the attempt is: the records of
// those before it, and whether something may have been sent.
func heartbeat(ctx context.Context, earlier []job.Attempt, sending bool) error {
	return activity.GetClient(ctx).RecordActivityHeartbeat(ctx, activity.GetInfo(ctx).TaskToken, earlier, sending)
}

// isWithdrawn reports whether a heartbeat's answer is that the activity is
// cancelled, or not there any more.
func isWithdrawn(err error) bool {
	_, missing := errors.AsType[*serviceerror.NotFound](err)
	return missing || temporal.IsCanceledError(err)
}

func errRecalled() error {
	return temporal.NewApplicationErrorWithOptions("the job was changed before it was due; nothing was sent", ErrTypeRecalled,
		temporal.ApplicationErrorOptions{NonRetryable: true, Category: temporal.ApplicationErrorCategoryBenign})
}

func errReleased(why string) error {
	return temporal.NewApplicationErrorWithOptions(why, ErrTypeReleased,
		temporal.ApplicationErrorOptions{NonRetryable: true, Category: temporal.ApplicationErrorCategoryBenign})
}

// Recall takes back the attempts of executions that this process holds, and
// returns the indexes of those of which it held one: they are not sent, provided
// that the workflow goes on to cancel them.
func (r *Runner) Recall(_ context.Context, ids []string) ([]int, error) {
	recalled := []int{}
	for i, id := range ids {
		if r.holds.recall(id) {
			recalled = append(recalled, i)
		}
	}
	return recalled, nil
}

// A hold is an attempt that is ready and waits until it is due.
type hold struct {
	cohort   *cohort
	recalled chan struct{}
}

// A cohort is what is held for one due time.
type cohort struct {
	due  int64         // Unix time in seconds
	open int           // those that are neither on their way nor recalled
	gone chan struct{} // closed when none is open any more
}

// yieldAtMost bounds how long an attempt that has ended lets others go first.
const yieldAtMost = time.Second

// yield waits until the others of a cohort are on their way. To report what an
// attempt came to costs more than to send it: reported at once, the first ones
// would delay the last.
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

// clockInterval is how often a hold looks at the clock, which may be set, or go on
// while the machine is suspended.
const clockInterval = 5 * time.Second

// wait waits until an instant, or until the hold ends, which its error tells.
func (h *hold) wait(ctx context.Context, until time.Time) error {
	for wait := time.Until(until); wait > 0; wait = time.Until(until) {
		select {
		case <-time.After(min(wait, clockInterval)):
		case <-h.recalled:
			return errRecalled()
		case <-ctx.Done():
			return errRecalled()
		case <-activity.GetWorkerStopChannel(ctx):
			return errReleased("the worker stopped before it was due; nothing was sent")
		}
	}
	return nil
}

// holds are what a process holds. The zero value holds nothing.
type holds struct {
	mu      sync.Mutex
	held    map[string][]*hold // by the execution's id
	cohorts map[int64]*cohort
	tidied  time.Time // when garbage is collected next, or was last
	collect func()    // nil: runtime.GC
}

func (h *holds) enter(id string, due time.Time) *hold {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held == nil {
		h.held, h.cohorts = map[string][]*hold{}, map[int64]*cohort{}
	}
	together := h.cohorts[due.Unix()]
	if together == nil {
		together = &cohort{due: due.Unix(), gone: make(chan struct{})}
		h.cohorts[together.due] = together
	}
	if together.open++; together.open == crowd {
		h.tidyBefore(due)
	}
	one := &hold{cohort: together, recalled: make(chan struct{})}
	h.held[id] = append(h.held[id], one)
	return one
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

// count returns how many executions are held.
func (h *holds) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.held)
}

// leave ends a hold. It reports whether that was still there, and not recalled.
// Its cohort waits for it until it is sent.
func (h *holds) leave(id string, one *hold) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.Index(h.held[id], one)
	if i < 0 {
		return false
	}
	if h.held[id] = slices.Delete(h.held[id], i, i+1); len(h.held[id]) == 0 {
		delete(h.held, id)
	}
	return true
}

// sent has the others of a hold's cohort not wait for it any more.
func (h *holds) sent(one *hold) {
	if one == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.left(one)
}

// recall ends all holds of an execution, and reports whether there was any.
func (h *holds) recall(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.held[id]
	delete(h.held, id)
	for _, one := range all {
		close(one.recalled)
		h.left(one)
	}
	return len(all) > 0
}

// left notes that a cohort need not wait for a hold. The lock is held.
func (h *holds) left(one *hold) {
	if one.cohort.open--; one.cohort.open == 0 {
		close(one.cohort.gone)
		delete(h.cohorts, one.cohort.due)
	}
}
