package activities

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"

	"almanac/internal/redact"
	"almanac/job"
)

// Bounds of what is kept, so that no payload grows without limit.
const (
	maxFullMessages = 25  // the newest attempts keep their whole message
	maxOldMessage   = 100 // bytes of the message of those before
	maxErrorText    = 500 // bytes; the server cuts failures of 4 KiB while it waits for a retry
)

const lostMessage = "The worker stopped before it recorded the outcome; the request may have been sent."

// A Report is what the error of an action's activity says of its attempts.
type Report struct {
	Attempts []job.Attempt `json:"attempts,omitempty"` // every attempt of the activity that was sent, oldest first
	Lead     int           `json:"lead,omitempty"`     // as in [Output]
	Next     time.Time     `json:"next,omitzero"`      // when the workflow is to have another attempt made; zero: the server does, or none follows
}

// notMade returns the error of an attempt that was not made. The server makes another one
// after again; 0: none.
func notMade(message, errType string, attempts []job.Attempt, again time.Duration) error {
	return temporal.NewApplicationErrorWithOptions(message, errType, temporal.ApplicationErrorOptions{
		NonRetryable: again == 0, NextRetryDelay: again, Category: temporal.ApplicationErrorCategoryBenign, Details: []any{Report{Attempts: attempts}},
	})
}

// An Ending is what is known of an action's activity that ended with an error.
type Ending struct {
	Report        // with a record of an attempt that was lost after its request may have left
	Unsent   bool // the last attempt was not sent; it has no record
	Lost     bool // nothing was heard of its worker any more
	More     bool // the last attempt failed, and another is to follow, from Next on
	Canceled bool // the server cancelled it when no worker had it; it says nothing of earlier attempts
}

// EndingOf returns what the error of an action's activity says. The record of an
// attempt that was lost spans the time from since, or the attempt before, until
// until.
func EndingOf(err error, since, until time.Time) Ending {
	var e Ending
	timeout, lost := errors.AsType[*temporal.TimeoutError](err)
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok && !lost {
		_ = failed.Details(&e.Report) // nothing is known of what cannot be read
		e.Unsent, e.Lost = failed.Type() == ErrTypeUnsent, failed.Type() == ErrTypeLost
		e.More = failed.Type() == ErrTypeFailed && (!failed.NonRetryable() || !e.Next.IsZero()) // else so many were lost that the server made none
		return e
	}
	if !lost {
		e.Canceled = temporal.IsCanceledError(err)
		return e
	}
	e.Lost = true
	var p Progress
	if timeout.HasLastHeartbeatDetails() && timeout.LastHeartbeatDetails(&p) != nil {
		p.Sent = 1 // it cannot be read, but something was recorded
	}
	e.Attempts = p.Attempts
	if e.Unsent = !p.MaybeSent(); !e.Unsent {
		e.Attempts = withLost(e.Attempts, since, until)
	}
	return e
}

// withLost appends a record of an attempt that left none. It spans the time from
// the end of the attempt before, or since if there is none, until until.
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

// bounded shortens the messages of all but the newest attempts.
func bounded(attempts []job.Attempt) []job.Attempt {
	for i := range max(0, len(attempts)-maxFullMessages) {
		attempts[i].Message = redact.Cut(attempts[i].Message, maxOldMessage)
	}
	return attempts
}
