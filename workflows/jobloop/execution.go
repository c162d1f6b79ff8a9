package jobloop

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/activities"
	"almanac/activities/lookups"
	"almanac/internal/audit"
	"almanac/internal/redact"
	"almanac/job"
	"almanac/job/template"
	"almanac/workflows/jobloop/alerts"
	"almanac/workflows/jobloop/state"
)

// A phase is an execution's progress as recorded by the workflow.
//
//	dispatched ───▶ sent ───┐
//	    │            │      │
//	    ▼            ▼      ▼
//	withdrawing ─▶ withdrawn ─▶ removed from running
//	    │                                 ▲
//	    └─▶ returned ─────────────────────┘
//
// An execution of any phase is removed from running when its last activity ends.
//
//	phase         set by                                  meaning
//	dispatched    at first                                no request is known to have been sent; a worker may hold it
//	sent          recordSent, setNext, resume             a request may have been sent
//	withdrawing   withdraw                                cancelled; whether a request may have been sent is being looked up
//	withdrawn     resolveCancelled                        a request may have been sent, and no other follows
//	returned      putBack, which removes it from running  no request was sent, and none will be
//
// A clock decides in one case: an activity that the server cancelled while no worker had it says nothing
// of earlier attempts. Nothing was sent for it before its due time, nor before execution.unsentUntil if
// that is set.
type phase int

const (
	dispatched phase = iota
	sent
	withdrawing
	withdrawn
	returned
)

// An execution is an occurrence or manual run that has not ended.
type execution struct {
	state.RetryWait
	action          job.Action
	slept           bool // the job slept until it, so its punctuality adjusts the lead
	phase           phase
	betweenAttempts bool               // between two activities: the next is scheduled at Next, by a later run if this one ends before
	inFlight        bool               // when last looked up, an attempt may have been sent that has no record
	mayHaveBeenSent bool               // its activity was cancelled when it was due, and the server may have forgotten an attempt that failed at once
	unsentUntil     time.Time          // if set: when last looked up, no attempt was being sent, and the server's retry delay lasted until then, by its clock
	ended           *activities.Ending // if set: when last looked up, the activity's outcome was recorded but not reported
	activity        string             // id of the activity scheduled last
	lastEnd         time.Time          // when its last attempt ended, by its worker; zero if there is no record of it
	cancel          workflow.CancelFunc
}

const (
	// attemptTimeout is how long an attempt may take before it counts as lost: the time limit of the
	// action, and 10 s to report.
	attemptTimeout = activities.DefaultTimeout + 10*time.Second

	// lossTimeout is the heartbeat timeout of an attempt that is not held. It is long enough for a busy
	// server; for held ones see [activities.HeldLossTimeout].
	lossTimeout = 30 * time.Second

	// leastHeld is the shortest hold that gets the short heartbeat timeout: with less, a busy server
	// has no time to catch up.
	leastHeld = 500 * time.Millisecond
)

// errUnsent ends an execution of which no request was sent.
var errUnsent = errors.New("nothing was sent")

// start starts the occurrence that is due then.
func (j *loop) start(ctx workflow.Context, due time.Time) {
	e := &execution{slept: j.timer.Fired() && j.timer.At.Equal(due.Add(-j.LeadTime()))}
	e.Undo = state.Standing{Decided: j.Decided, Last: j.Last}
	j.decided(due)
	j.Started++
	j.beginExecution(ctx, e, due.Format(time.RFC3339), due)
}

// runManually starts a manual run; while the run drains, it is left to the next run of the workflow.
func (j *loop) runManually(ctx workflow.Context) {
	if j.draining() {
		j.DeferredRuns++
		return
	}
	now := workflow.Now(ctx).UTC()
	for _, e := range j.running { // if e returns to the plan, this manual run is the last execution
		e.Undo.Last = later(e.Undo.Last, now)
	}
	j.ManualRuns++
	j.beginExecution(ctx, &execution{RetryWait: state.RetryWait{Manual: true}}, fmt.Sprintf("run %d", j.ManualRuns), now)
}

// startDeferred starts the manual runs that were left while an earlier run drained.
func (j *loop) startDeferred(ctx workflow.Context) {
	for ; j.DeferredRuns > 0 && !j.draining(); j.DeferredRuns-- {
		j.runManually(ctx)
	}
}

// beginExecution starts a new execution. Its id is a hash of the job's id, its creation time, the id of its
// first run, and what (the due time, or "run N"). So an occurrence keeps its id however often it is decided, and
// a job created anew under the same name has other ids.
func (j *loop) beginExecution(ctx workflow.Context, e *execution, what string, due time.Time) {
	j.executions++
	j.ExecutionCount++
	j.Last = later(j.Last, later(workflow.Now(ctx), due))
	name := strings.Join([]string{j.Key.WorkflowID(), j.Created.Format(time.RFC3339), workflow.GetInfo(ctx).FirstRunID, what}, "\n")
	e.Execution = job.Execution{
		ID:         uuid.NewSHA1(uuid.NameSpaceURL, []byte(name)).String(),
		Due:        due,
		Repeat:     j.ExecutionCount,
		ActionName: job.MainAction,
		Job:        j.Key.Name,
		Collection: j.Key.Collection.Name,
		Caller:     audit.ActorOf(ctx).Name(),
	}
	j.spawn(ctx, e)
}

// resume continues the executions that wait for their next attempts. They run the current action: a
// change of the job would have withdrawn them.
func (j *loop) resume(ctx workflow.Context) {
	for _, w := range j.Waiting {
		e := execution{RetryWait: w, betweenAttempts: true}
		if w.Sent {
			e.phase = sent
		}
		j.spawn(ctx, &e)
	}
	j.Waiting = nil
}

// handOver returns what the next run needs to continue a waiting execution.
func (e *execution) handOver() state.RetryWait {
	w := e.RetryWait
	if w.Sent {
		w.Undo = state.Standing{}
	}
	return w
}

// spawn runs an execution, from where it stands, in a coroutine beside the loop.
func (j *loop) spawn(ctx workflow.Context, e *execution) {
	e.action = j.Definition.Action
	j.running = append(j.running, e)
	ctx, _ = workflow.NewDisconnectedContext(ctx) // only withdraw cancels it, not a cancellation of the workflow
	ctx, e.cancel = workflow.WithCancel(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		err := j.runActions(ctx, e)
		j.ended(ctx, e, err)
	})
}

// errBefore stands for the action's error in an earlier run.
var errBefore = errors.New("the action failed")

// runActions runs the action and, if its last attempt failed, the error action. It returns the action's
// error, or errUnsent.
func (j *loop) runActions(ctx workflow.Context, e *execution) error {
	action := e.action
	compensation := action.ErrorAction
	action.ErrorAction = nil
	err := errBefore
	if e.ActionName == job.MainAction {
		err = j.runAction(ctx, e, action)
	}
	if err == nil || errors.Is(err, errUnsent) || e.phase >= withdrawing || compensation == nil {
		return err
	}
	if e.ActionName == job.MainAction {
		e.ActionName, e.Tried, e.betweenAttempts, e.Next = job.ErrorAction, 0, true, workflow.Now(ctx)
	}
	follows := *compensation
	follows.RetryPolicy = cmp.Or(follows.RetryPolicy, action.RetryPolicy)
	_ = j.runAction(ctx, e, follows) // the execution has failed whatever the error action does
	return err
}

// runAction runs one action under its retry policy. The remaining attempts get another activity if an
// attempt was lost, ended before it was sent, or is to begin later than the server retries.
func (j *loop) runAction(ctx workflow.Context, e *execution, action job.Action) error {
	input := activities.Input{Execution: e.Execution, Action: action, MaxAttempts: action.RetryPolicy.Attempts(), Failure: e.Failure}
	input.Compensated = e.ActionName == job.MainAction && e.action.ErrorAction != nil
	input.Explain = input.Compensated && template.Used(e.action.ErrorAction)
	if e.ActionName == job.MainAction && e.slept {
		input.Lead = j.Lead
	}
	for {
		j.awaitNext(ctx, e)
		if err := ctx.Err(); err != nil && e.Sent {
			return err
		} else if err != nil {
			return errUnsent
		}
		input.SentBefore = e.Tried
		if template.Used(&action) {
			input.LastSuccess = j.Outcomes.LastSuccess()
		}
		end, err := j.runActivity(ctx, e, input)
		e.Tried += len(end.Attempts)
		e.noteError(end.Why(err))
		e.Sent = e.Sent || err == nil || e.Tried > 0 || e.inFlight && end.Canceled // the attempt in flight failed before the cancellation
		switch {
		case err == nil:
			return nil
		case e.phase >= withdrawing && (e.Sent || !end.Unsent && !end.Canceled):
			if end.Canceled && !e.inFlight && !e.knownUnsent(workflow.Now(ctx)) {
				j.noteCancelled(ctx, e.Due, "the job was changed when a retry was due; whether that was sent is not known")
			}
			return err
		case e.phase >= withdrawing:
			e.mayHaveBeenSent = end.Canceled && !e.knownUnsent(workflow.Now(ctx))
			return errUnsent
		case end.Unsent && !e.Sent && !e.Manual && j.Decided.Equal(e.Due):
			return errUnsent // to be decided again
		case !end.Lost && !end.Unsent && !end.More || e.Tried >= input.MaxAttempts:
			e.Failure = input.FailureAfter(err, end, e.Tried)
			return err
		}
		e.setNext(workflow.Now(ctx), end, action.RetryPolicy.Interval())
	}
}

// noteError keeps why an attempt of the action failed, unless it is not known.
func (e *execution) noteError(why string) {
	if e.ActionName == job.MainAction {
		e.Error = cmp.Or(redact.Cut(why, state.MaxError), e.Error)
	}
}

// knownUnsent reports whether nothing can have been sent, after what was recorded, for an execution whose activity
// the server cancelled, at now, while no worker had it.
func (e *execution) knownUnsent(now time.Time) bool {
	return now.Before(e.Due.Add(-clockMargin)) || now.Before(e.unsentUntil.Add(-lookups.ServerSkew))
}

// setNext sets when the next attempt begins, after one of the execution's activities ended: at end.Next or,
// if that is zero, when interval has passed since the last attempt.
func (e *execution) setNext(now time.Time, end *activities.Ending, interval time.Duration) {
	e.betweenAttempts, e.Next = true, later(now, end.Next)
	if n := len(end.Attempts); n > 0 && end.Next.IsZero() {
		passed := max(0, now.Sub(end.Attempts[n-1].End)-clockMargin)
		e.Next = later(now, now.Add(interval-passed))
	}
	if e.Sent && e.phase == dispatched {
		e.phase = sent
	}
}

// awaitNext waits until the next attempt is to begin, and while the run drains. It returns at once if the
// execution is cancelled.
func (j *loop) awaitNext(ctx workflow.Context, e *execution) {
	if !e.betweenAttempts {
		return
	}
	j.changed = true
	if workflow.Sleep(ctx, e.Next.Sub(workflow.Now(ctx))) == nil {
		_ = workflow.Await(ctx, func() bool { return !j.draining() })
	}
	e.betweenAttempts = false
}

// clockMargin is how far a worker's clock may differ from the server's before the worker uses the server's.
const clockMargin = time.Second

// runActivity runs one activity of an action. An activity scheduled before the due time is held by the
// worker until then. If no worker reported the outcome but one had recorded it, that is returned.
func (j *loop) runActivity(ctx workflow.Context, e *execution, input activities.Input) (*activities.Ending, error) {
	held := max(0, e.Due.Sub(workflow.Now(ctx)))
	j.activities++
	j.beginActivity(ctx, e)
	e.activity, e.unsentUntil, e.ended = "action-"+strconv.Itoa(j.activities), time.Time{}, nil
	options := workflow.ActivityOptions{
		ActivityID:          e.activity,
		StartToCloseTimeout: held + attemptTimeout,
		HeartbeatTimeout:    lossTimeout,
		WaitForCancellation: true, // an attempt already sent runs to its end
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
	if err != nil || len(out.Attempts) > 1 || input.SentBefore > 0 {
		j.failures = true
	}
	end := activities.EndingOf(err, workflow.Now(ctx), workflow.Now(ctx))
	if end.Canceled && e.ended != nil {
		end = *e.ended
	}
	e.lastEnd = time.Time{}
	attempts := append(out.Attempts, end.Attempts...) // one of the two is empty
	j.endActivity(ctx, e, attempts, err, end.Unsent)
	if len(attempts) > 0 {
		e.lastEnd = attempts[len(attempts)-1].End
		if e.Began.IsZero() { // the first activity is the main action's
			e.Began = attempts[0].Start
		}
	}
	if end.Recorded != nil {
		err = end.Recorded.Err(end.Attempts)
	}
	if input.Execution.ActionName == job.MainAction && !e.Manual {
		j.adoptLeadAndHold(&out, &end)
	}
	return &end, err
}

const (
	// takeoverInterval is the time until the server gives a lost attempt to another worker. It doubles
	// each time, up to the retry interval.
	takeoverInterval = 200 * time.Millisecond

	// maxTakeovers is the number of lost attempts the server retries per activity.
	maxTakeovers = 3
)

// retryPolicy returns the activity's retry policy, which applies to lost attempts only. A failed
// attempt sets its own next retry delay by the job's retry policy, or ends the activity.
func retryPolicy(in *activities.Input) *temporal.RetryPolicy {
	return &temporal.RetryPolicy{
		InitialInterval:    takeoverInterval,
		BackoffCoefficient: 2,
		MaximumInterval:    max(takeoverInterval, in.Action.RetryPolicy.Interval()),
		MaximumAttempts:    int32(in.MaxAttempts - in.SentBefore + maxTakeovers),
	}
}

// ended records the end of an execution.
func (j *loop) ended(ctx workflow.Context, e *execution, err error) {
	j.changed = true
	if errors.Is(err, errUnsent) {
		j.putBack(ctx, e)
		return
	}
	if !j.removeRunning(e) {
		return // it was returned to the plan before
	}
	j.settle(ctx, e, err)
	switch {
	case !e.Manual:
		j.Failed = err != nil
		if j.overlap() != job.OverlapAllowAll {
			j.BusyUntil = e.endedAt(workflow.Now(ctx))
		}
	case !j.Final.IsZero():
		j.Final = workflow.Now(ctx) // keep the final job for another keepFinal
	}
}

// settle records the final status of an execution that was sent, or may have been: err is nil if it succeeded. Every
// such execution comes here, once.
func (j *loop) settle(ctx workflow.Context, e *execution, err error) {
	if err != nil {
		if _, silent := errors.AsType[*temporal.TimeoutError](err); silent { // otherwise a worker has logged it
			workflow.GetLogger(ctx).Warn("execution failed", "collection", j.Key.Collection.Name, "job", j.Key.Name, "execution", e.ID,
				"due", e.Due, "error", "no worker recorded the outcome; the request may have been sent", "next", "given up")
		}
		j.FailureCount++
		if e.phase < withdrawing || e.ActionName == job.ErrorAction { // all attempts of the action failed
			j.FaultedCount++
		}
	}
	why := cmp.Or(e.Error, noRecord)
	failedBefore := state.Record(&j.Outcomes, state.Ending{Due: e.Due, At: e.endedAt(workflow.Now(ctx)), Failed: err != nil, Why: why})
	j.raiser.Ended(ctx, alerts.End{Execution: e.Execution, Manual: e.Manual, Failed: err != nil, Error: why, Began: e.Began}, failedBefore)
	if err == nil {
		j.Forgiven = 0
	} else {
		j.disableAfterFailures(ctx)
	}
}

// noRecord is why an execution failed of which nothing is recorded.
const noRecord = "No worker recorded the outcome; the request may have been sent."

// endedAt returns when an execution ended whose end the workflow learned now: when its last attempt ended, which
// can be long before if the outcome had to wait, or its worker was lost.
func (e *execution) endedAt(now time.Time) time.Time {
	if e.lastEnd.IsZero() || e.lastEnd.After(now) {
		return now
	}
	return e.lastEnd
}

// removeRunning removes an execution from the running ones, and reports whether it was one of them.
func (j *loop) removeRunning(e *execution) bool {
	n := len(j.running)
	j.running = slices.DeleteFunc(j.running, func(other *execution) bool { return other == e })
	return len(j.running) < n
}

// putBack undoes the start of an execution of which nothing was sent. An occurrence returns to the plan and
// is decided again, unless a change has overtaken it; then it is recorded as cancelled, as a manual run is.
func (j *loop) putBack(ctx workflow.Context, e *execution) {
	if !j.removeRunning(e) {
		return
	}
	overtaken := e.phase == withdrawn || e.mayHaveBeenSent
	e.phase = returned
	j.ExecutionCount--
	if !e.Manual && !e.mayHaveBeenSent { // otherwise more than recurrence.count might be sent
		j.Started--
	}
	if e.Manual || overtaken || !j.Decided.Equal(e.Due) {
		why := "the job was changed before it was sent"
		if e.mayHaveBeenSent {
			why = "the job was changed when it was due; whether it was sent is not known"
		}
		j.noteCancelled(ctx, e.Due, why)
		return
	}
	j.Last, j.Decided = e.Undo.Last, e.Undo.Decided
	j.Plan.Due = slices.Insert(j.Plan.Due, 0, e.Due)
}
