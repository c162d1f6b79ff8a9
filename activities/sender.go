package activities

import (
	"context"
	"errors"
	"time"

	"almanac/job"
	"almanac/job/kind"
)

// A Sender performs actions of one kind.
type Sender interface {
	// Send performs the action once. It never repeats what a receiver may have seen, and returns soon
	// after ctx ends; context.Cause(ctx) is then the reason shown in the history.
	//
	// message describes the outcome for the history; "" stands for the error's text. A nil error is success. The
	// error's text must be short and have nothing of the answer, since traces show it. A [ReasonError] says more to
	// people. A [PermanentError] is not retried, a [RetryAfterError] not before its time. No text may hold secrets.
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

// EndedBy returns why an attempt failed that was ended by cause, with the sentence of the sender's error.
func EndedBy(cause, err error) error {
	if said, ok := errors.AsType[*ReasonError](err); ok {
		return &ReasonError{said.Reason, cause}
	}
	return cause
}

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

// A ReasonError is a failure with the sentence that says why, wherever people read it: in the status of the job, in
// alerts, in the log and in Temporal's Web UI. It says more than the error's text, such as what the receiver answered
// or which it was. It holds no secrets.
type ReasonError struct {
	Reason string
	Err    error
}

func (e *ReasonError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *ReasonError) Unwrap() error { return e.Err }

// Fail returns what a [Sender] returns of a failure, for which the history has no more than the sentence that says why.
func Fail(kind kind.Type, reason string, err error) (message string, failed error) {
	return string(kind) + " Action - " + reason, &ReasonError{reason, err}
}

// ReasonOf returns the sentence that says why an attempt failed.
func ReasonOf(err error) string {
	if said, ok := errors.AsType[*ReasonError](err); ok {
		return said.Reason
	}
	return err.Error()
}
