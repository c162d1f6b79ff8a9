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
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"almanac/job"
)

// TypeAction is the name of the activity type that [Runner.Run] is registered under.
const TypeAction = "Action"

// ErrTypeFailed is the type of the application error that a failed attempt
// returns. The error of the last one carries all records; see [Attempts].
const ErrTypeFailed = "ActionFailed"

// DefaultTimeout is how long an attempt may take. The activity's
// StartToCloseTimeout must be longer, for the outcome has to be reported too.
const DefaultTimeout = time.Minute

// Input is what the activity is to do.
type Input struct {
	Execution   job.Execution `json:"execution"`
	Action      job.Action    `json:"action"`           // without its error action
	MaxAttempts int           `json:"max"`              // MaximumAttempts of the activity's retry policy, at least 1
	Before      int           `json:"before,omitempty"` // attempts of activities before this one, whose workers were killed
	Lead        int           `json:"lead,omitempty"`   // how far ahead of its due time it was dispatched, in milliseconds; 0: it was not
}

// Earliest returns when an attempt of an activity that was scheduled at an instant
// can have been sent at the earliest.
func (in *Input) Earliest(scheduled time.Time) time.Time {
	if due := in.Execution.Due; due.After(scheduled) {
		return due
	}
	return scheduled
}

// Output is the result of an action that succeeded.
type Output struct {
	Attempts []job.Attempt `json:"attempts"`       // every attempt, oldest first; the last one completed
	Lead     int           `json:"lead,omitempty"` // how far ahead the next execution should be dispatched, in milliseconds; 0: nothing was learnt
	Hold     int           `json:"hold,omitempty"` // within what time the next execution should be dispatched at once, in milliseconds
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

// maxRetryAfter is how long a receiver may put off the next attempt.
const maxRetryAfter = time.Hour

// A Runner performs actions. Its fields are set before it is registered.
type Runner struct {
	Senders map[job.ActionType]Sender // by [job.ActionType.Kind]; a kind without one fails for good
	Log     *slog.Logger
	Timeout time.Duration // for one attempt; 0 means DefaultTimeout
	Grace   time.Duration // how long a running attempt may go on when the worker stops; less than the worker's stop timeout
	Lead    Lead

	holds  holds
	trials trials
	pace   pace
}

// Run makes one attempt of an action, once that is due. Until the last attempt
// the records are handed to the next one as heartbeat details; in the end they
// are in the output, or in the error's details.
func (r *Runner) Run(ctx context.Context, in Input) (Output, error) {
	ready := time.Now()
	info := activity.GetInfo(ctx)
	attempts := FillLost(r.earlier(ctx), int(info.Attempt)-1, in.Earliest(info.ScheduledTime), ready)
	t := r.try(ctx, &in, attempts)
	if t.unsent != nil {
		return Output{}, t.unsent
	}
	took, err := t.end.Sub(t.start), t.err
	lead := r.nextLead(&in, info.Attempt, ready, took)
	level := slog.LevelDebug
	if err != nil {
		level = slog.LevelInfo
	}
	r.Log.Log(ctx, level, "attempt ended", slog.String("collection", in.Execution.Collection), slog.String("job", in.Execution.Job),
		slog.String("execution", in.Execution.ID), slog.Int("attempt", len(attempts)+1), slog.Bool("ok", err == nil), slog.Duration("took", took))

	record := job.Attempt{
		Number: len(attempts) + 1, Start: t.start.UTC(), End: t.end.UTC(),
		Outcome: job.OutcomeCompleted, Message: t.message,
	}
	if err != nil {
		record.Outcome, record.Message = job.OutcomeFailed, cmp.Or(t.message, err.Error())
	}
	attempts = bounded(append(attempts, record))
	if err == nil {
		return Output{Attempts: attempts, Lead: lead, Hold: r.nextHold()}, nil
	}
	return Output{}, report(ctx, err, attempts, lead, in)
}

// nextLead returns how far ahead the next execution should be dispatched, in
// milliseconds, after an attempt that was ready at an instant and took some time;
// 0 means that nothing was learnt.
func (r *Runner) nextLead(in *Input, attempt int32, ready time.Time, took time.Duration) int {
	if in.Lead == 0 || in.Before > 0 || attempt > 1 {
		return 0
	}
	next := r.Lead.next(time.Duration(in.Lead)*time.Millisecond, in.Execution.Due.Sub(ready))
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

// report returns the activity's error for a failed attempt, and sees to it
// that the records survive.
func report(ctx context.Context, err error, attempts []job.Attempt, lead int, in Input) error {
	_, permanent := errors.AsType[*PermanentError](err)
	// A receiver that fails is no fault of the worker's: benign errors are not
	// logged as the SDK's own.
	options := temporal.ApplicationErrorOptions{NonRetryable: permanent, Category: temporal.ApplicationErrorCategoryBenign}
	if last := in.Before+int(activity.GetInfo(ctx).Attempt) >= in.MaxAttempts; !last && !permanent {
		options.NextRetryDelay = retryDelay(err, in.Action.RetryPolicy)
		// The SDK sends a task's first heartbeat before the call returns. It has
		// to get through where the attempt failed because its context ended, too.
		activity.RecordHeartbeat(context.WithoutCancel(ctx), attempts, false)
	} else {
		options.Details = []any{attempts, lead}
	}
	return temporal.NewApplicationErrorWithOptions(cut(err.Error(), maxErrorText), ErrTypeFailed, options)
}

// retryDelay returns how long the next attempt waits where the receiver asked
// for more than the retry policy has it wait; 0 means as the policy says.
func retryDelay(err error, p *job.RetryPolicy) time.Duration {
	asked, ok := errors.AsType[*RetryAfterError](err)
	if !ok {
		return 0
	}
	if after := min(asked.After, maxRetryAfter); after > p.Interval() {
		return after
	}
	return 0
}

// earlier returns the records of the attempts before this one.
func (r *Runner) earlier(ctx context.Context) []job.Attempt {
	var attempts []job.Attempt
	if !activity.HasHeartbeatDetails(ctx) {
		return nil
	}
	if err := activity.GetHeartbeatDetails(ctx, &attempts); err != nil {
		r.Log.WarnContext(ctx, "records of earlier attempts cannot be read", slog.Any("error", err))
		return nil
	}
	return attempts
}

// send has the action performed within the limits of one attempt.
func (r *Runner) send(ctx context.Context, in Input, earlier []job.Attempt) (message string, err error) {
	kind := in.Action.Type.Kind()
	sender, ok := r.Senders[kind]
	if !ok {
		return "", &PermanentError{fmt.Errorf("this worker does not perform actions of type %q; the job is kept as it is", cmp.Or(kind, in.Action.Type))}
	}
	attempt, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	go r.watch(ctx, attempt, end, earlier)
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
	errStopped   = errors.New("the worker was stopped; the request may have been sent")
	errCancelled = &PermanentError{errors.New("the execution was cancelled; the request may have been sent")}
	errPanic     = errors.New("an internal error of Almanac, described in its log, ended the attempt; the request may have been sent")
)

// watch ends the attempt, with its cause, when its time is up, when the worker
// stops, or when Temporal withdraws the activity, whose context is ctx.
func (r *Runner) watch(ctx, attempt context.Context, end context.CancelCauseFunc, earlier []job.Attempt) {
	limit := cmp.Or(r.Timeout, DefaultTimeout)
	timeout := time.After(limit)
	stopping := activity.GetWorkerStopChannel(ctx)
	var stop <-chan time.Time
	go func() {
		if keepAlive(ctx, attempt, earlier, time.Now()) {
			end(errCancelled)
		}
	}()
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
		case <-ctx.Done():
			end(withdrawn(ctx))
		}
	}
}

// withdrawn returns why the activity's own context ended: a worker that stops
// ends it last, after its stop timeout.
func withdrawn(ctx context.Context) error {
	select {
	case <-activity.GetWorkerStopChannel(ctx):
		return errStopped
	default:
		return errCancelled
	}
}
