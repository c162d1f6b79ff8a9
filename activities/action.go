package activities

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"

	"almanac/internal/redact"
	"almanac/job"
	"almanac/job/template"
)

// TypeAction is the activity type of [Runner.Run].
const TypeAction = "Action"

// ErrTypeFailed is the application error type of a failed attempt. Its details are an [Ending].
const ErrTypeFailed = "ActionFailed"

// ErrTypeUnsent is the error type of an [Output] of which nothing was sent, and of an attempt that the server retries
// later because its retry interval is not over or its host has too many unanswered requests. Its details are an
// [Ending] with the attempts before.
const ErrTypeUnsent = "Unsent"

// ErrTypeLost is the application error type of an attempt that found the one before without a record
// although it may have been sent. Its details are an [Ending] that includes the lost attempt.
const ErrTypeLost = "Lost"

// DefaultTimeout is the time limit of an attempt. The activity's StartToCloseTimeout must be longer, to
// leave time for reporting.
const DefaultTimeout = time.Minute

// Input is the input of [Runner.Run].
type Input struct {
	Execution   job.Execution `json:"execution"`
	Action      job.Action    `json:"action"`                // without its error action
	MaxAttempts int           `json:"max"`                   // maximum number of attempts that may be sent, at least 1
	SentBefore  int           `json:"before,omitempty"`      // attempts of earlier activities that may have been sent
	PutOff      int           `json:"putOff,omitempty"`      // how often earlier activities were put off before the first attempt
	Compensated bool          `json:"compensated,omitempty"` // an error action follows a failure
	Explain     bool          `json:"explain,omitempty"`     // the error action has placeholders for what failed

	template.Facts // of an action with placeholders
}

// FailureAfter returns what the error action can say after the action failed; nil unless Explain.
func (in *Input) FailureAfter(end *Ending, attempts int) *template.Failure {
	if !in.Explain {
		return nil
	}
	f := &template.Failure{Error: job.AttemptLost, Attempts: attempts, Status: end.Status}
	if failed, ok := errors.AsType[*temporal.ApplicationError](end.Err); ok {
		f.Error = failed.Message()
	}
	f.Message = f.Error
	if n := len(end.Attempts); n > 0 {
		f.Message = redact.Cut(end.Attempts[n-1].Message, maxExplained)
	}
	return f
}

// held reports whether an attempt that begins at the given time is held until its due time.
func (in *Input) held(begins time.Time) bool { return in.Execution.Begin().After(begins) }

// Output is the result of an action that succeeded, or of an attempt that ended before it was sent
// because the job was changed, the worker stopped, or the server did not answer. The latter is not an
// error, so that Temporal's Web UI shows no failure.
type Output struct {
	Unsent   string        `json:"unsent,omitempty"` // why nothing was sent; Attempts are then those before
	Attempts []job.Attempt `json:"attempts"`         // oldest first; the last one completed
	// of one that is unsent: how often it was put off before the first attempt, since its host had no place
	PutOff int `json:"putOff,omitempty"`
	// hold of the next executions in milliseconds; see [DefaultMaxHold]; 0: unchanged
	Hold int `json:"hold,omitempty"`
	// loss time of the next execution in milliseconds, if it is held; see [MinHeldLoss]; 0: unchanged
	Loss int `json:"loss,omitempty"`
}

// Ending returns how the activity ended.
func (o *Output) Ending() Ending {
	e := Ending{Attempts: o.Attempts, Hold: o.Hold, PutOff: o.PutOff}
	if o.Unsent != "" {
		e.How, e.Err = Unsent, unsentError(o.Unsent, ErrTypeUnsent, o.Attempts, 0)
	}
	return e
}
