package jobloop

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/internal/audit"
	"almanac/job"
	"almanac/workflows/jobloop/execution"
	"almanac/workflows/jobloop/state"
)

// errUnsent ends an execution of which no request was sent.
var errUnsent = errors.New("nothing was sent")

// start starts the occurrence that is due then.
func (j *loop) start(ctx workflow.Context, due time.Time) {
	e := &execution.Execution{}
	e.Undo = state.Undo{Decided: j.Decided, Last: j.Last}
	e.PutOff = j.takePutOff(due)
	what := j.occurrence(due)
	e.By = j.byCalendars(due)
	if n := j.Plan.Note(due); n != nil {
		e.Identity, e.Held = n.Identity, n.Held
	}
	j.generator.decided(due)
	j.Started++
	j.Numbered++
	e.Repeat, e.Recovered = j.Numbered, j.Recovery.Of(due)
	if delay := j.DelayOf(due); delay > 0 && !e.Recovered {
		e.PlannedStart = due.Add(delay)
	}
	j.beginExecution(ctx, e, what, due)
}

// runManually starts a manual run, and returns the name of the execution. While the run drains, it is left to the next
// run of the workflow.
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
	j.Last = execution.Later(j.Last, execution.Later(workflow.Now(ctx), execution.Later(due, e.PlannedStart)))
	e.Execution = job.Execution{
		ID:         execution.ID(&j.Key, j.Created, workflow.GetInfo(ctx).FirstRunID, what),
		Due:        due,
		Repeat:     e.Repeat,
		ActionName: job.MainAction,
		Job:        j.Key.Name,
		Collection: j.Key.Collection.Name,
		Caller:     e.Caller,
		Recovered:  e.Recovered,
		Backfill:   e.Backfill,
		By:         e.By,

		PlannedStart: e.PlannedStart,
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
	j.backfillEnded(e, err != nil)
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
	end := e.End(workflow.Now(ctx), err != nil)
	j.Outcomes.Add(&end)
	j.Recent.Add(end.Mark(), workflow.Now(ctx))
	j.raiser.Ended(ctx, &end)
	switch {
	case err == nil:
		j.Forgiven = 0
	case e.Phase >= execution.Withdrawing: // a change ended it, after which the action may succeed
		j.Forgiven++
	default:
		j.disableAfterFailures(ctx)
	}
}

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
	if j.backfillAgain(e) {
		return
	}
	if e.Manual || overtaken || !j.Decided.Equal(e.Planned()) {
		why := job.WhyChangedBeforeSent
		if e.MayHaveBeenSent {
			why = job.WhyChangedWhenDue
		}
		j.generator.noteCancelled(ctx, e, e.Repeat, why)
		return
	}
	j.Last, j.Decided = e.Undo.Last, e.Undo.Decided
	j.Plan.Undecide(e.Nominal(), e.Identity)
	j.Plan.Due = slices.Insert(j.Plan.Due, 0, e.Planned())
	j.noteAgain(e)
	j.notePutOff(e.Planned(), e.PutOff)
}

// withdraw ensures that nothing more is sent for the executions, and for manual runs accepted before. When it returns,
// those not sent are back in the plan, and the leases of those that may have been sent are over.
func (j *loop) withdraw(ctx workflow.Context) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	for _, manual := range j.Deferred {
		deferred := &execution.Execution{}
		deferred.Due = workflow.Now(ctx)
		j.generator.noteCancelled(ctx, deferred, manual.Repeat, job.WhyChangedBeforeSent)
	}
	j.Deferred = nil
	j.executions.WithdrawAll(ctx, j.deleted)
}

// withdrawMargin is how long before its due time a held occurrence can be withdrawn at the latest, to skip it or to
// continue as new.
const withdrawMargin = 10 * time.Second

// withdrawHeld returns a held execution to the plan. It reports whether that is where it is: nothing was sent.
func (j *loop) withdrawHeld(ctx workflow.Context, held *execution.Execution) bool {
	if held.Phase != execution.Dispatched || held.Begin().Before(workflow.Now(ctx).Add(withdrawMargin)) {
		return false
	}
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	j.executions.Withdraw(ctx, held)
	return held.Phase == execution.Returned
}
