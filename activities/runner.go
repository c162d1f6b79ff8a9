// Package activities performs the actions of jobs: each attempt of an action
// is one Temporal activity task.
//
// A [Runner] does what all kinds of action have in common: it keeps the record
// of every attempt, limits an attempt's time and decides what may be repeated.
// A [Sender] does what is special to one kind.
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

	"almanac/internal/clock"
	"almanac/internal/redact"
	"almanac/job"
)

// TypeAction is the name of the activity type that [Runner.Run] is registered under.
const TypeAction = "Action"

// ErrTypeFailed is the type of the application error that a failed attempt
// returns. Its details are a [Report].
const ErrTypeFailed = "ActionFailed"

// ErrTypeUnsent is the type of the error of [Output.Err], and of an attempt that the server
// is to make later: its retry interval is not over, or its host has too many unanswered
// requests. Its details are a [Report] of the attempts before.
const ErrTypeUnsent = "Unsent"

// ErrTypeLost is the type of the application error of an attempt that found that
// the one before it may have been sent and left no record. Its details are a
// [Report], with a record of that.
const ErrTypeLost = "Lost"

// DefaultTimeout is how long an attempt may take. The activity's
// StartToCloseTimeout must be longer, for the outcome has to be reported too.
const DefaultTimeout = time.Minute

// Input is what the activity is to do.
type Input struct {
	Execution   job.Execution `json:"execution"`
	Action      job.Action    `json:"action"`                // without its error action
	MaxAttempts int           `json:"max"`                   // how many attempts may be sent, at least 1
	Before      int           `json:"before,omitempty"`      // attempts of the activities before this one whose requests may have left
	Compensated bool          `json:"compensated,omitempty"` // an error action follows if it fails
	Lead        int           `json:"lead,omitempty"`        // how far ahead of its due time it was dispatched, in milliseconds; 0: nothing is learnt from it
}

// held reports whether an attempt that begins at an instant is held until it is due.
func (in *Input) held(begins time.Time) bool { return in.Execution.Due.After(begins) }

// Output is the result of an action that succeeded, or of an attempt that ended before
// its request could have left: its job was changed, its worker stopped, or the server
// did not answer. That is no failure, and Temporal's Web UI does not show it as one.
type Output struct {
	Unsent   string        `json:"unsent,omitempty"` // why nothing was sent; the attempts are those before
	Attempts []job.Attempt `json:"attempts"`         // every attempt, oldest first; the last one completed
	Lead     int           `json:"lead,omitempty"`   // how far ahead the next execution should be dispatched, in milliseconds; 0: nothing was learnt
	Hold     int           `json:"hold,omitempty"`   // within what time the next execution should be dispatched at once, in milliseconds
}

// Err returns nil for an action that succeeded, and otherwise an error that says that
// nothing was sent. [EndingOf] reads it.
func (o *Output) Err() error {
	if o.Unsent == "" {
		return nil
	}
	return notMade(o.Unsent, ErrTypeUnsent, o.Attempts, 0)
}

// A Sender performs actions of one kind.
type Sender interface {
	// Send performs the action once. It never repeats what a receiver may have
	// seen, and returns soon after ctx ends; context.Cause(ctx) then says why,
	// in words for the history.
	//
	// The message describes the outcome for the history; an empty one stands
	// for the error's text. A nil error is success. The error's text is short:
	// logs and Temporal's Web UI show it. A [PermanentError] is not tried
	// again, and a [RetryAfterError] not too soon. Neither text holds secrets.
	Send(ctx context.Context, e job.Execution, a *job.Action) (message string, err error)
}

// A PermanentError is a failure that another attempt would only repeat.
type PermanentError struct{ Err error }

func (e *PermanentError) Error() string { return e.Err.Error() }

// Unwrap returns the error itself.
func (e *PermanentError) Unwrap() error { return e.Err }

// A RetryAfterError is a failure after which the receiver wants to be left
// alone for a while: the next attempt waits at least After, within reason, and
// never less than the retry policy says.
type RetryAfterError struct {
	Err   error
	After time.Duration
}

func (e *RetryAfterError) Error() string { return e.Err.Error() }

// Unwrap returns the error itself.
func (e *RetryAfterError) Unwrap() error { return e.Err }

// retriesWithin is for how long, since an activity was scheduled or due, the server has
// it retried. Later attempts are made by other activities: a workflow that waits for one
// of them can continue as new meanwhile, and the server need not keep the records.
const retriesWithin = time.Minute

// maxRetryAfter is how long a receiver may put off the next attempt.
const maxRetryAfter = time.Hour

// A Runner performs actions. Its fields are set before it is registered.
type Runner struct {
	Senders map[job.ActionType]Sender // by [job.ActionType.Kind]; a kind without one fails for good
	Log     *slog.Logger
	Timeout time.Duration // for one attempt; 0 means DefaultTimeout
	Grace   time.Duration // how long a running attempt may go on when the worker stops; less than the worker's stop timeout
	PerHost int           // how many requests to one host may be unanswered; 0: any number
	Lead    Lead
	Clock   clock.Clock // says when an execution is due
	Reports *Reports    // nil: outcomes are reported at once

	holds    holds
	hosts    hosts
	outcomes outcomes
	pace     pace
}

// Run makes one attempt of an action, once that is due. Until the last attempt
// the records are handed to the next one as heartbeat details; in the end they
// are in the output, or in the error's details. The types of its errors are
// [ErrTypeFailed], [ErrTypeUnsent], after which the server makes the attempt later, and
// [ErrTypeLost], which is final.
func (r *Runner) Run(ctx context.Context, in Input) (Output, error) {
	info := activity.GetInfo(ctx)
	r.Clock.Observe(info.StartedTime, r.Log)
	slack := r.Clock.Until(in.Execution.Due)
	before, err := r.earlier(ctx)
	if err != nil {
		return Output{}, r.lost(ctx, &in, nil, int(info.Attempt)-1)
	}
	o, err := r.attempt(ctx, &in, before)
	if err != nil {
		return Output{}, err
	}
	if o.unsent != nil {
		return Output{Unsent: o.unsent.Error(), Attempts: before.Attempts}, nil
	}
	attempts, took, err := before.Attempts, o.end.Sub(o.start), o.err
	lead := r.nextLead(&in, info.Attempt, slack, took)
	begin := in.Execution.Due
	switch {
	case !before.Next.IsZero():
		begin = before.Next
	case in.Before > 0 || in.Execution.ActionName == job.ErrorAction:
		begin = info.ScheduledTime
	}
	record := job.Attempt{
		Number: len(attempts) + 1, Start: o.start.UTC(), End: o.end.UTC(),
		Outcome: job.OutcomeCompleted, Message: o.message,
	}
	if err != nil {
		record.Outcome, record.Message = job.OutcomeFailed, cmp.Or(o.message, err.Error())
	}
	attempts = bounded(append(attempts, record))
	if err == nil {
		r.log(ctx, &in, record, begin, "", "")
		r.awaitReport(ctx, before.Attempts)
		return Output{Attempts: attempts, Lead: lead, Hold: r.nextHold()}, nil
	}
	next, ended, failed := r.report(ctx, err, attempts, lead, in)
	r.log(ctx, &in, record, begin, err.Error(), next)
	if ended {
		r.awaitReport(ctx, before.Attempts)
	}
	return Output{}, failed
}

// takeUpLimit is how long after its due time an occurrence that was dispatched ahead
// may be taken up: by a first worker, or after others lost it or its host was full.
// After that it is judged anew: the next one, which comes a minute later at the
// earliest, may be due as well.
const takeUpLimit = 30 * time.Second

// attempt makes the attempt that follows what is recorded of those before, unless
// one of these may have been sent and left no record: then it returns the outcome of
// that, which this process may know.
func (r *Runner) attempt(ctx context.Context, in *Input, before Progress) (*outcome, error) {
	info := activity.GetInfo(ctx)
	key := outcomeKey{in.Execution.ID, in.Execution.ActionName, in.Before + len(before.Attempts) + 1}
	if before.MaybeSent() {
		stop := r.keepAlive(ctx, before, &lease{start: time.Now(), length: time.Duration(before.Lease) * time.Millisecond})
		o := r.outcomes.await(ctx, key)
		stop()
		if o == nil {
			return nil, r.lost(ctx, in, before.Attempts, 1)
		}
		return o, nil
	}
	ahead := len(before.Attempts) == 0 && in.held(info.ScheduledTime)
	if ahead && r.Clock.Until(in.Execution.Due) < -takeUpLimit {
		return &outcome{unsent: errTakenUpLate}, nil
	}
	// A server that crashed may hand out a task a second time, which it takes for
	// that of the next attempt (Temporal 1.32). Clocks may differ a little.
	if wait := r.Clock.Until(before.Next); wait > 2*time.Second {
		return nil, notMade("its retry interval is not over; nothing was sent", ErrTypeUnsent, before.Attempts, wait)
	}
	if err := r.waitUntil(ctx, before.Next); err != nil {
		return &outcome{unsent: err}, nil
	}
	finish := r.outcomes.begin(key)
	o := r.hold(ctx, in, before.Attempts)
	finish(o)
	if policy := info.RetryPolicy; o.hostFull && (policy == nil || info.Attempt != policy.MaximumAttempts) { // else the workflow decides anew
		return nil, r.madeLater(in, &before)
	}
	return o, nil
}

// lost returns the error of an attempt that found that up to n of those before it may
// have been sent, and left no record.
func (r *Runner) lost(ctx context.Context, in *Input, attempts []job.Attempt, n int) error {
	info := activity.GetInfo(ctx)
	since := info.ScheduledTime
	if in.held(since) {
		since = in.Execution.Due
	}
	for range max(1, min(n, in.MaxAttempts-in.Before-len(attempts))) {
		attempts = withLost(attempts, since, info.StartedTime)
	}
	record, next := attempts[len(attempts)-1], nextAfterLast(in)
	if in.Before+len(attempts) < in.MaxAttempts {
		next = nextRetry(record.End.Add(in.Action.RetryPolicy.Interval()))
	}
	r.log(ctx, in, record, since, lostMessage, next)
	return notMade(lostMessage, ErrTypeLost, attempts, 0)
}

// hold waits until the execution is due, passes the fence before, and has the
// action performed once.
func (r *Runner) hold(ctx context.Context, in *Input, earlier []job.Attempt) *outcome {
	due := in.Execution.Due
	var h *hold
	if in.held(activity.GetInfo(ctx).StartedTime) {
		h = r.holds.enter(in.Execution.ID, due, r.Clock.Until(due))
	}
	sent := sync.OnceFunc(func() { r.holds.sent(h) })
	defer sent()
	err := r.awaitFence(ctx, h, due)
	for least := leaseTime; err == nil; least = min(2*least, maxLease) { // to connect may take longer than the last lease
		if err = r.awaitHost(ctx, in); errors.Is(err, errHostFull) {
			return &outcome{unsent: err, hostFull: least == leaseTime}
		}
		var l *lease
		if err == nil {
			l, err = r.fence(ctx, in, earlier, least)
		}
		if err == nil && h != nil {
			err = r.waitUntil(ctx, due)
		}
		if err == nil {
			if o := r.sendLeased(ctx, in, earlier, l, sent); o != nil {
				h.yield(ctx)
				return o
			}
		}
	}
	return &outcome{unsent: err}
}

// sendLeased has the action performed once if that begins before the lease is
// over. It returns nil if it did not: nothing was sent.
func (r *Runner) sendLeased(ctx context.Context, in *Input, earlier []job.Attempt, l *lease, sent func()) *outcome {
	end := r.pace.begin(sent)
	defer end()
	leased, cancel := context.WithTimeout(ctx, l.length-time.Since(l.start))
	defer cancel()
	leave, err := r.hosts.enter(leased, hostKey(&in.Action), r.PerHost) // last: a herd that waits for the worker takes none of its host's places
	if err != nil {
		return nil
	}
	defer leave()
	if l.over() {
		return nil
	}
	o := &outcome{start: time.Now()}
	o.message, o.err = r.send(withLease(ctx, l), *in, earlier, l)
	if l.refused.Load() && !l.used.Load() {
		return nil
	}
	o.end = o.start.Add(time.Since(o.start))
	return o
}

// nextLead returns how far ahead the next execution should be dispatched, in
// milliseconds, after an attempt that was ready slack before its due time and took
// some time; 0 means that nothing was learnt.
func (r *Runner) nextLead(in *Input, attempt int32, slack, took time.Duration) int {
	if in.Lead == 0 || in.Before > 0 || attempt > 1 {
		return 0
	}
	next := r.Lead.next(time.Duration(in.Lead)*time.Millisecond, slack)
	if took > aliveInterval {
		next = max(next, min(slowLead, r.Lead.Max))
	}
	return int(next.Milliseconds())
}

// nextHold returns within what time the next execution should be dispatched at
// once, in milliseconds.
func (r *Runner) nextHold() int {
	if r.holds.count() >= maxHeld {
		return 0
	}
	return int(r.Lead.Hold.Milliseconds())
}

// report returns the activity's error for a failed attempt, what follows it, and whether
// that ends the activity. If it does not, the records are kept for the next attempt.
func (r *Runner) report(ctx context.Context, err error, attempts []job.Attempt, lead int, in Input) (follows string, ended bool, failed error) {
	_, permanent := errors.AsType[*PermanentError](err)
	// A receiver that fails is no fault of the worker's: benign errors are not
	// logged as the SDK's own.
	report := Report{Attempts: attempts, Lead: lead}
	options := temporal.ApplicationErrorOptions{NonRetryable: true, Category: temporal.ApplicationErrorCategoryBenign}
	follows = nextAfterLast(&in)
	if last := permanent || in.Before+len(attempts) >= in.MaxAttempts; !last {
		delay := retryDelay(err, in.Action.RetryPolicy)
		next := r.Clock.Now().Add(delay)
		follows = nextRetry(next)
		info := activity.GetInfo(ctx)
		if next.Sub(info.ScheduledTime) > retriesWithin && next.Sub(in.Execution.Due) > retriesWithin {
			report.Next = next
		} else {
			options.NonRetryable, options.NextRetryDelay = false, delay
			if !r.keep(ctx, attempts, next) {
				follows = nextWithdrawn
			}
		}
	}
	options.Details = []any{report}
	return follows, options.NonRetryable, temporal.NewApplicationErrorWithOptions(redact.Cut(err.Error(), maxErrorText), ErrTypeFailed, options)
}

// awaitReport waits until the outcome of an attempt may be reported to the workflow, and
// keeps the attempt alive meanwhile.
func (r *Runner) awaitReport(ctx context.Context, earlier []job.Attempt) {
	defer r.keepAlive(ctx, Progress{Attempts: earlier, Sent: len(earlier) + 1}, nil)()
	r.Reports.enter(ctx)
}

// keep keeps the records for the activity's next attempt. It reports whether there may
// be one: the activity is not withdrawn.
func (r *Runner) keep(ctx context.Context, attempts []job.Attempt, next time.Time) bool {
	// They have to get through if the attempt failed because its context ended, too.
	failed := r.heartbeat(context.WithoutCancel(ctx), Progress{Attempts: attempts, Sent: len(attempts), Next: next})
	if isWithdrawn(failed) {
		return false
	}
	if failed != nil {
		r.Log.WarnContext(ctx, "the record of an attempt could not be kept for the next one", slog.Any("error", failed))
	}
	return true
}

// retryDelay returns how long the next attempt waits: as long as the retry policy
// says, or as the receiver asked for if that is longer.
func retryDelay(err error, p *job.RetryPolicy) time.Duration {
	if asked, ok := errors.AsType[*RetryAfterError](err); ok {
		return max(p.Interval(), min(asked.After, maxRetryAfter))
	}
	return p.Interval()
}

// earlier returns what this activity's attempts before this one recorded.
func (r *Runner) earlier(ctx context.Context) (p Progress, err error) {
	if activity.HasHeartbeatDetails(ctx) {
		err = activity.GetHeartbeatDetails(ctx, &p)
	}
	if err != nil {
		r.Log.WarnContext(ctx, "records of earlier attempts cannot be read", slog.Any("error", err))
	}
	return p, err
}

// send has the action performed within the limits of one attempt.
func (r *Runner) send(ctx context.Context, in Input, earlier []job.Attempt, l *lease) (message string, err error) {
	kind := in.Action.Type.Kind()
	sender, ok := r.Senders[kind]
	if !ok {
		return "", &PermanentError{fmt.Errorf("this worker does not perform actions of type %q; the job is kept as it is", cmp.Or(kind, in.Action.Type))}
	}
	attempt, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	go r.watch(ctx, attempt, end)
	defer r.keepAlive(ctx, Progress{Attempts: earlier, Sent: len(earlier) + 1}, l)()
	defer func() {
		if p := recover(); p != nil {
			// The value may quote anything, secrets included; the stack does not.
			r.Log.ErrorContext(ctx, "sender panicked", slog.String("kind", string(kind)),
				slog.String("type", fmt.Sprintf("%T", p)), slog.String("stack", string(debug.Stack())))
			message, err = "", errPanic
		}
	}()
	message, err = sender.Send(attempt, in.Execution, &in.Action)
	if err != nil && attempt.Err() != nil {
		err = context.Cause(attempt)
	}
	return message, err
}

// Why an attempt ended before its sender was done, in words for the history.
var (
	errStopped = errors.New("the worker was stopped; the request may have been sent")
	errPanic   = errors.New("an internal error of Almanac, described in its log, ended the attempt; the request may have been sent")
)

// watch ends the attempt, with its cause, when its time is up or when the worker
// stops. Nothing else ends it: what was sent is not cancelled.
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
			end(fmt.Errorf("timed out: not complete after %g s", limit.Seconds()))
		case <-stopping:
			stopping, stop = nil, time.After(r.Grace)
		case <-stop:
			end(errStopped)
		}
	}
}
