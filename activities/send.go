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

	"almanac/activities/lease"
	"almanac/job"
	"almanac/job/template"
)

// send performs the action within the limits of one attempt.
func (r *Runner) send(ctx context.Context, in Input, recorded []job.Attempt, l *lease.Lease, c *lossClock) (message string, err error) {
	values := template.Values{Facts: in.Facts, Execution: in.Execution, Attempt: in.SentBefore + len(recorded) + 1}
	keepAlive := func() (stop func()) {
		return r.keepAlive(ctx, Progress{Attempts: recorded, Sent: len(recorded) + 1}, l, c)
	}
	return r.perform(ctx, &in.Action, values, cmp.Or(r.Timeout, DefaultTimeout), keepAlive)
}

// perform performs an action once, within a time limit. keepAlive is called when it begins, and what that returns when it
// has ended.
func (r *Runner) perform(
	ctx context.Context, a *job.Action, values template.Values, limit time.Duration, keepAlive func() (stop func()),
) (message string, err error) {
	kind := a.Type.Kind()
	sender, ok := r.Senders[kind]
	if !ok {
		return "", &PermanentError{fmt.Errorf("this worker does not perform actions of type %q; the job is kept as it is", cmp.Or(kind, a.Type))}
	}
	action, err := template.Render(a, values)
	if err != nil {
		return "", &PermanentError{err}
	}
	attempt, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	go r.watch(ctx, attempt, limit, end)
	defer keepAlive()()
	defer func() {
		if p := recover(); p != nil {
			// The value may contain secrets; the stack does not.
			r.Log.ErrorContext(ctx, "sender panicked", slog.String("execution", values.Execution.ID), slog.String("kind", string(kind)),
				slog.String("type", fmt.Sprintf("%T", p)), slog.String("stack", string(debug.Stack())))
			message, err = "", errPanic
		}
	}()
	message, err = sender.Send(attempt, values.Execution, action)
	if err != nil && attempt.Err() != nil {
		return message, EndedBy(context.Cause(attempt), err)
	}
	return message, err
}

// Reasons why an attempt ended before its sender returned, as shown in the history.
var (
	errStopped = errors.New("the worker was stopped; the request may have been sent")
	errPanic   = errors.New("an internal error of Almanac, described in its log, ended the attempt; the request may have been sent")
)

// watch ends the attempt, with its cause, at its time limit or at the end of Grace after the worker
// stops. Cancellation does not end it, since the request was sent.
func (r *Runner) watch(ctx, attempt context.Context, limit time.Duration, end context.CancelCauseFunc) {
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

// A timeoutError ends an attempt at its time limit.
type timeoutError struct{ limit time.Duration }

func (e *timeoutError) Error() string {
	return fmt.Sprintf("timed out: not complete after %g s", e.limit.Seconds())
}
