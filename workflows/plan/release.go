package plan

import (
	"time"

	"almanac/job"
	"almanac/job/timetable"
)

// A Recovery runs occurrences that were held.
type Recovery struct {
	Until  time.Time `json:"until"`            // occurrences up to here are recovered
	AtOnce int       `json:"atOnce,omitempty"` // how many run at once; 0: one
	// when it began: what came due after Until and up to here did so while nothing could run it
	Begun time.Time `json:"begun"`
	// when the last of them ended; regular occurrences that came due until then waited behind them
	Ended time.Time `json:"ended,omitzero"`
}

// A Releasing is what is decided of occurrences that were held. It may take many steps, each in a workflow task of its own.
type Releasing struct {
	Until  time.Time `json:"until"` // occurrences up to here were held
	Keep   int       `json:"keep,omitempty"`
	AtOnce int       `json:"atOnce,omitempty"`
	Why    string    `json:"why"` // the others do not run
}

// Limit returns how many recovered occurrences may run at once.
func (r *Recovery) Limit() int { return max(1, r.AtOnce) }

// Of reports whether an occurrence is a recovered one.
func (r *Recovery) Of(due time.Time) bool { return r != nil && !due.After(r.Until) }

// A Released says that a pause has ended by itself, for readers of the history.
type Released struct {
	Collection bool      `json:"collection,omitempty"` // it was that of the collection
	Until      time.Time `json:"until"`
}

// Release drops the occurrences after t and up to until but for the newest keep, and plans those and the ones that
// follow. See [Drop].
func Release(p *timetable.Timetable, t, until time.Time, keep int, outcome job.Outcome, why string) Plan {
	if keep > 0 {
		at, left := until, keep
		for ; left > 0; left-- {
			last, ok := p.Last(at)
			if !ok || !last.After(t) {
				break
			}
			at = last.Add(-time.Second)
		}
		if left > 0 { // there are not more
			at = t
		}
		until = at
	}
	return Drop(p, t, until, outcome, why)
}
