package workflows

import (
	"time"

	"almanac/job"
)

// A decisionInput is the input of the decision about a due occurrence.
type decisionInput struct {
	Due       time.Time // the oldest undecided occurrence that is due
	Another   bool      // the next one is due as well
	Busy      bool      // an occurrence is dispatched and has not ended
	Crowded   bool      // the maximum number of occurrences have not ended
	Unknown   bool      // whether a dispatched occurrence was sent is not known
	Draining  bool      // nothing may start until all executions have ended
	BusyUntil time.Time // when the last occurrence that ran ended
	CatchUp   time.Time // occurrences up to here are caught up, one after another
	Overlap   job.OverlapPolicy
}

// A decision is the decision about a due occurrence.
type decision int

const (
	decisionWait     decision = iota // decide when the running one has ended
	decisionAsk                      // look up whether the one before was sent
	decisionRun                      // run it now
	decisionRunFirst                 // run it now; others that came due while the one before ran are missed
	decisionSkip                     // it and all others that came due while the one before ran are skipped
	decisionMiss                     // missed: the maximum number of occurrences have not ended
	decisionCatchUp                  // several came due while nothing could run them: the catch-up window decides
)

func decide(s decisionInput) decision {
	switch {
	case s.waits():
		return decisionWait
	case s.caughtUp():
		return decisionRun
	case s.Overlap == job.OverlapAllowAll && s.Unknown:
		return decisionAsk
	case s.Crowded:
		return decisionMiss
	case s.Overlap != job.OverlapAllowAll && !s.Due.After(s.BusyUntil): // it came due while the one before ran
		return overlapping(s.Overlap)
	case s.Another: // OverlapAllowAll never waits, so these came due while nothing could run them
		return decisionCatchUp
	}
	return decisionRun
}

// waits reports whether the decision has to wait until a running execution has ended: while the run is
// draining, and for an occurrence that may not run beside the one before. So a long execution costs no
// timer of its own.
func (s decisionInput) waits() bool {
	return s.Draining || s.Busy && (s.caughtUp() || s.Overlap != job.OverlapAllowAll)
}

// caughtUp reports whether the occurrence is one to be caught up.
func (s decisionInput) caughtUp() bool { return !s.Due.After(s.CatchUp) }

// overlapping decides about an occurrence that came due while the one before it ran, if they may not
// run at the same time.
func overlapping(p job.OverlapPolicy) decision {
	if p == job.OverlapSkip {
		return decisionSkip
	}
	return decisionRunFirst
}

// A Dropped is a sequence of occurrences that came due and were not run.
type Dropped struct {
	Outcome job.Outcome `json:"outcome"`
	Why     string      `json:"why"`
	Count   int         `json:"count"`
	First   time.Time   `json:"first"`
	Last    time.Time   `json:"last"`
	Newest  []time.Time `json:"newest"` // the newest maxListed, oldest first
}

const maxListed = 50

func (d *Dropped) add(t time.Time) {
	if d.Count == 0 {
		d.First = t
	}
	d.Count++
	d.Last = t
	d.Newest = append(d.Newest, t)
	if len(d.Newest) > maxListed {
		d.Newest = d.Newest[1:]
	}
}

func finalState(lastFailed bool) job.State {
	if lastFailed {
		return job.StateFaulted
	}
	return job.StateCompleted
}
