package checker

import (
	"time"

	"almanac/lab/record"
)

// A hold is a time in which a job does not run, since it or its collection is paused. It begins and ends while a
// request is answered, or at the time that was promised.
type hold struct {
	ofCollection bool
	from, since  time.Time // it begins between these
	end, over    time.Time // it ends between these; zero: it has not ended
	promise      record.Promise
	holds        bool
	asked        *record.Promise // by the request that ended it; nil: it ended by itself
	uncertain    bool            // nothing is known of what it holds
}

// by returns what becomes of what is held.
func (h *hold) by() record.Promise {
	p := h.promise
	if h.asked != nil && h.asked.Recover != "" {
		p.Recover = h.asked.Recover
		p.AtOnce = h.asked.AtOnce
	} else if h.asked != nil && h.asked.AtOnce > 0 {
		p.AtOnce = h.asked.AtOnce
	}
	p.AtOnce = max(1, p.AtOnce)
	return p
}

// touches reports whether something of the time from a to b may be in the hold, or close to its ends.
func (h *hold) touches(a, b time.Time) bool {
	return !h.from.Add(-time.Second).After(b) && (h.over.IsZero() || !h.over.Add(time.Second).Before(a))
}

// covers reports whether an occurrence that is due at t, and starts at p, is certainly held.
func (h *hold) covers(t, p time.Time) bool {
	limit := h.end
	if h.asked != nil {
		limit = limit.Add(-1500 * time.Millisecond)
	}
	return h.since.Before(p) && (h.end.IsZero() || t.Before(limit))
}

// isOver reports whether the time that was promised has come.
func (h *hold) isOver(at time.Time) bool {
	return !h.promise.Until.IsZero() && !h.promise.Until.After(at)
}

// never is later than any time of a run.
var never = time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC)

// holdsOf returns the times in which a job, or its collection, was paused, oldest first.
func holdsOf(j *record.JobLog, ofCollection bool, quiet time.Time) []*hold {
	kinds := map[bool][2]string{false: {record.Pause, record.Resume},
		true: {record.PauseCollection, record.ResumeCollection}}[ofCollection]
	var all []*hold
	var open *hold
	finish := func(end, over time.Time) { open.end, open.over, open = end, over, nil }
	for _, change := range j.Changes {
		issued := change.Issued()
		outcome, answered := change.Outcome()
		if outcome == record.Unknown {
			answered = never
		}
		if open != nil && open.isOver(issued) {
			finish(open.promise.Until, open.promise.Until)
		}
		if open != nil && (change.Kind == kinds[0] || change.Kind == kinds[1]) &&
			(outcome == record.Unknown || open.isOver(answered)) {
			open.uncertain = true
		}
		switch {
		case change.Kind == kinds[0] && open == nil:
			open = &hold{ofCollection: ofCollection, from: issued, since: answered, promise: *change.Promise,
				holds: change.Promise.Holds(), uncertain: outcome == record.Unknown}
			all = append(all, open)
		case change.Kind == kinds[0]:
			open.repeat(change.Promise)
		case open == nil:
		case change.Kind == kinds[1]:
			open.asked = change.Promise
			if !open.holds && change.Promise.Recover != "" { // what came due is decided as if it had been held
				open.uncertain = true
			}
			finish(issued, answered)
		case change.Kind == record.Delete:
			open.uncertain = true
			finish(issued, answered)
		case change.Kind == record.ChangeRecurrence: // what is held is cancelled
			open.uncertain = true
		}
	}
	if open != nil && open.isOver(quiet) {
		finish(open.promise.Until, open.promise.Until)
	}
	return all
}

// repeat takes a request to disable what is disabled. If it says nothing of what is held, that stays as it was said.
func (h *hold) repeat(p *record.Promise) {
	next := *p
	if next.Recover == "" {
		next.Recover = h.promise.Recover
		next.AtOnce = h.promise.AtOnce
	}
	if !h.holds && next.Holds() { // only what comes due from now on
		h.uncertain, h.holds = true, true
	}
	h.promise = next
}
