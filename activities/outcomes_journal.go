package activities

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

	"almanac/activities/journal"
	"almanac/internal/redact"
	"almanac/job"
)

// answerLost is the message of an attempt that succeeded, if it was read from the journal.
const answerLost = "The receiver accepted it. What it answered was lost, since the worker stopped before it recorded it."

// inJournal returns the key of an attempt in the journal.
func (k outcomeKey) inJournal() journal.Key {
	return journal.Key{Execution: k.execution, Action: string(k.action), Number: k.number}
}

// keepOutcome writes an outcome to the journal, and reports whether it has it. Without it, another attempt may be sent
// if this process is killed now.
func (r *Runner) keepOutcome(ctx context.Context, key outcomeKey, o *outcome) bool {
	e := &journal.Entry{Key: key.inJournal(), Start: o.start, End: o.end, Beginning: o.beginning}
	if o.err != nil {
		e.Error = cmp.Or(redact.Cut(o.err.Error(), job.MaxError), "failed")
		_, e.Permanent = errors.AsType[*PermanentError](o.err)
	}
	if answered, ok := errors.AsType[*AnsweredError](o.err); ok {
		e.Answer, e.Status = string(answered.Answer), answered.Status
	}
	if asked, ok := errors.AsType[*RetryAfterError](o.err); ok {
		e.After = asked.After
	}
	err := r.Journal.Keep(e)
	if err != nil {
		r.Log.WarnContext(ctx, "an outcome could not be written to the directory of outcomes; if this worker is killed before the server has it, the request may be sent again",
			slog.String("execution", key.execution), slog.Any("error", err))
	}
	return err == nil
}

// findOutcome returns the outcome of an attempt that a process which has ended, or another one of this machine, made;
// nil if it is not known.
func (r *Runner) findOutcome(key outcomeKey) *outcome {
	e, ok := r.Journal.Find(key.inJournal())
	if !ok {
		return nil
	}
	o := &outcome{start: e.Start, end: e.End, beginning: e.Beginning, message: answerLost}
	if e.Error == "" {
		return o
	}
	o.message, o.err = e.Error, errors.New(e.Error)
	if e.Answer != "" {
		o.err = &AnsweredError{Err: o.err, Answer: Answer(e.Answer), Status: e.Status}
	}
	if e.After > 0 {
		o.err = &RetryAfterError{Err: o.err, After: e.After}
	}
	if e.Permanent {
		o.err = &PermanentError{Err: o.err}
	}
	return o
}
