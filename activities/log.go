package activities

import (
	"context"
	"log/slog"
	"time"

	"almanac/job"
)

// Values of the attribute next: what follows a failed attempt.
const (
	nextErrorAction = "the error action follows"
	nextNothing     = "given up"
	nextWithdrawn   = "none, for the job was changed"
)

// following is what follows a failed attempt.
type following struct {
	text  string    // value of the attribute next
	retry time.Time // when another attempt begins; zero if none follows
}

func nextRetry(at time.Time) following {
	return following{"retried at " + at.UTC().Format(time.RFC3339), at}
}

// nextAfterLast returns what follows the last attempt of an action.
func nextAfterLast(in *Input) string {
	if in.Compensated {
		return nextErrorAction
	}
	return nextNothing
}

// log writes one line per ended attempt: at debug if it completed, at warn if it was the last of an
// action and failed, otherwise at info. begin is when the attempt was to begin, text why it failed.
func (r *Runner) log(ctx context.Context, in *Input, record job.Attempt, begin time.Time, text, next string) {
	level, message := slog.LevelInfo, "attempt failed"
	switch {
	case record.Outcome.Succeeded():
		level, message = slog.LevelDebug, "attempt completed"
	case next != nextErrorAction && next != nextNothing:
	case in.Execution.ActionName == job.ErrorAction:
		level, message = slog.LevelWarn, "error action failed"
	default:
		level, message = slog.LevelWarn, "execution failed"
	}
	if !r.Log.Enabled(ctx, level) {
		return
	}
	attributes := []slog.Attr{
		slog.String("collection", in.Execution.Collection), slog.String("job", in.Execution.Job), slog.String("execution", in.Execution.ID),
		slog.Time("due", in.Execution.Due.UTC()), slog.Float64("late", seconds(record.Start.Sub(begin))),
		slog.Int("attempt", in.SentBefore+record.Number), slog.Int("of", in.MaxAttempts),
		slog.String("host", in.Action.Host()), slog.Float64("seconds", seconds(record.End.Sub(record.Start))),
	}
	if level > slog.LevelDebug {
		attributes = append(attributes, slog.String("error", text), slog.String("next", next))
	}
	r.Log.LogAttrs(ctx, level, message, attributes...)
}

// seconds rounds to the millisecond.
func seconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }
