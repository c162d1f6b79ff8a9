// Package activities performs the actions of jobs. Each attempt is one Temporal activity task.
//
// A [Runner] does what all kinds of action share: records, the time limit, and what may be repeated. A
// [Sender] performs one kind.
package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"almanac/activities/completions"
	"almanac/activities/hosts"
	"almanac/activities/journal"
	"almanac/activities/lease"
	"almanac/internal/clock"
	"almanac/internal/latency"
	"almanac/internal/redact"
	"almanac/internal/telemetry"
	"almanac/job"
	"almanac/job/template"
)

// TypeAction is the activity type of [Runner.Run].
const TypeAction = "Action"

// ErrTypeFailed is the application error type of a failed attempt. Its details are a [Report].
const ErrTypeFailed = "ActionFailed"

// ErrTypeUnsent is the error type of [Output.Err], and of an attempt that the server retries later
// because its retry interval is not over or its host has too many unanswered requests. Its details are
// a [Report] of the attempts before.
const ErrTypeUnsent = "Unsent"

// ErrTypeLost is the application error type of an attempt that found the one before without a record
// although it may have been sent. Its details are a [Report] that includes the lost attempt.
const ErrTypeLost = "Lost"

// DefaultTimeout is the time limit of an attempt. The activity's StartToCloseTimeout must be longer, to
// leave time for reporting.
const DefaultTimeout = time.Minute

// Input is the input of [Runner.Run].
type Input struct {
	Execution   job.Execution     `json:"execution"`
	Action      job.Action        `json:"action"`                // without its error action
	MaxAttempts int               `json:"max"`                   // maximum number of attempts that may be sent, at least 1
	SentBefore  int               `json:"before,omitempty"`      // attempts of earlier activities that may have been sent
	Compensated bool              `json:"compensated,omitempty"` // an error action follows a failure
	Explain     bool              `json:"explain,omitempty"`     // the error action has placeholders for what failed
	Failure     *template.Failure `json:"failure,omitempty"`     // what failed, in such an error action
	LastSuccess time.Time         `json:"lastSuccess,omitzero"`  // when the last execution of the job that succeeded ended, in an action with placeholders; zero: never
}

// FailureAfter returns what the error action can say after the action failed with err; nil unless Explain.
func (in *Input) FailureAfter(err error, end *Ending, attempts int) *template.Failure {
	if !in.Explain {
		return nil
	}
	f := &template.Failure{Error: lostMessage, Attempts: attempts, Status: end.Status}
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		f.Error = failed.Message()
	}
	f.Message = f.Error
	if n := len(end.Attempts); n > 0 {
		f.Message = redact.Cut(end.Attempts[n-1].Message, maxExplained)
	}
	return f
}

// held reports whether an attempt that begins at the given time is held until its due time.
func (in *Input) held(begins time.Time) bool { return in.Execution.Due.After(begins) }

// Output is the result of an action that succeeded, or of an attempt that ended before it was sent
// because the job was changed, the worker stopped, or the server did not answer. The latter is not an
// error, so that Temporal's Web UI shows no failure.
type Output struct {
	Unsent   string        `json:"unsent,omitempty"` // why nothing was sent; Attempts are then those before
	Attempts []job.Attempt `json:"attempts"`         // oldest first; the last one completed
	Hold     int           `json:"hold,omitempty"`   // hold of the next executions in milliseconds; see [DefaultMaxHold]; 0: unchanged
	Loss     int           `json:"loss,omitempty"`   // loss time of the next execution in milliseconds, if it is held; see [MinHeldLoss]; 0: unchanged
}

// Err returns nil if the action succeeded, otherwise an [ErrTypeUnsent] error for [EndingOf].
func (o *Output) Err() error {
	if o.Unsent == "" {
		return nil
	}
	return unsentError(o.Unsent, ErrTypeUnsent, o.Attempts, 0)
}

// A Sender performs actions of one kind.
type Sender interface {
	// Send performs the action once. It never repeats what a receiver may have seen, and returns soon
	// after ctx ends; context.Cause(ctx) is then the reason shown in the history.
	//
	// message describes the outcome for the history; "" stands for the error's text. A nil error is success.
	// The error's text must be short and have nothing of the answer, since traces show it. A [ReasonError] says more to people. A
	// [PermanentError] is not retried, a [RetryAfterError] not before its time. No text may hold secrets.
	Send(ctx context.Context, e job.Execution, a *job.Action) (message string, err error)
}

// A PermanentError is a failure that is not retried, since another attempt would fail too.
type PermanentError struct{ Err error }

func (e *PermanentError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *PermanentError) Unwrap() error { return e.Err }

// A RetryAfterError is a failure after which the receiver asks for a pause. The next attempt waits for
// After, at most an hour, and never less than the retry policy says.
type RetryAfterError struct {
	Err   error
	After time.Duration
}

func (e *RetryAfterError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *RetryAfterError) Unwrap() error { return e.Err }

// MaxRetryAfter limits [RetryAfterError.After].
const MaxRetryAfter = time.Hour

// A Runner performs actions. Its fields must be set before it is registered.
type Runner struct {
	Senders     map[job.ActionType]Sender // by [job.ActionType.Kind]; other kinds fail permanently
	Log         *slog.Logger
	Timeout     time.Duration        // of one attempt; 0 means DefaultTimeout
	Grace       time.Duration        // how long a running attempt may go on after the worker stops; shorter than the worker's stop timeout
	PerHost     int                  // maximum number of unanswered requests per host; 0: no limit
	MaxHold     time.Duration        // occurrences due within it when an execution ends are dispatched at once; 0: none
	Clock       clock.Clock          // decides when an execution is due
	Completions *completions.Limiter // nil: outcomes are reported at once
	Latency     *latency.Meter       // of the server; nil: it is always quick
	Observe     *telemetry.Attempts  // nil: attempts are not measured
	Journal     *journal.Journal     // keeps outcomes if this process is killed; nil: they are lost with it
	OnlyWorker  bool                 // whoever takes over an attempt has this Journal
	Queue       string               // task queue on which only this process performs [Runner.Release]; "": none does

	holds    holds
	pace     pace
	releases releases
	hosts    hosts.Limiter
	outcomes outcomes
	limiter  sendLimiter
}

// Run makes one attempt of an action when it is due, or reports the outcome of one whose worker was lost
// before it could. The records are passed to the next attempt as heartbeat details, and finally returned in
// the output or in the error's details. Error types:
//
//   - [ErrTypeFailed]: the attempt failed.
//   - [ErrTypeUnsent]: the server retries the attempt later.
//   - [ErrTypeLost]: final.
func (r *Runner) Run(ctx context.Context, in Input) (Output, error) {
	info := activity.GetInfo(ctx)
	r.Clock.Observe(info.StartedTime, r.Log)
	progress, err := r.readProgress(ctx)
	if err != nil {
		return Output{}, r.lost(ctx, &in, nil, int(info.Attempt)-1)
	}
	c := newLossClock(&info, progress.Attempts)
	if progress.Ended != nil { // the worker that made the attempt was lost before it could report
		return r.report(ctx, progress.Attempts, progress.Ended, 0, c)
	}
	o, err := r.attempt(ctx, &in, progress, c)
	if err != nil {
		return Output{}, err
	}
	defer r.outcomes.reported(in.outcomeKey(progress.Attempts), o)
	if o.unsent != nil {
		out := Output{Unsent: o.unsent.Error(), Attempts: progress.Attempts}
		if errors.Is(o.unsent, errFull) {
			out.Hold = int(NoHold.Milliseconds())
		}
		return out, nil
	}
	attempts, err := progress.Attempts, o.err
	begin := in.Execution.Due
	switch {
	case !progress.Next.IsZero():
		begin = progress.Next
	case in.SentBefore > 0 || in.Execution.ActionName == job.ErrorAction:
		begin = info.ScheduledTime
	}
	record := job.Attempt{
		Number: len(attempts) + 1, Start: o.start.UTC(), End: o.end.UTC(),
		Outcome: job.OutcomeCompleted, Message: o.message,
	}
	if err != nil {
		record.Outcome, record.Message, record.Reason = job.OutcomeFailed, cmp.Or(o.message, err.Error()), o.reason()
	}
	attempts = bounded(append(attempts, record))
	ctx = o.observed.Context(ctx)
	if err == nil {
		r.ended(ctx, &in, o, record, begin, following{})
		return r.report(ctx, attempts, &Ended{}, o.together, c)
	}
	next, ended, failed := r.fail(ctx, o, attempts, in, c)
	r.ended(ctx, &in, o, record, begin, next)
	if ended != nil {
		return r.report(ctx, attempts, ended, 0, c)
	}
	return Output{}, failed
}

// takeUpLimit is how long after its due time a worker may take up an occurrence dispatched ahead that was
// not sent, for example after a worker crash or because its host was full. Later it is decided again, since
// the next occurrence, at least a minute after it, may be due as well.
const takeUpLimit = 30 * time.Second

// attempt makes the next attempt. If an earlier one without a record may have been sent, it returns
// that attempt's outcome instead, or an [ErrTypeLost] error if neither this process nor its journal knows it.
func (r *Runner) attempt(ctx context.Context, in *Input, progress Progress, c *lossClock) (*outcome, error) {
	info := activity.GetInfo(ctx)
	key := in.outcomeKey(progress.Attempts)
	if progress.MaybeSent() {
		stop := r.keepAlive(ctx, progress, lease.New(time.Now(), time.Duration(progress.Lease)*time.Millisecond), c)
		o := r.outcomes.await(ctx, key)
		if o == nil {
			o = r.findOutcome(key)
		}
		stop()
		if o == nil {
			return nil, r.lost(ctx, in, progress.Attempts, 1)
		}
		return o, nil
	}
	ahead := len(progress.Attempts) == 0 && in.held(info.ScheduledTime)
	if ahead && r.Clock.Until(in.Execution.Due) < -takeUpLimit {
		return &outcome{unsent: errTakenUpLate}, nil
	}
	if ahead && r.full(r.Clock.Until(in.Execution.Due)) {
		return &outcome{unsent: errFull}, nil
	}
	if ahead && info.Attempt > 1 {
		r.Completions.Yield()
	}
	// A server that crashed may dispatch a task a second time, as that of the next attempt (Temporal
	// 1.32). 2 s are for clock skew.
	if wait := r.Clock.Until(progress.Next); wait > 2*time.Second {
		return nil, unsentError("its retry interval is not over; nothing was sent", ErrTypeUnsent, progress.Attempts, wait)
	}
	if err := r.waitUntil(ctx, progress.Next); err != nil {
		return &outcome{unsent: err}, nil
	}
	finish := r.outcomes.begin(key)
	defer r.Observe.Wait(in.attempt(in.SentBefore + len(progress.Attempts) + 1))()
	o := r.holdAndSend(ctx, in, progress.Attempts, c)
	finish(o)
	if policy := info.RetryPolicy; o.hostFull && (policy == nil || info.Attempt != policy.MaximumAttempts) { // otherwise the workflow decides it again
		return nil, r.hostFullError(in, &progress)
	}
	return o, nil
}

// lost returns the error of an attempt that found up to n earlier ones without a record that may have
// been sent.
func (r *Runner) lost(ctx context.Context, in *Input, attempts []job.Attempt, n int) error {
	info := activity.GetInfo(ctx)
	since := info.ScheduledTime
	if in.held(since) {
		since = in.Execution.Due
	}
	for range max(1, min(n, in.MaxAttempts-in.SentBefore-len(attempts))) {
		attempts = withLost(attempts, since, info.StartedTime)
	}
	record, next := attempts[len(attempts)-1], following{text: nextAfterLast(in)}
	if in.SentBefore+len(attempts) < in.MaxAttempts {
		next = nextRetry(record.End.Add(in.Action.RetryPolicy.Interval()))
	}
	r.ended(ctx, in, &outcome{lost: true}, record, since, next)
	return unsentError(lostMessage, ErrTypeLost, attempts, 0)
}

// holdAndSend waits until the execution is due, passes the fence shortly before, and performs the action once.
func (r *Runner) holdAndSend(ctx context.Context, in *Input, recorded []job.Attempt, c *lossClock) *outcome {
	info, due := activity.GetInfo(ctx), in.Execution.Due
	var h *heldAttempt
	if in.held(info.StartedTime) {
		h = r.holds.enter(in.Execution.ID, due, r.Clock.Until(due))
	}
	sent := sync.OnceFunc(func() { r.holds.sent(h) })
	defer sent()
	ctx, one := r.releases.enter(ctx)
	defer one.leave()
	err := r.awaitFence(ctx, in, h)
	for least := r.Latency.Patience(leaseTime, busyLease); err == nil; least = min(2*least, MaxLease) { // connecting may take longer than a lease
		if err = r.awaitHost(ctx, in, c); errors.Is(err, errHostFull) {
			return &outcome{unsent: err, hostFull: !c.fenced}
		}
		var l *lease.Lease
		if err == nil {
			l, err = r.fence(ctx, in, recorded, least, h, c)
		}
		if err == nil && h != nil {
			err = r.waitUntil(ctx, due)
		}
		if err == nil {
			if o := r.sendLeased(ctx, in, recorded, l, c, one, sent); o != nil {
				c.unkept = !r.keepOutcome(ctx, in.outcomeKey(recorded), o)
				o.together = r.holds.size(h)
				stop := r.keepAlive(ctx, Progress{Attempts: recorded, Sent: len(recorded) + 1}, nil, c)
				h.yield(ctx, r.Latency.Patience(leastYield, mostYield))
				stop()
				return o
			}
		}
	}
	return &outcome{unsent: err}
}

// sendLeased performs the action once if that begins within the lease, and before the attempt is released. Otherwise nothing is
// sent, and it returns nil.
func (r *Runner) sendLeased(ctx context.Context, in *Input, recorded []job.Attempt, l *lease.Lease, c *lossClock, one *releasable, sent func()) *outcome {
	end := r.limiter.begin(sent)
	defer end()
	leased, cancel := context.WithTimeout(ctx, l.Remaining())
	defer cancel()
	leave, err := r.hosts.Enter(leased, hostKey(&in.Action), r.PerHost) // last, so that attempts waiting for this worker take no places of the host
	if err != nil {
		return nil
	}
	defer leave()
	if l.Over() || !one.begin() {
		return nil
	}
	ctx, observed := r.Observe.Begin(ctx, in.attempt(in.SentBefore+len(recorded)+1))
	began, o := time.Now(), &outcome{start: r.Clock.Now(), observed: observed}
	o.message, o.err = r.send(lease.With(ctx, l), *in, recorded, l, c)
	if l.Refused() {
		one.notSent()
		r.Observe.Drop(observed)
		return nil
	}
	ended := time.Now()
	o.end = o.start.Add(ended.Sub(began)) // by the monotonic clock, so that setting the clock does not change the duration
	r.Observe.End(observed, string(o.answer()), o.failure(), ended)
	return o
}

// fail returns what follows a failed attempt. If that ends the activity, ended is what to report. Otherwise
// the records are kept for the server's next attempt, and failed is the activity's error.
func (r *Runner) fail(ctx context.Context, o *outcome, attempts []job.Attempt, in Input, c *lossClock) (follows following, ended *Ended, failed error) {
	err := o.err
	ended = &Ended{Error: o.reason()}
	if answered, ok := errors.AsType[*AnsweredError](err); ok && in.Explain {
		ended.Status = answered.Status
	}
	_, permanent := errors.AsType[*PermanentError](err)
	if permanent || in.SentBefore+len(attempts) >= in.MaxAttempts {
		return following{text: nextAfterLast(&in)}, ended, nil
	}
	delay := retryDelay(err, in.Action.RetryPolicy)
	next := r.Clock.Now().Add(delay)
	info := activity.GetInfo(ctx)
	if next.Sub(info.ScheduledTime) > job.RetriesWithin && next.Sub(in.Execution.Due) > job.RetriesWithin {
		ended.Next = next
		return nextRetry(next), ended, nil
	}
	follows = nextRetry(next)
	if r.keep(ctx, in.Execution.ID, attempts, next) {
		r.shorten(ctx, o, c)
	} else {
		follows = following{text: nextWithdrawn}
	}
	return follows, nil, failedError(ended.Error, Report{Attempts: attempts}, temporal.ApplicationErrorOptions{NextRetryDelay: delay})
}

// report waits until the outcome of the last attempt may be reported, and returns it. Meanwhile heartbeats
// record it, so that it is known even if this worker is lost. together is the number of attempts that were held with it; 0 if it
// was not held.
func (r *Runner) report(ctx context.Context, attempts []job.Attempt, e *Ended, together int, c *lossClock) (Output, error) {
	stop := r.keepAlive(ctx, Progress{Attempts: attempts, Sent: len(attempts), Ended: e}, nil, c)
	r.Completions.Enter(ctx)
	stop()
	e.Hold = r.nextHold()
	if err := e.Err(attempts); err != nil {
		return Output{}, err
	}
	out := Output{Attempts: attempts, Hold: e.Hold}
	if together > 0 {
		out.Loss = int(r.heldLoss(together).Milliseconds())
	}
	return out, nil
}

// keep records attempts for the activity's next attempt. It returns false if the activity is withdrawn,
// so that there is none.
func (r *Runner) keep(ctx context.Context, execution string, attempts []job.Attempt, next time.Time) bool {
	// The heartbeat must get through even if the attempt failed because its context ended.
	failed := r.heartbeat(context.WithoutCancel(ctx), Progress{Attempts: attempts, Sent: len(attempts), Next: next})
	if isWithdrawn(failed) {
		return false
	}
	if failed != nil {
		r.Log.WarnContext(ctx, "the record of an attempt could not be kept for the next one", slog.String("execution", execution), slog.Any("error", failed))
	}
	return true
}

// retryDelay returns the delay before the next attempt: the retry policy's interval, or what the
// receiver asked for if that is longer.
func retryDelay(err error, p *job.RetryPolicy) time.Duration {
	if asked, ok := errors.AsType[*RetryAfterError](err); ok {
		return max(p.Interval(), min(asked.After, MaxRetryAfter))
	}
	return p.Interval()
}

// readProgress returns the progress recorded by the activity's earlier attempts.
func (r *Runner) readProgress(ctx context.Context) (p Progress, err error) {
	if activity.HasHeartbeatDetails(ctx) {
		err = activity.GetHeartbeatDetails(ctx, &p)
	}
	if err != nil {
		r.Log.WarnContext(ctx, "records of earlier attempts cannot be read", slog.Any("error", err))
	}
	return p, err
}

// send performs the action within the limits of one attempt.
func (r *Runner) send(ctx context.Context, in Input, recorded []job.Attempt, l *lease.Lease, c *lossClock) (message string, err error) {
	kind := in.Action.Type.Kind()
	sender, ok := r.Senders[kind]
	if !ok {
		return "", &PermanentError{fmt.Errorf("this worker does not perform actions of type %q; the job is kept as it is", cmp.Or(kind, in.Action.Type))}
	}
	action, err := template.Render(&in.Action, template.Values{Execution: in.Execution, Attempt: in.SentBefore + len(recorded) + 1, LastSuccess: in.LastSuccess, Failure: in.Failure})
	if err != nil {
		return "", &PermanentError{err}
	}
	attempt, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	go r.watch(ctx, attempt, end)
	defer r.keepAlive(ctx, Progress{Attempts: recorded, Sent: len(recorded) + 1}, l, c)()
	defer func() {
		if p := recover(); p != nil {
			// The value may contain secrets; the stack does not.
			r.Log.ErrorContext(ctx, "sender panicked", slog.String("execution", in.Execution.ID), slog.String("kind", string(kind)),
				slog.String("type", fmt.Sprintf("%T", p)), slog.String("stack", string(debug.Stack())))
			message, err = "", errPanic
		}
	}()
	message, err = sender.Send(attempt, in.Execution, action)
	if err != nil && attempt.Err() != nil {
		return message, EndedBy(context.Cause(attempt), err)
	}
	return message, err
}

// EndedBy returns why an attempt failed that was ended by cause, with the sentence of the sender's error.
func EndedBy(cause, err error) error {
	if said, ok := errors.AsType[*ReasonError](err); ok {
		return &ReasonError{said.Reason, cause}
	}
	return cause
}

// Reasons why an attempt ended before its sender returned, as shown in the history.
var (
	errStopped = errors.New("the worker was stopped; the request may have been sent")
	errPanic   = errors.New("an internal error of Almanac, described in its log, ended the attempt; the request may have been sent")
)

// watch ends the attempt, with its cause, at its time limit or at the end of Grace after the worker
// stops. Cancellation does not end it, since the request was sent.
func (r *Runner) watch(ctx, attempt context.Context, end context.CancelCauseFunc) {
	limit := cmp.Or(r.Timeout, DefaultTimeout)
	timeout := time.After(limit)
	stopping := activity.GetWorkerStopChannel(ctx)
	var stop <-chan time.Time
	for {
		select {
		case <-attempt.Done():
			return
		case <-timeout:
			end(&timeoutError{limit})
		case <-stopping:
			stopping, stop = nil, time.After(r.Grace)
		case <-stop:
			end(errStopped)
		}
	}
}
