package plan

import (
	"time"

	"almanac/job"
	"almanac/job/timetable"
)

// A Backfill is a backfill of a job with the occurrences that are to be run next.
type Backfill struct {
	job.Backfill

	Planned time.Time   `json:"planned,omitzero"` // occurrences up to here are begun, or in Ahead
	Ahead   []time.Time `json:"ahead,omitempty"`  // oldest first
	Next    time.Time   `json:"next,omitzero"`    // when the next one may begin
}

// backfillAhead is how many occurrences of a backfill are planned at a time.
const backfillAhead = 100

// A BackfillAnswer is some of the occurrences of a backfill.
type BackfillAnswer struct {
	Due   []time.Time `json:"due,omitempty"`
	Total int         `json:"total,omitempty"` // of all, up to one more than [job.MaxBackfill]; only if it was asked for
	// why a calendar cannot be read; nothing else is set
	Unread string `json:"unread,omitempty"`
}

// A BackfillQuestion asks for the next occurrences of a time after one, and with Count how many there are in all.
type BackfillQuestion struct {
	After, Until time.Time
	Count        bool
}

// Backfill answers a question. The calendars are nil for a job that has none: else it is today's that count. The error
// means that this worker cannot read the recurrence.
func (r *Request) Backfill(q BackfillQuestion, c *Calendars) (BackfillAnswer, error) {
	p, err := r.timetable(c)
	if err != nil {
		return BackfillAnswer{}, err
	}
	if p = p.FromAnchor(); c != nil {
		p = p.By(c.Uses, time.Time{}, nil)
	}
	return backfillOf(p, q.After, q.Until, q.Count), nil
}

func backfillOf(p *timetable.Timetable, t, until time.Time, count bool) (a BackfillAnswer) {
	for a.Total <= job.MaxBackfill {
		next, ok := p.After(t)
		if !ok || !next.Before(until) {
			break
		}
		if len(a.Due) < backfillAhead {
			a.Due = append(a.Due, next)
		} else if !count {
			break
		}
		if count {
			a.Total++
		}
		t = next
	}
	return a
}

// PreviewBackfill returns which occurrences of a timetable from its anchor a backfill would run.
func PreviewBackfill(all *timetable.Timetable, from, until time.Time) (b job.BackfillPreview) {
	a := backfillOf(all, from.Add(-time.Second), until, true)
	b.Total, b.More = min(a.Total, job.MaxBackfill), a.Total > job.MaxBackfill
	b.Occurrences = a.Due[:min(len(a.Due), 20)]
	if last, ok := all.Last(until.Add(-time.Second)); ok && !last.Before(from) {
		b.Last = last
	}
	return b
}
