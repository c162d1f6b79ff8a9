// Package plan decides about a job's occurrences: which ones are planned, and what becomes of one that is
// due. Its functions are plain ones without Temporal.
package plan

import (
	"iter"
	"slices"
	"time"

	"almanac/job"
	"almanac/job/timetable"
	"almanac/recurrence/calendars"
)

// A Plan is the recorded answer of the recurrence engine: the next occurrences, and those dropped before
// them. A workflow records it in its history, so a new version of the engine or of the time zone database
// changes no planned occurrence and breaks no replay.
type Plan struct {
	Due     []time.Time `json:"due,omitempty"`     // oldest first
	Done    bool        `json:"done,omitempty"`    // no occurrence follows Due
	Dropped *Dropped    `json:"dropped,omitempty"` // came due before Due and was not run
	More    bool        `json:"more,omitempty"`    // more is to be dropped: ask again, from Dropped.Last

	// Skipped are occurrences to come that a request skipped, oldest first, until they have their entries; MoreSkipped
	// says that others may follow.
	Skipped     []time.Time `json:"skipped,omitempty"`
	MoreSkipped bool        `json:"moreSkipped,omitempty"`

	Released *Released `json:"released,omitempty"` // a pause has ended by itself; nothing else is set then

	// by calendars or blackouts; see [Request.AnswerBy]
	Calendars []CalendarVersion `json:"calendars,omitempty"`
	Notes     []Note            `json:"notes,omitempty"`  // of Due
	Off       []Dropped         `json:"off,omitempty"`    // what does not run, after Noted and up to Covered
	Noted     time.Time         `json:"noted,omitzero"`   // what did not run up to here has its entry
	Covered   time.Time         `json:"covered,omitzero"` // at most the last of Due
	// what is nominally due before Made, was undecided then, and did not run has its entry up to here
	NotedLate time.Time `json:"notedLate,omitzero"`
	// Done, and the rule goes on after Covered, or may by other calendars: these leave nothing of it until they change
	Idle   bool                 `json:"idle,omitempty"`
	Late   []calendars.Identity `json:"late,omitempty"` // nominally due up to the last of Due, and due later
	Held   []calendars.Held     `json:"held,omitempty"` // likewise, since blackouts hold them
	Made   time.Time            `json:"made,omitzero"`  // see [Calendars], as is Memory
	Memory *calendars.Memory    `json:"memory,omitempty"`
	Rules  string               `json:"rules,omitempty"` // a hash of the blackouts; "": there are none
	Early  []calendars.Identity `json:"early,omitempty"` // decided ones that are nominally due later
	// of a schedule of working days, from the month in which the plan begins to that of the last of Due
	Days []calendars.NumberedDay `json:"days,omitempty"`
	// why a worker planned nothing: it could not read a calendar. Nothing else is set.
	Unread string `json:"unread,omitempty"`

	Zone  *Zone  `json:"zone,omitempty"`  // of the job; nil if the occurrences follow from none
	Moved *Moved `json:"moved,omitempty"` // the zone's rules are not those of the plan before
	// release of a worker that planned nothing, since its release is older than the plan's
	Behind string `json:"behind,omitempty"`
}

// A Dropped is a sequence of occurrences that came due and were not run.
type Dropped struct {
	Outcome job.Outcome `json:"outcome"`
	Why     string      `json:"why"`
	Count   int         `json:"count"`
	First   time.Time   `json:"first"`
	Last    time.Time   `json:"last"`
	Newest  []time.Time `json:"newest"`           // the newest maxListed, oldest first
	Repeat  int         `json:"repeat,omitempty"` // number of the execution, if it is one that was cancelled

	Calendar *job.CalendarDay `json:"calendar,omitempty"` // that dropped them; nil: none did
	Blackout *job.BlackoutUse `json:"blackout,omitempty"` // likewise
	Notes    []Note           `json:"notes,omitempty"`    // what calendars say of those that are listed
}

// maxListed is how many of its due times a Dropped lists.
const maxListed = 50

// Add adds the occurrence due at t, which is later than those before it.
func (d *Dropped) Add(t time.Time) {
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

// note adds what calendars say of those that are listed. kept are notes of occurrences that the timetable does not have.
func (d *Dropped) note(t *timetable.Timetable, kept []Note) {
	if d.Count > len(d.Newest) {
		d.noteFrom(t.Occurrences(d.First, d.First))
	}
	d.noteFrom(t.Occurrences(d.Newest[0], d.Last))
	for _, n := range kept {
		if n.says() && slices.ContainsFunc(d.Newest, n.Due.Equal) {
			d.Notes = append(d.Notes, n)
		}
	}
}

func (d *Dropped) noteFrom(all []calendars.Occurrence) {
	for i := range all {
		listed := all[i].Due.Equal(d.First) || slices.ContainsFunc(d.Newest, all[i].Due.Equal)
		if n := noteOf(&all[i]); all[i].Ran() && n.says() && listed {
			d.Notes = append(d.Notes, n)
		}
	}
}

// Note returns what calendars say of the occurrence that was due then; nil if that is nothing.
func (d *Dropped) Note(due time.Time) *Note { return noteAt(d.Notes, due) }

// hasRoom reports whether t can be added so that [Dropped.All] returns it: further ones than are listed must be evenly
// apart.
func (d *Dropped) hasRoom(t time.Time) bool {
	if d.Count < maxListed {
		return true
	}
	apart := t.Sub(d.Last)
	for i, listed := range d.Newest[1:] {
		if listed.Sub(d.Newest[i]) != apart {
			return false
		}
	}
	return d.Newest[0].Sub(d.First) == apart*time.Duration(d.Count-len(d.Newest))
}

// Split returns those that were due up to a time, and those after it.
func (d *Dropped) Split(at time.Time) (passed, rest *Dropped) {
	one := Dropped{Outcome: d.Outcome, Why: d.Why, Repeat: d.Repeat, Calendar: d.Calendar, Blackout: d.Blackout}
	passed, rest = new(one), new(one)
	for due := range d.All() {
		if due.After(at) {
			rest.Add(due)
		} else {
			passed.Add(due)
		}
	}
	return passed, rest
}

// All returns the due times, oldest first. Those that are not listed are taken for evenly spread over the time before.
func (d *Dropped) All() iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		unlisted := d.Count - len(d.Newest)
		for i := range unlisted {
			if !yield(d.First.Add(d.Newest[0].Sub(d.First) / time.Duration(unlisted) * time.Duration(i))) {
				return
			}
		}
		for _, due := range d.Newest {
			if !yield(due) {
				return
			}
		}
	}
}

// Several occurrences are planned at a time, since each answer is an event in the history, but not far
// ahead, so that a new time zone database takes effect soon. Two are always planned: the decision about
// one depends on whether the next is due as well.
const (
	planAhead   = 16
	planHorizon = 7 * 24 * time.Hour
)

// maxSweep is the maximum number of occurrences dropped in one step. It takes the engine some
// milliseconds, far less than the limit of a workflow task.
const maxSweep = 20_000

// After plans the occurrences after t.
func After(p *timetable.Timetable, t time.Time) Plan {
	var out Plan
	ahead := planAhead
	if p.ByDays() {
		ahead = 2 // see extend
	}
	for len(out.Due) < ahead {
		next, ok := p.After(t)
		if !ok {
			out.Done = true
			break
		}
		if len(out.Due) > 1 && next.Sub(out.Due[0]) > planHorizon {
			break
		}
		out.Due = append(out.Due, next)
		t = next
	}
	return out
}

// First plans the occurrences of a new job, from its first one on.
func First(p *timetable.Timetable) Plan {
	first, ok := p.First()
	if !ok {
		return Plan{Done: true}
	}
	return After(p, first.Add(-time.Second))
}

// Anew plans the occurrences after t of a job that was enabled or changed. Unlike First it plans none to
// run at once.
func Anew(p *timetable.Timetable, t time.Time) Plan {
	first, ok := p.From(t.Add(time.Second))
	if !ok {
		return Plan{Done: true}
	}
	return After(p, first.Add(-time.Second))
}

// Drop drops the occurrences after t and up to until, with the reason, and plans the ones after that. If
// they are too many for one step, it drops the first ones and sets More.
func Drop(p *timetable.Timetable, t, until time.Time, outcome job.Outcome, why string) Plan {
	dropped := &Dropped{Outcome: outcome, Why: why}
	for {
		next, ok := p.After(t)
		if !ok || next.After(until) {
			break
		}
		if dropped.Count == maxSweep {
			return Plan{Dropped: dropped, More: true}
		}
		dropped.Add(next)
		t = next
	}
	out := After(p, t)
	if dropped.Count > 0 {
		out.Dropped = dropped
	}
	return out
}

// MissedUntil returns the time up to which the occurrences after t are missed, when several are due at
// now: those due before the catch-up window, except the latest if none came due within it.
func MissedUntil(p *timetable.Timetable, t, now time.Time, window time.Duration) time.Time {
	from := now.Add(-window)
	if from.Before(t) {
		return t
	}
	if first, ok := p.After(from.Add(-time.Second)); ok && !first.After(now) {
		return first.Add(-time.Second)
	}
	last, _ := p.Last(now)
	return last.Add(-time.Second)
}
