package workflows

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/activities"
	"almanac/job"
)

// A phase is how far an execution has come, as far as the workflow knows.
//
//	dispatched ───▶ sent ───┐
//	    │            │      │
//	    ▼            ▼      ▼
//	withdrawing ─▶ withdrawn ─▶ ended
//	    │
//	    └─▶ returned
//
// Only the end of its activity and [jobLoop.look] move an execution forward. The
// time decides in one case: if the server cancelled an activity that no worker had,
// which says nothing of earlier attempts, there was none before the due time, and none
// that was sent before execution.rests if that is set.
type phase int

const (
	dispatched  phase = iota // nothing is known to have been sent: a worker may hold it
	sent                     // a request may have left
	withdrawing              // it is cancelled, and whether a request may have left is being found out
	withdrawn                // a request may have left, and nothing follows it
	returned                 // nothing was sent, and nothing will be
)

// An execution is one whose activity may be running.
type execution struct {
	job.Execution
	action   job.Action
	manual   bool // it was started by a user, not by the recurrence
	slept    bool // the job slept until it: whether it was in time tells something about the lead
	phase    phase
	tried    int       // attempts of the action that is tried, by the activities that have ended, whose requests may have left
	waits    bool      // no activity of it is under way; the next is scheduled at next, by a later run if this one ends before
	next     time.Time // see waits
	attempts bool      // whether an attempt of it is known to have been sent
	inFlight bool      // whether a worker had an attempt without a record that may have been sent since, when the server was asked last
	rests    time.Time // if set, nothing was sent and nothing will be before then: the server's pause, by its clock, when it was asked last
	activity string    // the id of its activity that was scheduled last
	before   standing
	cancel   workflow.CancelFunc
}

// A standing is what a job goes back to when an occurrence returns to the plan.
type standing struct {
	Decided time.Time `json:"decided,omitzero"`
	Last    time.Time `json:"last,omitzero"`
}

const (
	// attemptTimeout is how long an attempt may take before it counts as lost:
	// what the action itself may take, and some time to report.
	attemptTimeout = activities.DefaultTimeout + 10*time.Second

	// lossTimeout is how long the server may hear nothing of an attempt that is
	// not held. It suffers a server that is busy; see also
	// [activities.HeldLossTimeout].
	lossTimeout = 30 * time.Second

	// leastHeld is for how long an attempt is held, at least, for the short timeout:
	// there is no time to catch up if the server is busy.
	leastHeld = 500 * time.Millisecond
)

// errUnsent says that an execution ended and no request of it ever left.
var errUnsent = errors.New("nothing was sent")

// start starts the execution of an occurrence.
func (j *jobLoop) start(ctx workflow.Context, due time.Time) {
	before := standing{Decided: j.Decided, Last: j.Last}
	j.decided(due)
	j.Started++
	j.launch(ctx, &execution{
		Execution: j.execution(due.Format(time.RFC3339), due), before: before,
		slept: j.timer.fired() && j.timer.at.Equal(due.Add(-j.lead())),
	})
}

// runManually starts an execution that a user asked for, or promises to.
func (j *jobLoop) runManually(ctx workflow.Context) {
	if j.draining() {
		j.Owed++
		return
	}
	now := workflow.Now(ctx).UTC()
	for _, e := range j.running { // without those that were not sent, this is the last one
		e.before.Last = later(e.before.Last, now)
	}
	j.Demanded++
	j.launch(ctx, &execution{manual: true, Execution: j.execution(fmt.Sprintf("run %d", j.Demanded), now)})
}

// payOwed starts the executions that were promised.
func (j *jobLoop) payOwed(ctx workflow.Context) {
	for ; j.Owed > 0 && !j.draining(); j.Owed-- {
		j.runManually(ctx)
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
	e.ActionName = job.MainAction
	j.Last = later(j.Last, later(workflow.Now(ctx), e.Due))
	j.executions++
	j.perform(ctx, e)
}

// resume goes on with the executions that wait for their next attempts. A change of the
// job would have ended them, so what they do is what the job does.
func (j *jobLoop) resume(ctx workflow.Context) {
	for _, w := range j.Waiting {
		e := execution{Execution: w.Execution, manual: w.Manual, attempts: w.Sent, before: w.Before, tried: w.Tried, waits: true, next: w.Next}
		if w.Sent {
			e.phase = sent
		}
		j.perform(ctx, &e)
	}
	j.Waiting = nil
}

// handOver returns what the next run is told of an execution that waits.
func (e *execution) handOver() Waiting {
	w := Waiting{Execution: e.Execution, Manual: e.manual, Sent: e.attempts, Tried: e.tried, Next: e.next}
	if !w.Sent {
		w.Before = e.before
	}
	return w
}

// perform runs an execution, from where it stands, beside the loop.
func (j *jobLoop) perform(ctx workflow.Context, e *execution) {
	e.action = j.Definition.Action
	j.running = append(j.running, e)
	ctx, _ = workflow.NewDisconnectedContext(ctx) // withdraw cancels it, also where somebody cancels the workflow itself
	ctx, e.cancel = workflow.WithCancel(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		err := j.execute(ctx, e)
		j.ended(ctx, e, err)
	})
}

// errBefore says that the action failed in an earlier run.
var errBefore = errors.New("the action failed")

// execute runs the action and, if its last attempt failed, the error action.
// It returns the action's error, or errUnsent.
func (j *jobLoop) execute(ctx workflow.Context, e *execution) error {
	action := e.action
	compensation := action.ErrorAction
	action.ErrorAction = nil
	err := errBefore
	if e.ActionName == job.MainAction {
		err = j.attempt(ctx, e, action)
	}
	if err == nil || errors.Is(err, errUnsent) || e.phase >= withdrawing || compensation == nil {
		return err
	}
	if e.ActionName == job.MainAction {
		e.ActionName, e.tried, e.waits, e.next = job.ErrorAction, 0, true, workflow.Now(ctx)
	}
	if compensation.RetryPolicy == nil {
		withPolicy := *compensation
		withPolicy.RetryPolicy = action.RetryPolicy
		compensation = &withPolicy
	}
	_ = j.attempt(ctx, e, *compensation) // the execution has failed already
	return err
}

// attempt runs one action under its retry policy. It dispatches another activity
// for the attempts that are left if one was lost, ended before it was sent, or is not to
// begin soon.
func (j *jobLoop) attempt(ctx workflow.Context, e *execution, action job.Action) error {
	input := activities.Input{Execution: e.Execution, Action: action, MaxAttempts: action.RetryPolicy.Attempts()}
	input.Compensated = e.ActionName == job.MainAction && e.action.ErrorAction != nil
	if e.ActionName == job.MainAction && e.slept {
		input.Lead = j.Lead
	}
	for {
		j.pause(ctx, e)
		if err := ctx.Err(); err != nil && e.attempts {
			return err
		} else if err != nil {
			return errUnsent
		}
		input.Before = e.tried
		err := j.dispatch(ctx, e, input)
		end := activities.EndingOf(err, workflow.Now(ctx), workflow.Now(ctx))
		e.tried += len(end.Attempts)
		e.attempts = e.attempts || err == nil || e.tried > 0 || e.inFlight && end.Canceled // then it failed in between
		switch {
		case err == nil:
			return nil
		case e.phase >= withdrawing && (e.attempts || !end.Unsent && !end.Canceled):
			return err
		case e.phase >= withdrawing:
			if end.Canceled && !e.knownUnsent(workflow.Now(ctx)) {
				e.phase = withdrawn // it was due: an attempt that failed at once may have been forgotten
			}
			return errUnsent
		case end.Unsent && !e.attempts && !e.manual && j.Decided.Equal(e.Due):
			return errUnsent // it is judged anew
		case !end.Lost && !end.Unsent && !end.More || e.tried >= input.MaxAttempts:
			return err
		}
		e.wait(workflow.Now(ctx), &end, action.RetryPolicy.Interval())
	}
}

// knownUnsent reports whether nothing can have been sent for an execution whose activity
// the server had cancelled by now, when no worker had it.
func (e *execution) knownUnsent(now time.Time) bool {
	return now.Before(e.Due.Add(-clockMargin)) || now.Before(e.rests.Add(-activities.ServerSkew))
}

// wait has the execution wait for its next attempt after an activity of it has ended:
// until that says, or if it does not, until the interval since its last attempt is over.
func (e *execution) wait(now time.Time, end *activities.Ending, interval time.Duration) {
	e.waits, e.next = true, later(now, end.Next)
	if n := len(end.Attempts); n > 0 && end.Next.IsZero() {
		passed := max(0, now.Sub(end.Attempts[n-1].End))
		e.next = later(now, now.Add(interval-passed))
	}
	if e.attempts && e.phase == dispatched {
		e.phase = sent
	}
}

// pause waits until the next attempt of an execution that waits is to begin, and as long
// as the run drains. If the execution is cancelled, it returns at once.
func (j *jobLoop) pause(ctx workflow.Context, e *execution) {
	if !e.waits {
		return
	}
	j.changed = true
	if workflow.Sleep(ctx, e.next.Sub(workflow.Now(ctx))) == nil {
		_ = workflow.Await(ctx, func() bool { return !j.draining() })
	}
	e.waits = false
}

// clockMargin is by how much the clocks of a worker and of the server may differ
// before the worker goes by the server's.
const clockMargin = time.Second

// dispatch runs one action's activity. It is scheduled before the execution is due
// if the worker is to hold it until then.
func (j *jobLoop) dispatch(ctx workflow.Context, e *execution, input activities.Input) error {
	held := max(0, e.Due.Sub(workflow.Now(ctx)))
	j.activities++
	e.activity, e.rests = "action-"+strconv.Itoa(j.activities), time.Time{}
	options := workflow.ActivityOptions{
		ActivityID:          e.activity,
		StartToCloseTimeout: held + attemptTimeout,
		HeartbeatTimeout:    lossTimeout,
		WaitForCancellation: true, // an attempt that was sent ends as it ends
		RetryPolicy:         retryPolicy(&input),
	}
	when := "due"
	if held > leastHeld {
		when = "held by a worker until"
		options.HeartbeatTimeout = held + activities.HeldLossTimeout
	}
	options.Summary = fmt.Sprintf("%s %s %s: %s", input.Execution.ActionName, when, e.Due.Format(time.RFC3339), input.Action.Text())
	ctx = workflow.WithActivityOptions(ctx, options)
	var out activities.Output
	err := workflow.ExecuteActivity(ctx, activities.TypeAction, input).Get(ctx, &out)
	if err == nil {
		err = out.Err()
	}
	if err != nil || len(out.Attempts) > 1 || input.Before > 0 {
		j.failures = true
	}
	if input.Execution.ActionName == job.MainAction && !e.manual {
		j.learn(&out, err)
	}
	return err
}

const (
	// takeoverInterval is how long the server waits before it has another worker
	// take over what one lost. It doubles each time, up to the retry interval.
	takeoverInterval = 200 * time.Millisecond

	// maxTakeovers is how often that happens for one activity.
	maxTakeovers = 3
)

// retryPolicy returns the retry policy of an action's activity, which is for attempts that
// are lost. One that fails says by the job's retry policy when the next one begins, or that
// it was the last.
func retryPolicy(in *activities.Input) *temporal.RetryPolicy {
	return &temporal.RetryPolicy{
		InitialInterval:    takeoverInterval,
		BackoffCoefficient: 2,
		MaximumInterval:    max(takeoverInterval, in.Action.RetryPolicy.Interval()),
		MaximumAttempts:    int32(in.MaxAttempts - in.Before + maxTakeovers),
	}
}

// ended books the end of an execution.
func (j *jobLoop) ended(ctx workflow.Context, e *execution, err error) {
	j.changed = true
	if errors.Is(err, errUnsent) {
		j.putBack(ctx, e)
		return
	}
	if !j.forget(e) {
		return // it was returned before
	}
	if err != nil {
		if _, silent := errors.AsType[*temporal.TimeoutError](err); silent { // else a worker has logged it
			workflow.GetLogger(ctx).Warn("execution failed", "collection", j.Key.Collection.Name, "job", j.Key.Name, "execution", e.ID,
				"due", e.Due, "error", "no worker recorded the outcome; the request may have been sent", "next", "given up")
		}
		j.FailureCount++
		if e.phase < withdrawing {
			j.FaultedCount++
		}
	}
	switch {
	case !e.manual:
		j.Failed = err != nil
		j.BusyUntil = workflow.Now(ctx)
	case !j.Final.IsZero():
		j.Final = workflow.Now(ctx) // it stays that much longer
	}
}

// forget takes an execution off those that may be running. It reports whether it
// was one of them.
func (j *jobLoop) forget(e *execution) bool {
	i := slices.Index(j.running, e)
	if i < 0 {
		return false
	}
	j.running = slices.Delete(j.running, i, i+1)
	return true
}

// putBack books an execution of which nothing was sent as never started. An
// occurrence that no change has overtaken returns to the plan and is judged anew;
// anything else is recorded as cancelled.
func (j *jobLoop) putBack(ctx workflow.Context, e *execution) {
	if !j.forget(e) {
		return
	}
	overtaken := e.phase == withdrawn
	e.phase = returned
	j.ExecutionCount--
	if !e.manual {
		j.Started--
	}
	if e.manual || overtaken || !j.Decided.Equal(e.Due) {
		j.noteCancelled(ctx, e.Due)
		return
	}
	j.Last, j.Decided = e.before.Last, e.before.Decided
	j.Plan.Due = slices.Insert(j.Plan.Due, 0, e.Due)
}
