package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"almanac/internal/redact"
	"almanac/internal/telemetry"
	"almanac/job"
)

// An Answer is the class of what a receiver answered to an attempt, for metrics.
type Answer string

// The answers. Those of HTTP are classes of status codes.
const (
	AnswerAccepted    Answer = "2xx" // also of a queue or topic that accepted the message
	AnswerRedirect    Answer = "3xx" // not followed
	AnswerClientError Answer = "4xx"
	AnswerServerError Answer = "5xx"
	AnswerRefused     Answer = "refused"  // by Service Bus
	AnswerTimeout     Answer = "timeout"  // none within the time limit
	AnswerNone        Answer = "none"     // no connection, or it was lost
	AnswerUnsent      Answer = "unsent"   // the action cannot be sent, or its address is not allowed
	AnswerLost        Answer = "lost"     // the worker was lost, and whether the request was sent is not known
	AnswerStopped     Answer = "stopped"  // the worker was stopped while it waited
	AnswerInternal    Answer = "internal" // an error of Almanac
)

// StatusAnswer returns the class of an HTTP status code.
func StatusAnswer(code int) Answer {
	switch code / 100 {
	case 2:
		return AnswerAccepted
	case 3:
		return AnswerRedirect
	case 4:
		return AnswerClientError
	case 5:
		return AnswerServerError
	}
	return AnswerNone
}

// An AnsweredError is a failure that the receiver answered. Its text is that of Err.
type AnsweredError struct {
	Err    error
	Answer Answer
	Status int // HTTP status; 0 if the receiver speaks another protocol
}

// AnsweredWith returns the failure of a request that was answered with an HTTP status.
func AnsweredWith(err error, status int) *AnsweredError {
	return &AnsweredError{Err: err, Answer: StatusAnswer(status), Status: status}
}

func (e *AnsweredError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *AnsweredError) Unwrap() error { return e.Err }

// A ReasonError is a failure with the sentence that says why, wherever people read it: in the status of the job, in alerts, in the log and
// in Temporal's Web UI. It says more than the error's text, such as what the receiver answered or which it was. It holds no secrets.
type ReasonError struct {
	Reason string
	Err    error
}

func (e *ReasonError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *ReasonError) Unwrap() error { return e.Err }

// Fail returns what a [Sender] returns of a failure, for which the history has no more than the sentence that says why.
func Fail(kind job.ActionType, reason string, err error) (message string, failed error) {
	return string(kind) + " Action - " + reason, &ReasonError{reason, err}
}

// ReasonOf returns the sentence that says why an attempt failed.
func ReasonOf(err error) string {
	if said, ok := errors.AsType[*ReasonError](err); ok {
		return said.Reason
	}
	return err.Error()
}

// A timeoutError ends an attempt at its time limit.
type timeoutError struct{ limit time.Duration }

func (e *timeoutError) Error() string {
	return fmt.Sprintf("timed out: not complete after %g s", e.limit.Seconds())
}

// answer returns the class of the receiver's answer.
func (o *outcome) answer() Answer {
	_, late := errors.AsType[*timeoutError](o.err)
	_, permanent := errors.AsType[*PermanentError](o.err)
	switch answered, ok := errors.AsType[*AnsweredError](o.err); {
	case o.lost:
		return AnswerLost
	case o.err == nil:
		return AnswerAccepted
	case ok:
		return answered.Answer
	case late:
		return AnswerTimeout
	case errors.Is(o.err, errStopped):
		return AnswerStopped
	case errors.Is(o.err, errPanic):
		return AnswerInternal
	case permanent:
		return AnswerUnsent
	}
	return AnswerNone
}

// reason returns the sentence that says why the attempt failed; "" if it succeeded.
func (o *outcome) reason() string {
	if o.lost || o.err == nil {
		return o.failure()
	}
	return cmp.Or(redact.Cut(ReasonOf(o.err), maxErrorText), "failed")
}

// failure returns why the attempt failed, without what the receiver answered, for traces; "" if it succeeded.
func (o *outcome) failure() string {
	switch {
	case o.lost:
		return lostMessage
	case o.err == nil:
		return ""
	}
	return cmp.Or(redact.Cut(o.err.Error(), maxErrorText), "failed")
}

// attempt describes the attempt of a number, over all activities of the action.
func (in *Input) attempt(number int) telemetry.Attempt {
	return telemetry.Attempt{
		Execution: in.Execution.ID, Job: in.Execution.Job, Collection: in.Execution.Collection, Kind: string(in.Action.Type.Kind()), Host: hostOf(&in.Action),
		Number: number, ErrorAction: in.Execution.ActionName == job.ErrorAction, Due: in.Execution.Due,
	}
}

// ended logs and counts an ended attempt. begin is when it was to begin, next what follows if it failed.
func (r *Runner) ended(ctx context.Context, in *Input, o *outcome, record job.Attempt, begin time.Time, next following) {
	r.log(ctx, in, record, begin, o.reason(), next.text)
	r.Observe.Count(o.observed, &telemetry.Result{
		Attempt: in.attempt(in.SentBefore + record.Number), Start: record.Start, End: record.End,
		Answer: string(o.answer()), Failure: o.failure(), Retry: next.retry,
	})
}

// ObserveHeld shows how many actions the runner holds. Call it once, if Observe is set.
func (r *Runner) ObserveHeld() { r.Observe.ObserveHeld(r.holds.count) }
