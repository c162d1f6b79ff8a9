package workflows

import (
	"time"

	"almanac/job"
)

// A situation is what the decision about an occurrence that is due depends on.
type situation struct {
	Due       time.Time // the oldest occurrence that is due and undecided
	Another   bool      // whether the one after it is due as well
	Busy      bool      // whether an occurrence is dispatched and has not ended
	Crowded   bool      // whether as many are as may be
	Unknown   bool      // whether it is not known of one of these whether it was sent
	Draining  bool      // whether nothing is to start before all that is under way has ended
	BusyUntil time.Time // when the last one that ran ended
	CatchUp   time.Time // occurrences up to here were admitted to be caught up, one after another
	Overlap   job.OverlapPolicy
}

// A verdict says what becomes of an occurrence that is due.
type verdict int

const (
	verdictWait     verdict = iota // decide when the one that runs has ended
	verdictAsk                     // find out whether the one before it was sent
	verdictRun                     // run it now
	verdictRunFirst                // run it now; the others that came due while the one before it ran are missed
	verdictSkip                    // it and all others that came due while the one before it ran are skipped
	verdictMiss                    // it is missed, for as many are under way as may be
	verdictCatchUp                 // several came due while nothing could run them: the catch-up window decides
)

// judge decides about an occurrence that is due.
func judge(s situation) verdict {
	switch {
	case s.waits():
		return verdictWait
	case s.caughtUp():
		return verdictRun
	case s.Overlap == job.OverlapAllowAll && s.Unknown:
		return verdictAsk
	case s.Crowded:
		return verdictMiss
	case s.Overlap != job.OverlapAllowAll && !s.Due.After(s.BusyUntil): // it came due while the one before it ran
		return overlapping(s.Overlap)
	case s.Another: // with OverlapAllowAll nothing waits for another one, so nothing could run these
		return verdictCatchUp
	}
	return verdictRun
}

// waits reports whether nothing is decided before something that is running has
// ended.
//
// An occurrence that comes due while the one before it runs waits unless the
// overlap policy lets both run: so a long execution costs no timer of its own.
func (s situation) waits() bool {
	return s.Draining || s.Busy && (s.caughtUp() || s.Overlap != job.OverlapAllowAll)
}

// caughtUp reports whether the occurrence was admitted to be caught up.
func (s situation) caughtUp() bool { return !s.Due.After(s.CatchUp) }

// overlapping decides about an occurrence that came due while the one before it
// ran, where the two must not run at the same time.
func overlapping(p job.OverlapPolicy) verdict {
	if p == job.OverlapSkip {
		return verdictSkip
	}
	return verdictRunFirst
}

// A Dropped is a stretch of occurrences that came due and were not run.
type Dropped struct {
	Outcome job.Outcome `json:"outcome"`
	Why     string      `json:"why"`
	Count   int         `json:"count"`
	First   time.Time   `json:"first"`
	Last    time.Time   `json:"last"`
	Newest  []time.Time `json:"newest"` // the newest of them, oldest first, at most maxListed
}

// maxListed bounds how many dropped occurrences are told one by one.
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

// finalState returns the state of a job that has no occurrence left.
func finalState(lastFailed bool) job.State {
	if lastFailed {
		return job.StateFaulted
	}
	return job.StateCompleted
}
