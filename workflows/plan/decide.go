package plan

import (
	"time"

	"almanac/job"
)

// A Situation is what the decision about a due occurrence depends on.
type Situation struct {
	Due     time.Time // the oldest undecided occurrence that is due
	Another bool      // the next one is due as well
	// an occurrence is dispatched and has not ended; with OverlapAllowAll, an attempt of one is being made
	Busy     bool
	Crowded  bool // the maximum number of occurrences have not ended
	Unknown  bool // whether a dispatched occurrence was sent is not known
	Draining bool // nothing may start until all executions have ended
	// when the last occurrence that ran ended; with OverlapAllowAll, when the last one was caught up
	BusyUntil time.Time
	CatchUp   time.Time // occurrences up to here are caught up, one after another
	Overlap   job.OverlapPolicy

	Recovers bool // it was held, and runs now that the pause is over
	Full     bool // as many of those run as may at once
	Beside   bool // an execution has not ended that was not held
	Behind   bool // of those that were held, some run or wait for an attempt
	// occurrences that came due up to here, and were not held, did so while nothing could run them
	Down time.Time
	// those that were held have run: occurrences that came due up to here waited behind them
	Recovered time.Time
}

// A Decision is what becomes of a due occurrence.
type Decision int

// The decisions.
const (
	Wait     Decision = iota // decide when the running one has ended
	Ask                      // look up whether the one before was sent
	Run                      // run it now
	RunFirst                 // run it now; others that came due while the one before ran are missed
	Skip                     // it and all others that came due while the one before ran are skipped
	Miss                     // missed, and all others to be caught up: the maximum number of occurrences have not ended
	CatchUp                  // several came due while nothing could run them: the catch-up window decides
)

// Decide returns what becomes of the occurrence.
func Decide(s Situation) Decision {
	switch {
	case s.MustWait():
		return Wait
	case s.Recovers:
		return Run
	case s.caughtUp() && !s.Crowded:
		return Run
	case s.Overlap == job.OverlapAllowAll && s.Unknown:
		return Ask
	case s.Crowded:
		return Miss
	case s.wasDown() && s.Another:
		return CatchUp
	case s.wasDown():
		return Run
	case s.Overlap == job.OverlapSkip && s.cameDueBusy() && !s.waitedBehind():
		return Skip
	case s.Overlap != job.OverlapAllowAll && (s.cameDueBusy() || s.waitedBehind()):
		return RunFirst
	case s.Another && !s.cameDueBusy() && !s.waitedBehind(): // while nothing could run them, since OverlapAllowAll does not wait
		return CatchUp
	}
	return Run
}

// MustWait reports whether the decision has to wait until a running execution has ended: while the run is
// draining, and for an occurrence that may not run beside the one before. So a long execution costs no
// timer of its own. With OverlapAllowAll those that are caught up do not wait for retries, which may be months
// away. Occurrences that were held wait for each other as the pause promised, and regular ones wait behind them.
func (s Situation) MustWait() bool {
	if s.Recovers {
		return s.Draining || s.Full || s.Crowded || s.Beside && s.Overlap != job.OverlapAllowAll
	}
	return s.Draining || s.Behind || s.Busy && (s.caughtUp() || s.Overlap != job.OverlapAllowAll)
}

// wasDown reports whether the occurrence came due after a pause, and before those that it held began to run.
func (s Situation) wasDown() bool { return !s.Due.After(s.Down) }

// waitedBehind reports whether the occurrence came due while others ran that had been held.
func (s Situation) waitedBehind() bool { return !s.Due.After(s.Recovered) }

// caughtUp reports whether the occurrence is one to be caught up.
func (s Situation) caughtUp() bool { return !s.Due.After(s.CatchUp) }

// cameDueBusy reports whether the occurrence came due while the one before it ran.
func (s Situation) cameDueBusy() bool { return !s.Due.After(s.BusyUntil) }
