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
	maxErrorText    = 500  // bytes; the server truncates failures of 4 KiB while it waits for a retry
	maxExplained    = 2048 // bytes of the message that an error action can send
)

const lostMessage = "The worker stopped before it recorded the outcome; the request may have been sent."

// A Report is the details of the error of an action's activity.
type Report struct {
	Attempts []job.Attempt `json:"attempts,omitempty"` // the activity's attempts that were sent, oldest first
	Hold     int           `json:"hold,omitempty"`     // as in [Output]
	Next     time.Time     `json:"next,omitzero"`      // when the workflow is to schedule another attempt; zero if the server does, or none follows
	Status   int           `json:"status,omitempty"`   // HTTP status of the last attempt's answer, if [Input.Explain] asks for it; 0 if there is none
}

// Ended is the outcome of an attempt that ends its activity, until the attempt reports it. A worker that
// takes over reports it, and sends nothing.
type Ended struct {
	Error  string    `json:"error,omitempty"`  // text of the activity's error; "" if the action succeeded
	Hold   int       `json:"hold,omitempty"`   // as in [Output]
	Next   time.Time `json:"next,omitzero"`    // as in [Report]
	Status int       `json:"status,omitempty"` // likewise
}

// Err returns the activity's error, given the records of its attempts; nil if the action succeeded.
func (e *Ended) Err(attempts []job.Attempt) error {
	if e.Error == "" {
		return nil
	}
	return failedError(e.Error, Report{Attempts: attempts, Hold: e.Hold, Next: e.Next, Status: e.Status}, temporal.ApplicationErrorOptions{NonRetryable: true})
}

// Ending returns the information in the report, given the records of the activity's attempts.
func (e *Ended) Ending(attempts []job.Attempt) Ending {
	return Ending{Report: Report{Attempts: attempts, Hold: e.Hold, Next: e.Next, Status: e.Status}, More: !e.Next.IsZero(), Recorded: e}
}

// failedError returns the error of a failed attempt. The options say whether and when the server makes another one.
func failedError(text string, report Report, o temporal.ApplicationErrorOptions) error {
	o.Category = temporal.ApplicationErrorCategoryBenign // the failure is the receiver's, and the SDK does not log it as the worker's
	o.Details = []any{report}
	return temporal.NewApplicationErrorWithOptions(text, ErrTypeFailed, o)
}

// unsentError returns the error of an attempt that was not sent. The server makes another one after again;
// 0 means none.
func unsentError(message, errType string, attempts []job.Attempt, again time.Duration) error {
	return temporal.NewApplicationErrorWithOptions(message, errType, temporal.ApplicationErrorOptions{
		NonRetryable: again == 0, NextRetryDelay: again, Category: temporal.ApplicationErrorCategoryBenign, Details: []any{Report{Attempts: attempts}},
	})
}

// An Ending is the information in the error that ended an action's activity.
type Ending struct {
	Report          // includes a record of a lost attempt whose request may have been sent
	Unsent   bool   // the last attempt was not sent and has no record
	Lost     bool   // the last attempt was lost
	More     bool   // the last attempt failed, and another is to begin at Next
	Canceled bool   // cancelled by the server while no worker had it; earlier attempts are unknown
	Recorded *Ended // set if the activity's outcome is known although no worker reported it
}

// Why returns the sentence that says why the last attempt that was sent failed; empty if that is not known. err is what the activity
// failed with.
func (e *Ending) Why(err error) string {
	if n := len(e.Attempts); n > 0 && err != nil && e.Attempts[n-1].Why() != "" {
		return e.Attempts[n-1].Why()
	}
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok && !e.Unsent {
		return failed.Message()
	}
	return ""
}

// EndingOf returns the information in the error of an action's activity. A lost attempt is recorded
// from the end of the attempt before, or from since if there is none, until until.
func EndingOf(err error, since, until time.Time) Ending {
	var e Ending
	timeout, lost := errors.AsType[*temporal.TimeoutError](err)
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok && !lost {
		_ = failed.Details(&e.Report) // unreadable details leave the Report empty
		e.Unsent, e.Lost = failed.Type() == ErrTypeUnsent, failed.Type() == ErrTypeLost
		e.More = failed.Type() == ErrTypeFailed && (!failed.NonRetryable() || !e.Next.IsZero()) // otherwise so many attempts were lost that the server makes no further one
		return e
	}
	if !lost {
		e.Canceled = temporal.IsCanceledError(err)
		return e
	}
	e.Lost = true
	var p Progress
	if timeout.HasLastHeartbeatDetails() && timeout.LastHeartbeatDetails(&p) != nil {
		p.Sent = 1 // unreadable, but a fence may have been passed
	}
	if p.Ended != nil {
		return p.Ended.Ending(p.Attempts)
	}
	e.Attempts = p.Attempts
	if e.Unsent = !p.MaybeSent(); !e.Unsent {
		e.Attempts = withLost(e.Attempts, since, until)
	}
	return e
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
		Number: len(attempts) + 1, Start: start.UTC(), End: until.UTC(), Outcome: job.OutcomeFailed, Message: lostMessage,
	})
}

// bounded truncates the messages of all but the newest maxFullMessages attempts, and keeps the reason of the newest alone.
func bounded(attempts []job.Attempt) []job.Attempt {
	for i := range len(attempts) - 1 {
		attempts[i].Reason = ""
	}
	for i := range max(0, len(attempts)-maxFullMessages) {
		attempts[i].Message = redact.Cut(attempts[i].Message, maxOldMessage)
	}
	return attempts
}
