package jobloop

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/activities"
	"almanac/activities/lookups"
	"almanac/internal/audit"
	"almanac/job"
	"almanac/job/template"
	"almanac/workflows/jobloop/alerts"
	"almanac/workflows/jobloop/execution"
	"almanac/workflows/jobloop/state"
)

// errUnsent ends an execution of which no request was sent.
var errUnsent = errors.New("nothing was sent")

// start starts the occurrence that is due then.
func (j *loop) start(ctx workflow.Context, due time.Time) {
	e := &execution.Execution{}
	e.Undo = state.Undo{Decided: j.Decided, Last: j.Last}
	planned := j.Plan.Zone.Local(due) // newer time zones may give two local times one instant
	j.decided(due)
	j.Started++
	j.Numbered++
	e.Repeat = j.Numbered
	j.beginExecution(ctx, e, planned.Format(time.RFC3339), due)
}

// runManually starts a manual run, and returns the name of the execution. While the run drains, it is left to the next run of the workflow.
func (j *loop) runManually(ctx workflow.Context) (name string) {
	j.Numbered++
	manual := state.ManualRun{Repeat: j.Numbered, Caller: execution.CallerOf(audit.ActorOf(ctx))}
	if j.draining() {
		j.Deferred = append(j.Deferred, manual)
	} else {
		j.beginManualRun(ctx, manual)
	}
	return job.ExecutionName(j.Registration, manual.Repeat)
}

func (j *loop) beginManualRun(ctx workflow.Context, manual state.ManualRun) {
	now := workflow.Now(ctx).UTC()
	j.executions.RanBy(now)
	j.ManualRuns++
	e := &execution.Execution{Waiting: state.Waiting{Manual: true}}
	e.Repeat, e.Caller = manual.Repeat, manual.Caller
	j.beginExecution(ctx, e, fmt.Sprintf("run %d", j.ManualRuns), now)
}

// startDeferred starts the manual runs that were left while an earlier run drained.
func (j *loop) startDeferred(ctx workflow.Context) {
	for len(j.Deferred) > 0 && !j.draining() {
		manual := j.Deferred[0]
		j.Deferred = slices.Delete(j.Deferred, 0, 1)
		j.beginManualRun(ctx, manual)
	}
}

// beginExecution starts a new execution of what, the due time with its offset or "run N". It has its number already.
func (j *loop) beginExecution(ctx workflow.Context, e *execution.Execution, what string, due time.Time) {
	j.begun++
	j.ExecutionCount++
	j.Last = later(j.Last, later(workflow.Now(ctx), due))
	e.Execution = job.Execution{
		ID:         execution.ID(&j.Key, j.Created, workflow.GetInfo(ctx).FirstRunID, what),
		Due:        due,
		Repeat:     e.Repeat,
		ActionName: job.MainAction,
		Job:        j.Key.Name,
		Collection: j.Key.Collection.Name,
		Caller:     e.Caller,
	}
	j.spawn(ctx, e)
}

// resume continues the executions that wait for their next attempts. They run the current action: a
// change of the job would have withdrawn them.
func (j *loop) resume(ctx workflow.Context) {
	for _, w := range j.Waiting {
		e := execution.Execution{Waiting: w, BetweenAttempts: true}
		if w.Sent {
			e.Phase = execution.Sent
		}
		j.spawn(ctx, &e)
	}
	j.Waiting = nil
}

// spawn runs an execution, from where it stands, in a coroutine beside the loop.
func (j *loop) spawn(ctx workflow.Context, e *execution.Execution) {
	e.Action = j.Definition.Action
	j.executions.Add(e)
	ctx, _ = workflow.NewDisconnectedContext(ctx) // only a change cancels it, not a cancellation of the workflow
	ctx, e.Cancel = workflow.WithCancel(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		err := j.runActions(ctx, e)
		j.ended(ctx, e, err)
	})
}

// errBefore stands for the action's error in an earlier run.
var errBefore = errors.New("the action failed")

// runActions runs the action and, if its last attempt failed, the error action. It returns the action's
// error, or errUnsent.
func (j *loop) runActions(ctx workflow.Context, e *execution.Execution) error {
	action := e.Action
	compensation := action.ErrorAction
	action.ErrorAction = nil
	err := errBefore
	if e.ActionName == job.MainAction {
		err = j.runAction(ctx, e, action)
	}
	if err == nil || errors.Is(err, errUnsent) || e.Phase >= execution.Withdrawing || compensation == nil {
		return err
	}
	if e.ActionName == job.MainAction {
		e.ActionName, e.Tried, e.BetweenAttempts, e.Next = job.ErrorAction, 0, true, workflow.Now(ctx)
	}
	follows := *compensation
	follows.RetryPolicy = cmp.Or(follows.RetryPolicy, action.RetryPolicy)
	_ = j.runAction(ctx, e, follows) // the execution has failed whatever the error action does
	return err
}

// runAction runs one action under its retry policy. The remaining attempts get another activity if an
// attempt was lost, ended before it was sent, or is to begin later than the server retries.
func (j *loop) runAction(ctx workflow.Context, e *execution.Execution, action job.Action) error {
	input := activities.Input{Execution: e.Execution, Action: action, MaxAttempts: action.RetryPolicy.Attempts(), Failure: e.Failure}
	input.Compensated = e.ActionName == job.MainAction && e.Action.ErrorAction != nil
	input.Explain = input.Compensated && template.Used(e.Action.ErrorAction)
	for {
		j.awaitNext(ctx, e)
		j.scheduled.await(ctx, activitiesPerTask)
		if err := ctx.Err(); err != nil && e.Sent {
			return err
		} else if err != nil {
			return errUnsent
		}
		input.SentBefore = e.Tried
		if template.Used(&action) {
			input.LastSuccess = j.Outcomes.LastSuccess()
		}
		end := j.runActivity(ctx, e, input)
		now := workflow.Now(ctx)
		e.Tried += len(end.Attempts)
		e.NoteError(end.Why(), e.EndedAt(now))
		cancelled, unrecorded := end.How == activities.Cancelled, lookups.NothingSent
		if cancelled {
			unrecorded = e.Unrecorded(now)
		}
		e.Sent = e.Sent || end.Err == nil || e.Tried > 0 || unrecorded == lookups.FencePassed
		switch {
		case end.Err == nil:
			return nil
		case e.Phase >= execution.Withdrawing && (e.Sent || end.How != activities.Unsent && !cancelled):
			if unrecorded == lookups.MayBeSent {
				j.noteCancelled(ctx, e.Due, 0, "the job was changed when a retry was due; whether that was sent is not known")
			}
			return end.Err
		case e.Phase >= execution.Withdrawing:
			e.MayHaveBeenSent = unrecorded == lookups.MayBeSent
			return errUnsent
		case end.How == activities.Unsent && !e.Sent && !e.Manual && j.Decided.Equal(e.Planned()):
			return errUnsent // to be decided again
		case end.How == activities.Failed || cancelled || e.Tried >= input.MaxAttempts:
			e.NoteFailure(input.FailureAfter(end, e.Tried))
			return end.Err
		}
		e.SetNext(now, end, action.RetryPolicy.Interval())
	}
}

// awaitNext waits until the next attempt is to begin, and while the run drains. It returns at once if the
// execution is cancelled.
func (j *loop) awaitNext(ctx workflow.Context, e *execution.Execution) {
	if !e.BetweenAttempts {
		return
	}
	j.changed = true
	if workflow.Sleep(ctx, e.Next.Sub(workflow.Now(ctx))) == nil {
		_ = workflow.Await(ctx, func() bool { return !j.draining() })
	}
	e.BetweenAttempts = false
}

// runActivity runs one activity of an action. An activity scheduled before the due time is held by the
// worker until then. If no worker reported the outcome but one had recorded it, that is returned.
func (j *loop) runActivity(ctx workflow.Context, e *execution.Execution, input activities.Input) *activities.Ending {
	j.activities++
	j.beginActivity(ctx, e)
	e.Activity, e.Looked = "action-"+strconv.Itoa(j.activities), nil
	ctx = workflow.WithActivityOptions(ctx, e.Options(&input, workflow.Now(ctx), j.LossTime()))
	var out activities.Output
	err := workflow.ExecuteActivity(ctx, activities.TypeAction, input).Get(ctx, &out)
	end := out.Ending()
	if err != nil {
		end = activities.EndingOf(err, workflow.Now(ctx), workflow.Now(ctx))
	}
	if end.How == activities.Cancelled && e.Looked != nil && e.Looked.Ended != nil {
		end = e.Looked.Ended.WithAttempts(e.Looked.Attempts)
	}
	reported := err == nil && end.Err == nil
	j.executions.Failures = j.executions.Failures || !reported || len(end.Attempts) > 1 || input.SentBefore > 0
	j.endActivity(ctx, e, &end, reported)
	e.LastEnd = time.Time{}
	if n := len(end.Attempts); n > 0 {
		e.LastEnd = end.Attempts[n-1].End
		if e.Began.IsZero() { // the first activity is the main action's
			e.Began = end.Attempts[0].Start
		}
	}
	if input.Execution.ActionName == job.MainAction {
		e.Attempts = input.SentBefore + len(end.Attempts)
		if !e.Manual {
			j.Hold, j.Loss = cmp.Or(end.Hold, j.Hold), cmp.Or(out.Loss, j.Loss)
		}
	}
	return &end
}

// ended records the end of an execution.
func (j *loop) ended(ctx workflow.Context, e *execution.Execution, err error) {
	j.changed = true
	if errors.Is(err, errUnsent) {
		j.putBack(ctx, e)
		return
	}
	if !j.executions.Remove(e) {
		return // it was returned to the plan before
	}
	j.settle(ctx, e, err)
	switch {
	case !e.Manual:
		j.Failed = err != nil
		if j.overlap() != job.OverlapAllowAll {
			j.BusyUntil = e.EndedAt(workflow.Now(ctx))
		}
	case !j.Final.IsZero():
		j.Final = workflow.Now(ctx) // keep the final job for another keepFinal
	}
}

// settle records the final status of an execution that was sent, or may have been: err is nil if it succeeded. Every
// such execution comes here, once.
func (j *loop) settle(ctx workflow.Context, e *execution.Execution, err error) {
	if err != nil {
		if _, silent := errors.AsType[*temporal.TimeoutError](err); silent { // otherwise a worker has logged it
			workflow.GetLogger(ctx).Warn("execution failed", "collection", j.Key.Collection.Name, "job", j.Key.Name, "execution", e.ID,
				"due", e.Due, "error", "no worker recorded the outcome; the request may have been sent", "next", "given up")
		}
		j.FailureCount++
		if e.Phase < execution.Withdrawing || e.ActionName == job.ErrorAction { // all attempts of the action failed
			j.FaultedCount++
		}
	}
	j.Recent.Add(e.Mark(err != nil), workflow.Now(ctx))
	why := cmp.Or(e.Error, noRecord)
	failedBefore := state.Record(&j.Outcomes, state.Ending{Due: e.Due, At: e.EndedAt(workflow.Now(ctx)), Failed: err != nil, Why: why})
	j.raiser.Ended(ctx, alerts.End{Execution: e.Execution, Manual: e.Manual, Failed: err != nil, Error: why, Began: e.Began, Attempts: e.Attempts}, failedBefore)
	switch {
	case err == nil:
		j.Forgiven = 0
	case e.Phase >= execution.Withdrawing: // a change ended it, after which the action may succeed
		j.Forgiven++
	default:
		j.disableAfterFailures(ctx)
	}
}

// noRecord is why an execution failed of which nothing is recorded.
const noRecord = "No worker recorded the outcome; the request may have been sent."

// putBack undoes the start of an execution of which nothing was sent. An occurrence returns to the plan and
// is decided again, unless a change has overtaken it; then it is recorded as cancelled, as a manual run is.
func (j *loop) putBack(ctx workflow.Context, e *execution.Execution) {
	if !j.executions.Remove(e) {
		return
	}
	overtaken := e.Phase == execution.Withdrawn || e.MayHaveBeenSent
	e.Phase = execution.Returned
	j.ExecutionCount--
	if !e.Manual && !e.MayHaveBeenSent { // otherwise more than recurrence.count might be sent
		j.Started--
	}
	if e.Manual || overtaken || !j.Decided.Equal(e.Planned()) {
		why := "the job was changed before it was sent"
		if e.MayHaveBeenSent {
			why = "the job was changed when it was due; whether it was sent is not known"
		}
		j.noteCancelled(ctx, e.Due, e.Repeat, why)
		return
	}
	j.Last, j.Decided = e.Undo.Last, e.Undo.Decided
	j.Plan.Due = slices.Insert(j.Plan.Due, 0, e.Planned())
}

// withdraw ensures that nothing more is sent for the executions, and for manual runs accepted before. When it returns, those not sent
// are back in the plan, and the leases of those that may have been sent are over.
func (j *loop) withdraw(ctx workflow.Context) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	for _, manual := range j.Deferred {
		j.noteCancelled(ctx, workflow.Now(ctx), manual.Repeat, "the job was changed before it was sent")
	}
	j.Deferred = nil
	j.executions.WithdrawAll(ctx, j.deleted)
}

// withdrawMargin is how long before its due time a held occurrence can be withdrawn at the latest, to skip it or to continue as new.
const withdrawMargin = 10 * time.Second

// withdrawHeld returns a held execution to the plan. It reports whether that is where it is: nothing was sent.
func (j *loop) withdrawHeld(ctx workflow.Context, held *execution.Execution) bool {
	if held.Phase != execution.Dispatched || held.Due.Before(workflow.Now(ctx).Add(withdrawMargin)) {
		return false
	}
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	j.executions.Withdraw(ctx, held)
	return held.Phase == execution.Returned
}
