package plan

import (
	"encoding/json"
	"time"

	"almanac/job"
	"almanac/job/timetable"
	"almanac/recurrence/calendars"
)

// A Backfill is a backfill of a job with the occurrences that are to be run next.
type Backfill struct {
	job.Backfill

	Planned time.Time    `json:"planned,omitzero"` // occurrences up to here are begun, or in Ahead
	Zone    *Zone        `json:"zone,omitempty"`   // by which they were planned; nil: they follow from none
	Ahead   []Backfilled `json:"ahead,omitempty"`  // oldest first
	Next    time.Time    `json:"next,omitzero"`    // when the next one may begin
}

// A Backfilled is an occurrence of a backfill.
type Backfilled struct {
	Due time.Time        `json:"due"`
	As  string           `json:"as"`           // see [Zone.Occurrence]
	By  *job.ByCalendars `json:"by,omitempty"` // nil: calendars say nothing of it
}

// Plan takes an answer, which has occurrences, for what is to be run next.
func (b *Backfill) Plan(a BackfillAnswer) {
	b.Ahead, b.Zone, b.Planned = a.Ahead, a.Zone, a.Ahead[len(a.Ahead)-1].Due
}

const (
	// backfillAhead is how many occurrences of a backfill are planned at a time, and backfillBytes how much these take as
	// JSON.
	backfillAhead = 100
	backfillBytes = 16 << 10
)

// A BackfillAnswer is some of the occurrences of a backfill.
type BackfillAnswer struct {
	Ahead []Backfilled `json:"ahead,omitempty"`
	Zone  *Zone        `json:"zone,omitempty"`  // with the offset of local time at the last one
	Total int          `json:"total,omitempty"` // of all, up to one more than [job.MaxBackfill]; only if it was asked for
	// why a calendar cannot be read; nothing else is set
	Unread string `json:"unread,omitempty"`
}

// A BackfillQuestion asks for the next occurrences of a time after one, and with Count how many there are in all.
type BackfillQuestion struct {
	After, Until time.Time
	Zone         *Zone // of the answer before, which ended with After; nil: there is none
	Count        bool
}

// Backfill answers a question. The calendars are nil for a job that has none: else it is today's that count. By other
// rules of the job's zone than those of the answer before it goes on from the same local time. The error means that this
// worker cannot read the recurrence.
func (r *Request) Backfill(q BackfillQuestion, c *Calendars) (a BackfillAnswer, err error) {
	p, err := r.timetable(c)
	if err != nil {
		return a, err
	}
	a.Zone = r.zone(p)
	if p = p.FromAnchor(); c != nil {
		p = p.By(c.Uses, time.Time{}, nil)
	}
	if a.Zone != nil && q.Zone != nil && a.Zone.Name == q.Zone.Name && a.Zone.Rules != q.Zone.Rules {
		q.After = p.Resume(q.After, q.Zone.offset(q.After))
	}
	dues, total := backfillOf(p, q.After, q.Until, q.Count)
	a.Total = total
	a.add(p, dues)
	return a, nil
}

// backfillOf returns the first occurrences of a time, and if it is asked for how many there are in all.
func backfillOf(p *timetable.Timetable, t, until time.Time, count bool) (dues []time.Time, total int) {
	if p.HasBlackouts() {
		return backfillInSteps(p, t, until, count)
	}
	for total <= job.MaxBackfill {
		next, ok := p.After(t)
		if !ok || !next.Before(until) {
			break
		}
		if len(dues) < backfillAhead {
			dues = append(dues, next)
		} else if !count {
			break
		}
		if count {
			total++
		}
		t = next
	}
	return dues, total
}

// backfillStep is how many nominal times are looked at together, where blackouts make each alone take as long.
const backfillStep = 3000

// backfillInSteps is backfillOf for a timetable with blackouts.
func backfillInSteps(p *timetable.Timetable, t, until time.Time, count bool) (dues []time.Time, total int) {
	last := t
	for end := until.Add(-time.Second); t.Before(end) && total <= job.MaxBackfill; {
		step := p.Within(t, end, backfillStep)
		all := p.Occurrences(t.Add(time.Second), step)
		for i := range all {
			due := all[i].Due
			if !all[i].Ran() || !due.After(last) {
				continue
			}
			last = due
			if len(dues) < backfillAhead {
				dues = append(dues, due)
			} else if !count {
				return dues, total
			}
			if count {
				total++
			}
		}
		t = step
	}
	return dues, min(total, job.MaxBackfill+1)
}

// add adds occurrences, as far as there is room for what calendars say of them.
func (a *BackfillAnswer) add(p *timetable.Timetable, dues []time.Time) {
	if len(dues) == 0 {
		return
	}
	by := map[time.Time]*calendars.Occurrence{}
	all := p.Occurrences(dues[0], dues[len(dues)-1])
	for i := range all {
		if o := &all[i]; o.Ran() {
			by[o.Due] = o
		}
	}
	size := 0
	for _, due := range dues {
		one, identity := Backfilled{Due: due}, calendars.Identity{Nominal: due}
		if o := by[due]; o != nil {
			n := noteOf(o)
			identity, one.By = o.Identity(), n.ByCalendars()
		}
		zone := a.Zone.at(p, identity.Nominal)
		one.As = zone.Occurrence(identity)
		text, _ := json.Marshal(one) //workflowcheck:ignore // it is in a side effect or an activity; it cannot fail
		if size += len(text); size > backfillBytes && len(a.Ahead) > 0 {
			break
		}
		a.Ahead = append(a.Ahead, one)
	}
	a.Zone = a.Zone.at(p, a.Ahead[len(a.Ahead)-1].Due)
}

// PreviewBackfill returns which occurrences of a timetable from its anchor a backfill would run.
func PreviewBackfill(all *timetable.Timetable, from, until time.Time) (b job.BackfillPreview) {
	dues, total := backfillOf(all, from.Add(-time.Second), until, true)
	b.Total, b.More = min(total, job.MaxBackfill), total > job.MaxBackfill
	b.Occurrences = dues[:min(len(dues), 20)]
	if last, ok := all.Last(until.Add(-time.Second)); ok && !last.Before(from) {
		b.Last = last
	}
	return b
}
