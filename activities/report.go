package activities

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"almanac/job"
)

// conclude records an attempt that was sent, after those recorded, and returns the end of its activity, or the error by
// which the server makes another attempt. begin is when it was to begin.
func (r *Runner) conclude(ctx context.Context, in *Input, recorded []job.Attempt, o *outcome, begin time.Time,
	c *lossClock) (Output, error) {
	record := o.record(len(recorded) + 1)
	attempts := bounded(append(recorded, record))
	if o.err == nil {
		r.ended(ctx, in, o, record, begin, following{})
		return r.report(ctx, attempts, &Ending{}, o.held, c)
	}
	next, ended, failed := r.fail(ctx, o, attempts, *in, c)
	r.ended(ctx, in, o, record, begin, next)
	if ended != nil {
		return r.report(ctx, attempts, ended, nil, c)
	}
	return Output{}, failed
}

// record returns the record of an attempt that was sent, by its number.
func (o *outcome) record(number int) job.Attempt {
	record := job.Attempt{
		Number: number, Start: o.start.UTC(), End: o.end.UTC(),
		Outcome: job.OutcomeCompleted, Message: o.message, Beginning: o.beginning,
	}
	if o.err != nil {
		record.Outcome, record.Message, record.Reason = job.OutcomeFailed, cmp.Or(o.message, o.err.Error()), o.reason()
	}
	return record
}

// fail returns what follows a failed attempt. If that ends the activity, ended is what to report. Otherwise
// the records are kept for the server's next attempt, and failed is the activity's error.
func (r *Runner) fail(ctx context.Context, o *outcome, attempts []job.Attempt, in Input, c *lossClock) (follows following, ended *Ending, failed error) {
	err := o.err
	ended = &Ending{Text: o.reason()}
	if answered, ok := errors.AsType[*AnsweredError](err); ok && in.Explain {
		ended.Status = answered.Status
	}
	_, permanent := errors.AsType[*PermanentError](err)
	if permanent || in.SentBefore+len(attempts) >= in.MaxAttempts {
		return following{text: nextAfterLast(&in)}, ended, nil
	}
	delay := retryDelay(err, in.Action.RetryPolicy.Pause(in.SentBefore+len(attempts)))
	next := r.Clock.Now().Add(delay)
	info := activity.GetInfo(ctx)
	if next.Sub(info.ScheduledTime) > job.RetriesWithin && next.Sub(in.Execution.Begin()) > job.RetriesWithin {
		ended.Next = next
		return nextRetry(next), ended, nil
	}
	follows = nextRetry(next)
	if r.keep(ctx, in.Execution.ID, attempts, next) {
		r.shorten(ctx, o, c)
	} else {
		follows = following{text: nextWithdrawn}
	}
	return follows, nil, failedError(ended.Text, &Ending{Attempts: attempts}, temporal.ApplicationErrorOptions{NextRetryDelay: delay})
}

// report waits until the outcome of the last attempt may be reported, and returns it. Meanwhile heartbeats record it,
// so that it is known even if this worker is lost.
func (r *Runner) report(ctx context.Context, attempts []job.Attempt, e *Ending, h *heldAttempt, c *lossClock) (Output, error) {
	stop := r.keepAlive(ctx, Progress{Attempts: attempts, Sent: len(attempts), Ended: e}, nil, c)
	r.Completions.Enter(ctx)
	stop()
	e.Hold = r.nextHold()
	if err := e.err(attempts); err != nil {
		return Output{}, err
	}
	out := Output{Attempts: attempts, Hold: e.Hold}
	if h != nil {
		out.Loss = int(r.heldLoss(r.holds.size(h), h.spread, h.window).Milliseconds())
	}
	return out, nil
}

// keep records attempts for the activity's next attempt. It returns false if the activity is withdrawn,
// so that there is none.
func (r *Runner) keep(ctx context.Context, execution string, attempts []job.Attempt, next time.Time) bool {
	// The heartbeat must get through even if the attempt failed because its context ended.
	failed := r.heartbeat(context.WithoutCancel(ctx), Progress{Attempts: attempts, Sent: len(attempts), Next: next})
	if isWithdrawn(failed) {
		return false
	}
	if failed != nil {
		r.Log.WarnContext(ctx, "the record of an attempt could not be kept for the next one", slog.String("execution", execution), slog.Any("error", failed))
	}
	return true
}

// retryDelay returns the delay before the next attempt: the pause of the retry policy, or what the
// receiver asked for if that is longer.
func retryDelay(err error, pause time.Duration) time.Duration {
	if asked, ok := errors.AsType[*RetryAfterError](err); ok {
		return max(pause, min(asked.After, MaxRetryAfter))
	}
	return pause
}
