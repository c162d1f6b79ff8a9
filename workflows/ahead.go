package workflows

import (
	"errors"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/activities"
	"almanac/job"
)

// An occurrence is dispatched ahead: its activity is started before it is due,
// and whoever runs it holds it until then. So what takes its time when many jobs
// are due together is over by then. Until the due time the occurrence has not
// happened yet. A change of the job takes back what is held before it is
// answered, and the occurrence is decided anew.

const (
	firstLead = int(activities.FirstLead / time.Millisecond)

	// heldLossTimeout is how long nothing may be heard after its due time of an
	// attempt that is held, before its worker counts as killed. The workflow may
	// first be offered to that worker, for as long as its sticky timeout of 5 s
	// says: together they stay below 10 s. In herds of 2,000 on two cores, the
	// server heard of each attempt within 1.2 s, and of 5,000 within 3.1.
	heldLossTimeout = 4 * time.Second

	// lossTimeout is the same for an attempt that is sent at once. It tells less
	// often that it is on its way, and suffers a server that is busy.
	lossTimeout = 30 * time.Second

	// recallMargin is by how much the clocks of a worker and of the server may
	// differ.
	recallMargin = time.Second
)

func milliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// lead returns how far ahead of its due time the next occurrence is dispatched.
func (in *JobInput) lead() time.Duration { return milliseconds(in.Lead) }

// ahead returns how far ahead of its due time an occurrence may be dispatched
// now. Where nothing is under way, it is worth while to hold the next one for
// longer than its lead: that spares the job a timer, and a workflow task.
func (j *jobLoop) ahead() time.Duration {
	if len(j.running) > 0 {
		return j.lead()
	}
	return max(j.lead(), milliseconds(j.Hold))
}

// learn keeps what an execution taught for the next one.
func (j *jobLoop) learn(out *activities.Output, err error) {
	lead := out.Lead
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok && failed.Type() == activities.ErrTypeFailed {
		var attempts []job.Attempt
		_ = failed.Details(&attempts, &lead) // nothing is learnt from what cannot be read
		j.Hold = 0                           // it does not say whether workers still hold anything, which an operator may have turned off
	}
	if lead > 0 {
		j.Lead = lead
	}
	if err == nil {
		j.Hold = out.Hold
	}
}

// takeOver reports whether another activity is to take over from one that
// ended so, and how long that is to wait. It changes the input accordingly.
func takeOver(err error, input *activities.Input) (again bool, wait time.Duration) {
	if activities.Unsent(input, err) {
		return true, 0
	}
	attempts, sending, lost := activities.Lost(err)
	if !lost {
		return false, 0
	}
	input.Before += len(attempts) + 1
	if sending {
		wait = input.Action.RetryPolicy.Interval()
	}
	return input.Before < input.MaxAttempts, wait
}

// unsent reports whether an execution's activity ended so before anything was sent.
func (e *execution) unsent(now time.Time, err error) bool {
	return activities.Unsent(&activities.Input{}, err) || temporal.IsCanceledError(err) && now.Before(e.Due)
}

// A standing is what a job goes back to when an occurrence has not happened.
type standing struct {
	decided, last time.Time
}

// undo books the occurrences that may still be held as not started: they are
// ahead again. Whoever calls it goes on to withdraw them.
func (j *jobLoop) undo(ctx workflow.Context) {
	since := workflow.Now(ctx).Add(-recallMargin)
	for _, e := range slices.Backward(j.running) {
		if j.Lead == 0 || e.demanded || e.undone || !e.Due.After(since) {
			continue
		}
		e.undone = true
		j.ExecutionCount--
		j.Started--
		j.Last, j.Decided = e.before.last, e.before.decided
		j.Plan.Due = append([]time.Time{e.Due}, j.Plan.Due...)
	}
}

// dropWaiting drops the occurrences that are due and wait. What was undone does
// not wait: it may have been sent.
func (j *jobLoop) dropWaiting(ctx workflow.Context, why string) {
	until := workflow.Now(ctx)
	for _, e := range j.running {
		if e.undone && !e.recalled && !e.Due.After(until) {
			until = e.Due.Add(-time.Second)
		}
	}
	j.drop(ctx, until, job.OutcomeCancelled, why)
}

// redo books an occurrence that was undone and was sent all the same. What a
// new definition has before it is too late.
func (j *jobLoop) redo(ctx workflow.Context, e *execution) {
	if j.active() && !j.deleted {
		j.drop(ctx, e.Due.Add(-time.Second), job.OutcomeMissed, "the occurrence before the job was changed was still under way")
	}
	e.undone = false
	j.ExecutionCount++
	j.Started++
	j.Last, j.Decided = later(j.Last, e.Due), later(j.Decided, e.Due)
	for len(j.Plan.Due) > 0 && !j.Plan.Due[0].After(e.Due) {
		j.Plan.Due = j.Plan.Due[1:]
	}
}

// recall takes back what is undone. It returns when it is certain that this is
// not sent, or was; then it is booked as such. Nothing is decided meanwhile.
func (j *jobLoop) recall(ctx workflow.Context) {
	var undone []*execution
	var ids []string
	for _, e := range j.running {
		if e.undone && !e.recalled {
			undone = append(undone, e)
			ids = append(ids, e.ID)
		}
	}
	if len(ids) == 0 {
		return
	}
	j.recalling++
	for _, i := range j.takeBack(ctx, ids) {
		undone[i].recalled = true
	}
	for _, e := range undone {
		e.cancel()
	}
	j.settle(ctx, undone)
	j.recalling--
	j.changed = true
}

// takeBack asks this worker to take back what it holds of some executions. It
// returns the indexes of those of which it held something.
func (j *jobLoop) takeBack(ctx workflow.Context, ids []string) []int {
	ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: 2 * time.Second,
		RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	var held []int
	err := workflow.ExecuteLocalActivity(ctx, activities.TypeRecall, ids).Get(ctx, &held)
	if err != nil && !errors.Is(err, workflow.ErrCanceled) {
		workflow.GetLogger(ctx).Warn("what is held could not be taken back", "job", j.Key.ARMID(), "error", err)
	}
	return held
}

// settle waits for executions that another worker may hold, or that are being
// sent: until they end, or are due for certain, for then they were sent.
func (j *jobLoop) settle(ctx workflow.Context, undone []*execution) {
	undone = slices.DeleteFunc(undone, func(e *execution) bool { return e.recalled })
	var due time.Time
	for _, e := range undone {
		due = later(due, e.Due)
	}
	open := func(e *execution) bool { return slices.Contains(j.running, e) }
	if wait := due.Add(recallMargin).Sub(workflow.Now(ctx)); len(undone) > 0 && wait > 0 {
		// Where the workflow itself is cancelled nobody waits for the answer.
		_, _ = workflow.AwaitWithTimeout(ctx, wait, func() bool { return !slices.ContainsFunc(undone, open) })
	}
	for _, e := range undone {
		if open(e) && e.undone { // unless another change has booked it
			j.redo(ctx, e)
		}
	}
}

// settled waits until it is certain, too, what became of all that earlier
// changes withdrew: even a change that changes nothing more promises that
// nothing is sent any more.
func (j *jobLoop) settled(ctx workflow.Context) {
	_ = workflow.Await(ctx, func() bool { return j.recalling == 0 }) // where the workflow itself is cancelled nobody waits for the answer
}
