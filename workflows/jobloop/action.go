package jobloop

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"go.temporal.io/sdk/workflow"

	"almanac/activities"
	"almanac/activities/lookups"
	"almanac/job"
	"almanac/job/template"
	"almanac/workflows/jobloop/execution"
)

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
	input := activities.Input{
		Execution: e.Execution, Action: action, MaxAttempts: action.RetryPolicy.Attempts(),
		Facts: template.Facts{Failure: e.Failure},
	}
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
		input.SentBefore, input.PutOff = e.Tried, e.PutOff
		if template.Used(&action) {
			input.LastSuccess = j.Outcomes.LastSuccess()
		}
		end := j.runActivity(ctx, e, input)
		now := workflow.Now(ctx)
		e.PutOff += end.PutOff
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
			if unrecorded == lookups.MayBeSent && !e.Looked.Lists() {
				j.generator.noteCancelled(ctx, e, 0, job.WhyChangedBeforeRetry)
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
		e.SetNext(now, end, action.RetryPolicy.Pause(e.Tried))
	}
}

// awaitNext waits until the next attempt is to begin, and while the run drains. It returns at once if the
// execution is cancelled.
func (j *loop) awaitNext(ctx workflow.Context, e *execution.Execution) {
	if !e.BetweenAttempts {
		return
	}
	j.changed = true
	pause := workflow.NewTimerWithOptions(ctx, e.Next.Sub(workflow.Now(ctx)),
		workflow.TimerOptions{Summary: fmt.Sprintf("until attempt %d of %d", e.Tried+1, e.MaxAttempts())})
	if pause.Get(ctx, nil) == nil {
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

// beginActivity notes an activity of an execution whose attempts are not regular.
func (j *loop) beginActivity(ctx workflow.Context, e *execution.Execution) {
	if now := workflow.Now(ctx); e.Manual || now.After(e.Begin().Add(job.RegularDelay)) {
		j.IrregularUntil(now.Add(job.SettledAfter))
	}
}

// endActivity notes how an activity of an execution ended. Attempts that are late and those that failed are not
// regular. A failure without records is an entry too, unless nothing was sent. reported says that a worker reported a
// success.
func (j *loop) endActivity(ctx workflow.Context, e *execution.Execution, end *activities.Ending, reported bool) {
	late := func(a job.Attempt) bool { return a.Start.After(e.Begin().Add(job.RegularDelay)) }
	failed := len(end.Attempts) > 1 || !reported && (len(end.Attempts) > 0 || end.How != activities.Unsent)
	if e.Manual || failed || slices.ContainsFunc(end.Attempts, late) {
		j.OutcomeIrregular(e.Manual, workflow.Now(ctx))
	}
}
