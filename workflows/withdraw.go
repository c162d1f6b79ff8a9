package workflows

import (
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/activities"
)

// A change of a job withdraws its executions before it is applied. Each is
// cancelled, so that no attempt of it passes its fence any more (see
// [activities.Progress]), and then the server is asked what passed before. An
// execution that passed none is returned to the plan, whether or not its worker
// still exists; one that did is an attempt and ends as it ends.

const (
	// lookInterval is how often the server is asked again what became of an
	// execution that it does not show any more, or not yet as cancelled.
	lookInterval = 200 * time.Millisecond

	// An execution whose next attempt begins within nextMargin is not cancelled before that
	// is seen to have passed its fence, or the server was asked maxLooks times. One that a
	// worker has had for overdue, and sent nothing, most likely lost it, for its host need
	// not be awaited any more; from takenOver on another worker might be given it before its
	// cancellation is recorded.
	nextMargin = 500 * time.Millisecond
	overdue    = activities.HostWait + 250*time.Millisecond
	takenOver  = activities.HeldLossTimeout - 500*time.Millisecond
	maxLooks   = 10
)

// withdraw sees to it that nothing more is sent for the executions that are
// running. When it returns, that is certain: what was not sent is back in the plan,
// and no lease of what may have been sent is left.
func (j *jobLoop) withdraw(ctx workflow.Context) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	for looks := 0; looks < maxLooks && j.mayBegin(ctx); looks++ {
		_ = workflow.Sleep(ctx, lookInterval) // the context is never cancelled
	}
	for _, e := range j.running {
		if e.phase < withdrawing {
			e.phase = withdrawing
			e.cancel()
		}
	}
	for j.settling() {
		again := j.settle(ctx)
		if !j.settling() {
			return
		}
		_, _ = workflow.AwaitWithTimeout(ctx, again.Sub(workflow.Now(ctx)), func() bool { return !j.settling() }) // the context is never cancelled
	}
}

// mayBegin reports whether an attempt of an execution that is due may begin, and end,
// before the execution is cancelled. The server would forget it, and nobody know of it.
func (j *jobLoop) mayBegin(ctx workflow.Context) (may bool) {
	due := func(e *execution) bool { return e.phase < withdrawing && !e.Due.After(workflow.Now(ctx)) }
	if j.deleted || !slices.ContainsFunc(j.running, due) {
		return false
	}
	for _, p := range j.look(ctx) {
		for _, e := range j.running {
			if now := workflow.Now(ctx); e.activity == p.Activity && due(e) && !p.Sent && !p.Next.After(now.Add(e.margin())) {
				late := now.Sub(later(e.Due, p.Began))
				e.inFlight = p.Held && !e.attempts && late >= overdue && late < takenOver
				may = may || !e.inFlight
			}
		}
	}
	return may
}

// margin returns how long before its next attempt an execution can be cancelled. One of
// which nothing was sent is to be known as such afterwards: see [execution.knownUnsent].
func (e *execution) margin() time.Duration {
	if e.attempts {
		return nextMargin
	}
	return nextMargin + activities.ServerSkew
}

// settling reports whether it is being found out what became of an execution.
func (j *jobLoop) settling() bool {
	return slices.ContainsFunc(j.running, func(e *execution) bool { return e.phase == withdrawing })
}

// settle asks the server what became of the executions that were cancelled. It
// returns when to ask again about those of which that is not certain yet.
func (j *jobLoop) settle(ctx workflow.Context) (again time.Time) {
	pending := j.look(ctx)
	now := workflow.Now(ctx)
	again = now.Add(lookInterval)
	for _, e := range slices.Backward(slices.Clone(j.running)) {
		i := slices.IndexFunc(pending, func(p activities.Pending) bool { return p.Activity == e.activity })
		switch {
		case e.phase != withdrawing:
		case i < 0 || !pending[i].Cancelled: // it has ended, of which a task tells soon; or the answer is older than the cancellation
		case !pending[i].Sent && !e.attempts:
			j.putBack(ctx, e)
		case !pending[i].Sent:
			e.phase = withdrawn
		case pending[i].Until.Add(activities.ServerSkew).After(now):
			again = pending[i].Until.Add(activities.ServerSkew)
		default:
			e.phase = withdrawn
		}
	}
	return again
}

// look asks the server how far the executions have come, and notes of which an
// attempt was sent.
func (j *jobLoop) look(ctx workflow.Context) []activities.Pending {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 2 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond, MaximumInterval: 2 * time.Second},
		Summary:             "what was sent",
	})
	var pending []activities.Pending
	for {
		err := workflow.ExecuteActivity(ctx, activities.TypePending).Get(ctx, &pending)
		if err == nil {
			break
		}
		workflow.GetLogger(ctx).Warn("what was sent could not be found out, and is asked again", "job", j.Key.ARMID(), "error", err)
		_ = workflow.Sleep(ctx, time.Second)
	}
	for _, p := range pending {
		j.failures = j.failures || len(p.Attempts) > 0
		for _, e := range j.running {
			if e.activity != p.Activity {
				continue
			}
			e.attempts, e.inFlight, e.rests = e.attempts || len(p.Attempts) > 0, p.Sent, time.Time{}
			if !p.Sent && !e.attempts {
				e.rests = p.Next
			}
			if e.phase == dispatched && (p.Sent || e.attempts) {
				e.phase = sent
			}
		}
	}
	return pending
}
