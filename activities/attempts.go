package activities

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"

	"almanac/job"
)

// Bounds of what is kept, so that no payload grows without limit.
const (
	maxFullMessages = 25  // the newest attempts keep their whole message
	maxOldMessage   = 100 // bytes of the message of those before
	maxErrorText    = 500 // bytes; the server cuts failures of 4 KiB while it waits for a retry
)

const lostMessage = "The worker stopped before it recorded the outcome; the request may have been sent."

// Attempts returns the records, oldest first, that the error of an action's
// activity carries. An activity that failed carries all. One that timed out
// carries those its attempts left behind: see [FillLost] for the others.
func Attempts(err error) []job.Attempt {
	var attempts []job.Attempt
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok && failed.Type() == ErrTypeFailed && failed.Details(&attempts) == nil {
		return attempts
	}
	if timeout, ok := errors.AsType[*temporal.TimeoutError](err); ok && timeout.LastHeartbeatDetails(&attempts) == nil {
		return attempts
	}
	return nil
}

// FillLost appends a record for every attempt up to number last that left none
// because its worker died. They fall between the end of the attempt before, or
// since where there is none, and until.
func FillLost(attempts []job.Attempt, last int, since, until time.Time) []job.Attempt {
	for n := len(attempts) + 1; n <= last; n++ {
		start := since
		if len(attempts) > 0 {
			start = attempts[len(attempts)-1].End
		}
		if start.After(until) { // clocks of two machines
			start = until
		}
		attempts = append(attempts, job.Attempt{
			Number: n, Start: start.UTC(), End: until.UTC(), Outcome: job.OutcomeFailed, Message: lostMessage,
		})
	}
	return attempts
}

// bounded shortens the messages of all but the newest attempts.
func bounded(attempts []job.Attempt) []job.Attempt {
	for i := range max(0, len(attempts)-maxFullMessages) {
		attempts[i].Message = cut(attempts[i].Message, maxOldMessage)
	}
	return attempts
}
