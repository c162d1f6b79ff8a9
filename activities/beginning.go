package activities

import (
	"time"

	"almanac/activities/lease"
	"almanac/job"
)

// A beginning measures what an attempt waits for.
type beginning struct {
	due, taken time.Time
	waited     time.Duration // for the server after the due time
}

// asked notes that the server was asked whether the attempt may be sent.
func (b *beginning) asked(from, until time.Time) {
	if from.Before(b.due) {
		from = b.due
	}
	b.waited += max(0, until.Sub(from))
}

// of returns what the attempt waited for that started then by this machine's clock, under a lease.
func (b *beginning) of(start time.Time, l *lease.Lease) job.Beginning {
	out := job.Beginning{
		Taken: int(max(0, b.taken.Sub(b.due)).Milliseconds()),
		Asked: int(b.waited.Milliseconds()),
	}
	if began := l.Began(); !began.IsZero() {
		out.Sent = max(1, int(began.Sub(start).Microseconds()))
	}
	return out
}

// first reports whether the attempt that follows those recorded begins an execution.
func (in *Input) first(recorded []job.Attempt) bool {
	return len(recorded) == 0 && in.SentBefore == 0 && in.Execution.ActionName == job.MainAction
}
