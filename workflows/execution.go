package workflows

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/activities"
	"almanac/job"
)

// An execution is one that is under way.
type execution struct {
	job.Execution
	action    job.Action
	demanded  bool // by a user, not by the recurrence
	withdrawn bool // nothing more is to be sent for it
	ahead     bool // it was dispatched before it was due
	slept     bool // the job slept until it: whether it was in time tells something about the lead
	undone    bool // it counts as not started, although it may be held yet; see [jobLoop.undo]
	recalled  bool // it was held, and is certain not to be sent
	before    standing
	cancel    workflow.CancelFunc
}

// attemptTimeout is how long an attempt may take before it counts as lost:
// what the action itself may take, and some time to report.
const attemptTimeout = activities.DefaultTimeout + 10*time.Second

// start starts the execution of an occurrence.
func (j *jobLoop) start(ctx workflow.Context, due time.Time) {
	before := standing{decided: j.Decided, last: j.Last}
	j.decided(due)
	j.Started++
	j.launch(ctx, &execution{
		Execution: j.execution(due.Format(time.RFC3339), due), before: before,
		slept: j.timer.fired() && j.timer.at.Equal(due.Add(-j.lead())),
	})
}

// changeOwed is the version since which a run on demand waits while the run of
// the workflow is draining.
const changeOwed = "owe runs on demand while draining"

// demand starts an execution that a user asked for, or promises to.
func (j *jobLoop) demand(ctx workflow.Context) {
	if j.draining() && workflow.GetVersion(ctx, changeOwed, workflow.DefaultVersion, 1) != workflow.DefaultVersion {
		j.Owed++
		return
	}
	now := workflow.Now(ctx).UTC()
	for _, e := range j.running {
		if e.Due.After(now) { // it is held, and comes after this
			e.before.last = later(e.before.last, now)
		}
	}
	j.Demanded++
	j.launch(ctx, &execution{demanded: true, Execution: j.execution(fmt.Sprintf("run %d", j.Demanded), now)})
}

// payOwed starts the executions that were promised.
func (j *jobLoop) payOwed(ctx workflow.Context) {
	for ; j.Owed > 0 && !j.draining(); j.Owed-- {
		j.demand(ctx)
	}
}

// execution returns the next execution. Its id follows from the job and what,
// which tells the job's executions apart: the same occurrence has the same id
// whenever and wherever it is decided, and a new job of an old name has others.
func (j *jobLoop) execution(what string, due time.Time) job.Execution {
	j.ExecutionCount++
	name := j.Key.WorkflowID() + "\n" + j.Created.Format(time.RFC3339) + "\n" + what
	return job.Execution{
		ID:         uuid.NewSHA1(uuid.NameSpaceURL, []byte(name)).String(),
		Due:        due,
		Repeat:     j.ExecutionCount,
		Job:        j.Key.Name,
		Collection: j.Key.Collection.Name,
	}
}

// launch runs an execution beside the loop.
func (j *jobLoop) launch(ctx workflow.Context, e *execution) {
	e.action = j.Definition.Action
	now := workflow.Now(ctx)
	e.ahead = e.Due.After(now)
	j.Last = later(j.Last, later(now, e.Due))
	j.executions++
	j.running = append(j.running, e)
	ctx, e.cancel = workflow.WithCancel(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		err := j.execute(ctx, e)
		j.ended(ctx, e, err)
	})
}

// execute runs the action and, if its last attempt failed, the error action.
// It returns the action's error.
func (j *jobLoop) execute(ctx workflow.Context, e *execution) error {
	action := e.action
	compensation := action.ErrorAction
	action.ErrorAction = nil
	err := j.attempt(ctx, e, job.MainAction, action)
	if err == nil || e.withdrawn || compensation == nil {
		return err
	}
	if compensation.RetryPolicy == nil {
		withPolicy := *compensation
		withPolicy.RetryPolicy = action.RetryPolicy
		compensation = &withPolicy
	}
	if err := j.attempt(ctx, e, job.ErrorAction, *compensation); err != nil {
		workflow.GetLogger(ctx).Warn("the error action failed as well", "job", j.Key.ARMID(), "due", e.Due)
	}
	return err
}

// attempt runs one action under its retry policy. Where a worker was killed, or
// stopped before the action was due, another activity takes over.
func (j *jobLoop) attempt(ctx workflow.Context, e *execution, name job.ActionName, action job.Action) error {
	input := activities.Input{Execution: e.Execution, Action: action, MaxAttempts: action.RetryPolicy.Attempts()}
	input.Execution.ActionName = name
	if name == job.MainAction && e.slept {
		input.Lead = j.Lead
	}
	for {
		err := j.dispatch(ctx, e, input)
		again, wait := takeOver(err, &input)
		if !again || e.withdrawn {
			return err
		}
		if wait > 0 {
			if err := workflow.Sleep(ctx, wait); err != nil {
				return err
			}
		}
	}
}

// dispatch runs one action's activity.
func (j *jobLoop) dispatch(ctx workflow.Context, e *execution, input activities.Input) error {
	held := max(0, e.Due.Sub(workflow.Now(ctx)))
	policy := retryPolicy(input.Action.RetryPolicy)
	policy.MaximumAttempts -= int32(input.Before)
	policy.NonRetryableErrorTypes = []string{"TemporalTimeout:Heartbeat"} // the workflow can do better; see takeOver
	options := workflow.ActivityOptions{
		StartToCloseTimeout: held + attemptTimeout,
		HeartbeatTimeout:    lossTimeout,
		WaitForCancellation: true, // an attempt that is under way ends as it ends, and is told so
		RetryPolicy:         policy,
		Summary:             fmt.Sprintf("%s due %s: %s", input.Execution.ActionName, e.Due.Format(time.RFC3339), input.Action.Text()),
	}
	if held > 0 {
		options.HeartbeatTimeout = held + heldLossTimeout
	}
	ctx = workflow.WithActivityOptions(ctx, options)
	var out activities.Output
	err := workflow.ExecuteActivity(ctx, activities.TypeAction, input).Get(ctx, &out)
	if err != nil || len(out.Attempts) > 1 || input.Before > 0 {
		j.failures = true
	}
	if input.Execution.ActionName == job.MainAction && !e.demanded && j.Lead > 0 {
		j.learn(&out, err)
	}
	return err
}

// retryPolicy translates a job's retry policy.
func retryPolicy(p *job.RetryPolicy) *temporal.RetryPolicy {
	return &temporal.RetryPolicy{
		InitialInterval:    p.Interval(),
		BackoffCoefficient: 1,
		MaximumInterval:    p.Interval(),
		MaximumAttempts:    int32(p.Attempts()),
	}
}

// ended books the end of an execution.
func (j *jobLoop) ended(ctx workflow.Context, e *execution, err error) {
	now := workflow.Now(ctx)
	j.running = slices.DeleteFunc(j.running, func(r *execution) bool { return r == e })
	j.changed = true
	if e.undone {
		if e.unsent(now, err) {
			return
		}
		j.redo(ctx, e)
	}
	if err != nil {
		j.FailureCount++
		if !e.withdrawn {
			j.FaultedCount++
		}
	}
	if !e.demanded {
		j.Failed = err != nil
		j.BusyUntil = now
	}
}

// withdraw sees to it that nothing more is sent for the executions that are
// under way: a retry that waits is cancelled, an attempt that is on its way is
// the last one. It returns when that is certain.
func (j *jobLoop) withdraw(ctx workflow.Context) {
	if len(j.running) == 0 {
		return
	}
	for _, e := range j.running {
		e.withdrawn = true
	}
	j.recall(ctx)
	j.keepAttempts(ctx)
	for _, e := range j.running {
		if e.withdrawn {
			e.cancel()
		}
	}
}

// keepAttempts records the attempts of the executions under way, which
// Temporal forgets when a waiting retry is cancelled. It is a courtesy to the
// history's readers: if it fails, what failed before is not listed.
func (j *jobLoop) keepAttempts(ctx workflow.Context) {
	ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: 2 * time.Second,
		RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	var pending []activities.Pending
	err := workflow.ExecuteLocalActivity(ctx, activities.TypePending).Get(ctx, &pending)
	if err != nil && !errors.Is(err, workflow.ErrCanceled) {
		workflow.GetLogger(ctx).Warn("the attempts so far could not be kept", "job", j.Key.ARMID(), "error", err)
	}
	if len(pending) > 0 {
		j.failures = true
	}
}
