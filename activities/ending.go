package activities

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"

	"almanac/internal/redact"
	"almanac/job"
)

// Limits of the records kept, so that no payload grows without limit.
const (
	maxFullMessages = 25   // newest attempts that keep their whole message
	maxOldMessage   = 100  // bytes of the message of older attempts
	maxExplained    = 2048 // bytes of the message that an error action can send
)

// An Ending is how an activity of an action ended. It is the details of the activity's error, which has the text. While
// a report has to wait, heartbeats record it in [Progress], which has the attempts: a worker that takes over reports
// it, and sends nothing.
type Ending struct {
	Attempts []job.Attempt `json:"attempts,omitempty"` // that were sent, or may have been, oldest first
	Text     string        `json:"error,omitempty"`    // of the activity's error; "" if the action succeeded
	Hold     int           `json:"hold,omitempty"`     // as in [Output]
	// Next is when the workflow is to schedule another attempt; zero if the server does, or none follows.
	Next time.Time `json:"next,omitzero"`
	// Status is the HTTP status of the last attempt's answer, if [Input.Explain] asks for it; 0 if there is none.
	Status int `json:"status,omitempty"`

	PutOff int `json:"-"` // as in [Output], of one that is unsent

	How How   `json:"-"` // set by EndingOf, as is Err
	Err error `json:"-"` // nil if the action succeeded
}

// How says how an activity of an action ended.
type How int

// The ways in which one ends.
const (
	Completed How = iota // the action succeeded
	Failed               // the last attempt failed, and none follows
	ToRetry              // the last attempt failed, and another is to begin at Next
	Lost                 // the last attempt was lost; its request may have been sent, and it has a record
	Unsent               // the last attempt was not sent and has no record
	Cancelled            // by the server while no worker had it; earlier attempts are unknown
)

// err returns the activity's error for the details, given the records of its attempts; nil if the action succeeded.
func (e *Ending) err(attempts []job.Attempt) error {
	if e.Text == "" {
		return nil
	}
	details := Ending{Attempts: attempts, Hold: e.Hold, Next: e.Next, Status: e.Status}
	return failedError(e.Text, &details, temporal.ApplicationErrorOptions{NonRetryable: true})
}

// WithAttempts returns an ending that was recorded in a [Progress], with the attempts of that.
func (e *Ending) WithAttempts(attempts []job.Attempt) Ending {
	out := *e
	out.Attempts, out.Err = attempts, e.err(attempts)
	switch {
	case e.Text == "":
		out.How = Completed
	case e.Next.IsZero():
		out.How = Failed
	default:
		out.How = ToRetry
	}
	return out
}

// failedError returns the error of a failed attempt. The options say whether and when the server makes another one.
func failedError(text string, details *Ending, o temporal.ApplicationErrorOptions) error {
	// The failure is the receiver's, and the SDK does not log it as the worker's.
	o.Category = temporal.ApplicationErrorCategoryBenign
	o.Details = []any{*details}
	return temporal.NewApplicationErrorWithOptions(text, ErrTypeFailed, o)
}

// unsentError returns the error of an attempt that was not sent. The server makes another one after again;
// 0 means none.
func unsentError(message, errType string, attempts []job.Attempt, again time.Duration) error {
	return temporal.NewApplicationErrorWithOptions(message, errType, temporal.ApplicationErrorOptions{
		NonRetryable: again == 0, NextRetryDelay: again, Category: temporal.ApplicationErrorCategoryBenign,
		Details: []any{Ending{Attempts: attempts}},
	})
}

// Why returns the sentence that says why the last attempt that was sent failed; empty if that is not known.
func (e *Ending) Why() string {
	if n := len(e.Attempts); n > 0 && e.Err != nil && e.Attempts[n-1].Why() != "" {
		return e.Attempts[n-1].Why()
	}
	if failed, ok := errors.AsType[*temporal.ApplicationError](e.Err); ok && e.How != Unsent {
		return failed.Message()
	}
	return ""
}

// EndingOf returns how an action's activity ended that has no [Output], by its error. A lost attempt is recorded
// from the end of the attempt before, or from since if there is none, until until.
func EndingOf(err error, since, until time.Time) Ending {
	var e Ending
	timeout, lost := errors.AsType[*temporal.TimeoutError](err)
	failed, ok := errors.AsType[*temporal.ApplicationError](err)
	switch {
	case lost:
	case ok:
		_ = failed.Details(&e) // unreadable details leave it empty
		e.How, e.Err = howFailed(failed, &e), err
		return e
	case temporal.IsCanceledError(err):
		return Ending{How: Cancelled, Err: err}
	case err != nil:
		return Ending{How: Failed, Err: err}
	default:
		return Ending{How: Completed}
	}
	var p Progress
	if timeout.HasLastHeartbeatDetails() && timeout.LastHeartbeatDetails(&p) != nil {
		p.Sent = 1 // unreadable, but a fence may have been passed
	}
	if p.Ended != nil {
		return p.Ended.WithAttempts(p.Attempts)
	}
	if p.MaybeSent() {
		return Ending{How: Lost, Attempts: withLost(p.Attempts, since, until), Err: err}
	}
	return Ending{How: Unsent, Attempts: p.Attempts, PutOff: p.PutOff, Err: err}
}

// howFailed says how an activity ended with an application error that has these details.
func howFailed(err *temporal.ApplicationError, details *Ending) How {
	switch err.Type() {
	case ErrTypeUnsent:
		return Unsent
	case ErrTypeLost:
		return Lost
	case ErrTypeFailed:
		if !err.NonRetryable() || !details.Next.IsZero() {
			return ToRetry // otherwise so many attempts were lost that the server makes no further one
		}
	}
	return Failed
}

// withLost appends the record of a lost attempt, from the end of the attempt before, or from since if
// there is none, until until.
func withLost(attempts []job.Attempt, since, until time.Time) []job.Attempt {
	start := since
	if n := len(attempts); n > 0 {
		start = attempts[n-1].End
	}
	if start.After(until) { // clocks of two machines
		start = until
	}
	return append(attempts, job.Attempt{
		Number: len(attempts) + 1, Start: start.UTC(), End: until.UTC(), Outcome: job.OutcomeFailed, Message: job.AttemptLost,
	})
}

// bounded truncates the messages of all but the newest maxFullMessages attempts, and keeps the reason of the newest
// alone.
func bounded(attempts []job.Attempt) []job.Attempt {
	for i := range len(attempts) - 1 {
		attempts[i].Reason = ""
	}
	for i := range max(0, len(attempts)-maxFullMessages) {
		attempts[i].Message = redact.Cut(attempts[i].Message, maxOldMessage)
	}
	return attempts
}
