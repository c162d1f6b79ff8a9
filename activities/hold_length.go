package activities

import "time"

// An action is dispatched before it is due. Between a job's timer and the start of its activity lie milliseconds on an
// idle machine, and minutes if thousands of jobs are due together, so the worker holds the action until it is due. How
// far ahead a job is dispatched follows from its name and from the hold that its last execution returned
// (workflows/plan/lead.go).
//
// If the next occurrence is due within the hold when an execution ends, the job does not sleep at all: its action is
// dispatched at once. That halves the cost of an execution.
const (
	// DefaultMaxHold is the usual [Runner.MaxHold].
	DefaultMaxHold = 5 * time.Minute

	// NoHold is the hold that a worker returns if the next occurrence is not to be held for long, so that the job
	// sleeps.
	NoHold = time.Millisecond

	// ShortHold is the longest hold of an attempt at a worker that holds maxHeld others.
	ShortHold = 30 * time.Second
)

// maxHeld is the number of held attempts per process from which on it takes none that is to be held for longer than
// ShortHold. Each takes one of the activity slots that all jobs share.
const maxHeld = 10_000

// full reports whether the process has no place for an attempt that is to be held for so long.
func (r *Runner) full(hold time.Duration) bool {
	return hold > ShortHold && r.holds.count() >= maxHeld
}

// nextHold returns the hold of the next execution in milliseconds.
func (r *Runner) nextHold() int {
	hold := max(NoHold, r.MaxHold)
	if r.full(hold) {
		hold = NoHold
	}
	return int(hold.Milliseconds())
}
