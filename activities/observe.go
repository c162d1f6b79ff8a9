package activities

import (
	"cmp"
	"context"
	"errors"
	"time"

	"almanac/internal/redact"
	"almanac/internal/telemetry"
	"almanac/job"
)

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
	return cmp.Or(redact.Cut(ReasonOf(o.err), job.MaxError), "failed")
}

// failure returns why the attempt failed, without what the receiver answered, for traces; "" if it succeeded.
func (o *outcome) failure() string {
	switch {
	case o.lost:
		return job.AttemptLost
	case o.err == nil:
		return ""
	}
	return cmp.Or(redact.Cut(o.err.Error(), job.MaxError), "failed")
}

// attempt describes the attempt of a number, over all activities of the action.
func (in *Input) attempt(number int) telemetry.Attempt {
	return telemetry.Attempt{
		Execution: in.Execution.ID, Job: in.Execution.Job, Collection: in.Execution.Collection, Kind: string(in.Action.Type.Kind()), Host: in.Action.Host(),
		Number: number, ErrorAction: in.Execution.ActionName == job.ErrorAction, Due: in.Execution.Begin(),
	}
}

// ended logs and counts an ended attempt. begin is when it was to begin, next what follows if it failed.
func (r *Runner) ended(ctx context.Context, in *Input, o *outcome, record job.Attempt, begin time.Time, next following) {
	r.log(ctx, in, record, begin, o.reason(), next.text)
	r.Observe.Count(o.observed, &telemetry.EndedAttempt{
		Attempt: in.attempt(in.SentBefore + record.Number), Start: record.Start, End: record.End,
		Answer: string(o.answer()), Failure: o.failure(), Retry: next.retry,
	})
}

// ObserveHeld shows how many actions the runner holds. Call it once, if Observe is set.
func (r *Runner) ObserveHeld() { r.Observe.ObserveHeld(r.holds.count) }
