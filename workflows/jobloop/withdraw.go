package jobloop

import (
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/activities"
	"almanac/activities/lookups"
)

// A change of a job first withdraws its executions. Each is cancelled, so that no later attempt passes
// its fence (see [activities.Progress]), and then the server is asked which fences were passed before.
// An execution that passed none returns to the plan, whether or not its worker still exists. One that
// passed its fence is an attempt, and runs to its end.

const (
	// lookInterval is the time between two lookups of an execution that the server does not yet show as
	// cancelled, or no longer shows.
	lookInterval = 200 * time.Millisecond

	// An execution whose next attempt begins within nextMargin is cancelled only after that attempt
	// passed its fence, or after maxLooks lookups. Exception: a worker that has had the attempt for
	// overdue without passing a fence most likely crashed (it waits at most HostWait for the host), so
	// it is not awaited. From takenOver on it is again, since the server may give the attempt to
	// another worker before the cancellation is recorded.
	nextMargin = 500 * time.Millisecond
	overdue    = activities.HostWait + 250*time.Millisecond
	takenOver  = activities.HeldLossTimeout - 500*time.Millisecond
	maxLooks   = 10
)

// withdraw ensures that nothing more is sent for the running executions. When it returns, those not
// sent are back in the plan, and the leases of those that may have been sent are over.
func (j *loop) withdraw(ctx workflow.Context) {
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

// mayBegin reports whether an attempt of a due execution may begin, and end, before the execution is
// cancelled. The server would forget the record of such an attempt.
func (j *loop) mayBegin(ctx workflow.Context) (may bool) {
	due := func(e *execution) bool { return e.phase < withdrawing && !e.Due.After(workflow.Now(ctx)) }
	if j.deleted || !slices.ContainsFunc(j.running, due) {
		return false
	}
	for _, p := range j.look(ctx) {
		for _, e := range j.running {
			if now := workflow.Now(ctx); e.activity == p.Activity && due(e) && !p.Sent && !p.Next.After(now.Add(e.margin())) {
				late := now.Sub(later(e.Due, p.Began))
				e.inFlight = p.Held && !e.Sent && late >= overdue && late < takenOver
				may = may || !e.inFlight
			}
		}
	}
	return may
}

// margin returns how long before its next attempt an execution can be cancelled. It is longer if
// nothing was sent, so that [execution.knownUnsent] still holds afterwards.
func (e *execution) margin() time.Duration {
	if e.Sent {
		return nextMargin
	}
	return nextMargin + lookups.ServerSkew
}

// settling reports whether the fate of a cancelled execution is still unknown.
func (j *loop) settling() bool {
	return slices.ContainsFunc(j.running, func(e *execution) bool { return e.phase == withdrawing })
}

// settle looks up the cancelled executions and moves each to returned or withdrawn. It returns when to
// look again if some are not settled yet.
func (j *loop) settle(ctx workflow.Context) (again time.Time) {
	pending := j.look(ctx)
	now := workflow.Now(ctx)
	again = now.Add(lookInterval)
	for _, e := range slices.Backward(slices.Clone(j.running)) {
		i := slices.IndexFunc(pending, func(p lookups.Pending) bool { return p.Activity == e.activity })
		switch {
		case e.phase != withdrawing:
		case i < 0 || !pending[i].Cancelled: // it has ended, which a task will report; or the answer precedes the cancellation
		case !pending[i].Sent && !e.Sent:
			j.putBack(ctx, e)
		case !pending[i].Sent:
			e.phase = withdrawn
		case pending[i].Until.Add(lookups.ServerSkew).After(now):
			again = pending[i].Until.Add(lookups.ServerSkew)
		default:
			e.phase = withdrawn
		}
	}
	return again
}

// look asks the server for the job's pending action activities, until it answers, and records which
// executions had an attempt sent.
func (j *loop) look(ctx workflow.Context) []lookups.Pending {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 2 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond, MaximumInterval: 2 * time.Second},
		Summary:             "what was sent",
	})
	var pending []lookups.Pending
	for {
		err := workflow.ExecuteActivity(ctx, lookups.TypePending).Get(ctx, &pending)
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
			e.Sent, e.inFlight, e.rests = e.Sent || len(p.Attempts) > 0, p.Sent, time.Time{}
			if !p.Sent && !e.Sent {
				e.rests = p.Next
			}
			if e.phase == dispatched && (p.Sent || e.Sent) {
				e.phase = sent
			}
		}
	}
	return pending
}
