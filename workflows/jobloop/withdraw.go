package jobloop

import (
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/activities"
	"almanac/activities/lookups"
	"almanac/job"
	"almanac/workflows/jobloop/execution"
)

// A change of a job first withdraws its executions. Each is cancelled, so that no later attempt passes
// its fence (see [activities.Progress]), and then the server is asked which fences were passed before.
// An execution that passed none returns to the plan, whether or not its worker still exists. So does one that passed its fence
// early, if its worker releases it. Any other one that passed its fence is an attempt, and runs to its end.

const (
	// lookInterval is the time between two lookups of an execution that the server does not yet show as
	// cancelled, or no longer shows.
	lookInterval = 200 * time.Millisecond

	// An execution whose next attempt begins within its margin is cancelled after that attempt passed
	// its fence, or after maxLooks lookups. If a worker has the first attempt and has passed no fence, it
	// depends on how long the worker has had it since the due time:
	//
	//	time since then                       what withdraw does
	//	below presumedCrashedAfter            waits: the worker may still wait for the host, at most HostWait
	//	below its loss time - takeoverMargin  cancels: the worker probably crashed
	//	from then on                          waits: the server may give the attempt to another worker
	//	                                      before the cancellation is recorded
	//
	// With the least loss time it never cancels.
	presumedCrashedAfter = activities.HostWait + 250*time.Millisecond
	takeoverMargin       = 500 * time.Millisecond
	maxLooks             = 10
)

// withdraw ensures that nothing more is sent for the running executions, and for manual runs accepted
// before. When it returns, those not sent are back in the plan, and the leases of those that may have
// been sent are over.
func (j *loop) withdraw(ctx workflow.Context) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	for _, manual := range j.Deferred {
		j.noteCancelled(ctx, workflow.Now(ctx), manual.Repeat, "the job was changed before it was sent")
	}
	j.Deferred = nil
	for looks := 0; looks < maxLooks && j.attemptIsNear(ctx); looks++ {
		_ = workflow.Sleep(ctx, lookInterval) // the context is never cancelled
	}
	j.recall(ctx, func(*execution.Execution) bool { return true })
}

// recall cancels the running executions that which selects. When it returns, those not sent are back in the plan.
func (j *loop) recall(ctx workflow.Context, which func(*execution.Execution) bool) {
	for _, e := range j.running {
		if e.Phase < execution.Withdrawing && which(e) {
			e.Phase = execution.Withdrawing
			e.Cancel()
		}
	}
	for j.undecided() {
		again := j.resolveCancelled(ctx)
		if !j.undecided() {
			return
		}
		_, _ = workflow.AwaitWithTimeout(ctx, again.Sub(workflow.Now(ctx)), func() bool { return !j.undecided() }) // the context is never cancelled
	}
}

// attemptIsNear looks up the due executions and reports whether withdraw should wait for one of them, whose
// attempt may begin and end before it is cancelled: the server would forget the record of such an attempt.
// It need not wait for one whose worker probably crashed.
func (j *loop) attemptIsNear(ctx workflow.Context) bool {
	due := func(e *execution.Execution) bool {
		return e.Phase < execution.Withdrawing && !e.Due.After(workflow.Now(ctx))
	}
	if j.deleted || !slices.ContainsFunc(j.running, due) {
		return false
	}
	near := false
	for _, p := range j.look(ctx) {
		for _, e := range j.running {
			if now := workflow.Now(ctx); e.Activity == p.Activity && due(e) && !p.Sent && p.Ended == nil && !p.Next.After(now.Add(e.Margin())) {
				late := now.Sub(later(e.Due, p.Began))
				crashed := p.Held && !e.Sent && late >= presumedCrashedAfter && late < e.Loss-takeoverMargin
				near = near || !crashed
			}
		}
	}
	return near
}

// undecided reports whether it is still unknown if a request of a cancelled execution was sent.
func (j *loop) undecided() bool {
	return slices.ContainsFunc(j.running, func(e *execution.Execution) bool { return e.Phase == execution.Withdrawing })
}

// resolveCancelled looks up the cancelled executions and moves each to returned or withdrawn. It returns
// when to look again if some are undecided.
func (j *loop) resolveCancelled(ctx workflow.Context) (again time.Time) {
	pending := j.look(ctx)
	j.release(ctx, pending)
	now := workflow.Now(ctx)
	again = now.Add(lookInterval)
	for _, e := range slices.Backward(slices.Clone(j.running)) {
		i := slices.IndexFunc(pending, func(p lookups.Pending) bool { return p.Activity == e.Activity })
		switch {
		case e.Phase != execution.Withdrawing:
		case i < 0 || !pending[i].Cancelled: // it has ended, which a task will report; or the answer precedes the cancellation
		case !pending[i].Sent && !e.Sent: // or it was released
			j.putBack(ctx, e)
		case !pending[i].Sent:
			e.Phase = execution.Withdrawn
		case pending[i].Until.Add(lookups.ServerSkew).After(now):
			again = pending[i].Until.Add(lookups.ServerSkew)
		default:
			e.Phase = execution.Withdrawn
		}
	}
	return again
}

const (
	// worthReleasing is how long the lease of an attempt must last for its worker to be asked to release it. A shorter one is awaited.
	worthReleasing = 1200 * time.Millisecond

	// releaseTimeout is the time limit for a worker to get the request to release an attempt, and again to answer it.
	releaseTimeout = 2 * time.Second
)

// release asks the workers that have passed the fence of a cancelled execution, and are to send it only later, to give it up. What
// they have given up is pending as if it had passed no fence. Each is asked once.
func (j *loop) release(ctx workflow.Context, pending []lookups.Pending) {
	for i := range pending {
		p := &pending[i]
		k := slices.IndexFunc(j.running, func(e *execution.Execution) bool { return e.Activity == p.Activity })
		if k < 0 || j.running[k].Phase != execution.Withdrawing || j.running[k].ReleaseAsked || !p.Cancelled || !p.Sent || p.Queue == "" ||
			p.Until.Sub(workflow.Now(ctx)) < worthReleasing {
			continue
		}
		e := j.running[k]
		e.ReleaseAsked = true
		if j.releasedBy(ctx, p) {
			p.Sent, e.InFlight = false, false
		}
	}
}

// releasedBy asks the worker that has an attempt to give it up. It reports whether it has: it was not sent, and never will be.
func (j *loop) releasedBy(ctx workflow.Context, p *lookups.Pending) (released bool) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:              p.Queue,
		ScheduleToStartTimeout: releaseTimeout,
		StartToCloseTimeout:    releaseTimeout,
		RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:                "the worker that holds the request gives it up",
	})
	err := workflow.ExecuteActivity(ctx, activities.TypeRelease, activities.ReleaseInput{Activity: p.Activity, Attempt: p.Attempt}).Get(ctx, &released)
	if err != nil {
		workflow.GetLogger(ctx).Info("a worker did not release an attempt; its lease is awaited", "job", j.Key.ARMID(), "error", err)
	}
	return released && err == nil
}

// look fetches the job's pending action activities and records what they say of its executions.
func (j *loop) look(ctx workflow.Context) []lookups.Pending {
	pending := fetchPending(ctx, &j.Key)
	j.recordSent(pending)
	return pending
}

// fetchPending asks the server for the job's pending action activities, until it answers.
func fetchPending(ctx workflow.Context, k *job.Key) []lookups.Pending {
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
			return pending
		}
		workflow.GetLogger(ctx).Warn("the job's pending activities could not be read; retrying", "job", k.ARMID(), "error", err)
		_ = workflow.Sleep(ctx, time.Second)
	}
}

// recordSent records which executions had an attempt sent, or may have one sent since.
func (j *loop) recordSent(pending []lookups.Pending) {
	failed := func(a job.Attempt) bool { return a.Outcome != job.OutcomeCompleted }
	for _, p := range pending {
		j.failures = j.failures || slices.ContainsFunc(p.Attempts, failed)
		for _, e := range j.running {
			if e.Activity != p.Activity {
				continue
			}
			e.Record(&p)
		}
	}
}
