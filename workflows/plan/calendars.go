package plan

import (
	"slices"
	"time"

	"almanac/job"
	"almanac/job/timetable"
	"almanac/recurrence/calendars"
)

// A job with calendars is planned where these can be read, and not in its workflow. Its plan has due times, as each
// plan does; notes have what calendars say of them. Of the calendars it has their names and versions, and the days
// that moved or dropped an occurrence.

// Calendars are what the answer to a [Request] needs beside it if the job has calendars.
type Calendars struct {
	Uses   []calendars.Use
	Of     []CalendarVersion // what the uses were read from
	Made   time.Time         // nothing is due before it; see [timetable.Timetable.By]
	Memory *calendars.Memory // of what was decided by then; nil: of a new job
}

// A CalendarVersion is a calendar by which a plan was made.
type CalendarVersion struct {
	Name       string `json:"name"`
	Version    int    `json:"version"`
	Generation int    `json:"generation"` // see [job.KeptCalendar]
}

// A Note is what calendars say of a planned occurrence. One without a note is due at its nominal time.
type Note struct {
	Due      time.Time           `json:"due"`
	Nominal  time.Time           `json:"nominal"`
	Identity *calendars.Identity `json:"identity,omitempty"` // nil: it is known by its nominal time
	Calendar *job.CalendarDay    `json:"calendar,omitempty"` // that objects to the nominal time
	Beyond   []string            `json:"beyond,omitempty"`   // calendars whose horizon it is behind
}

// AnswerBy is [Request.Answer] for a job with calendars. Its plan has at least two occurrences, and those of the next
// 24 hours, so that it goes on for a while when a calendar cannot be read.
func (r *Request) AnswerBy(c Calendars) (Plan, error) { return r.answer(&c) }

const (
	aheadByCalendars = 24 * time.Hour
	// mostByCalendars is the maximum number of occurrences of a plan with calendars: a job of minutes has 1,440 a day.
	mostByCalendars = 1500
	// mostNominal is how many nominal times a plan says of whether they are skipped.
	mostNominal = 3000
	// mostLate is how many occurrences [Plan.Late] lists.
	mostLate = 300
)

// annotate completes a plan that continues after a time, by the timetable with the calendars.
func (p *Plan) annotate(t *timetable.Timetable, c *Calendars, from time.Time) {
	p.Calendars = c.Of
	for !p.Done && !p.More && len(p.Due) > 0 && len(p.Due) < mostByCalendars {
		last := p.Due[len(p.Due)-1]
		next, ok := t.After(last)
		if p.Done = !ok; p.Done || len(p.Due) > 1 && next.Sub(p.Due[0]) > aheadByCalendars {
			break
		}
		p.Due = append(p.Due, next)
	}
	if len(p.Due) == 0 {
		return
	}
	last := p.Due[len(p.Due)-1]
	p.Covered = t.Within(from, last, mostNominal)
	for _, o := range t.Occurrences(from.Add(time.Second), p.Covered) {
		if o.Ran() {
			p.addNote(&o)
		} else {
			p.addOff(&o)
		}
	}
	p.Late = t.Late(last, mostLate)
}

func (p *Plan) addNote(o *calendars.Occurrence) {
	i := o.Identity()
	if o.Objection.Name == "" && len(o.BeyondHorizon) == 0 && o.Due.Equal(o.Nominal) && i.Number == 0 {
		return
	}
	n := Note{Due: o.Due, Nominal: o.Nominal, Calendar: job.CalendarDayOf(o), Beyond: o.BeyondHorizon}
	if i.Number != 0 {
		n.Identity = &i
	}
	p.Notes = append(p.Notes, n)
}

// addOff notes an occurrence that does not run, together with those before it that do not for the same reason.
func (p *Plan) addOff(o *calendars.Occurrence) {
	why, by := job.WhyByCalendar(o), job.CalendarDayOf(o)
	if n := len(p.Off); n == 0 || p.Off[n-1].Why != why {
		p.Off = append(p.Off, Dropped{Outcome: job.OutcomeSkipped, Why: why, Calendar: by})
	}
	p.Off[len(p.Off)-1].Add(o.Nominal)
}

// note returns the note of the occurrence that is due then; nil if there is none.
func (p *Plan) note(due time.Time) *Note {
	i := slices.IndexFunc(p.Notes, func(n Note) bool { return n.Due.Equal(due) })
	if i < 0 {
		return nil
	}
	return &p.Notes[i]
}

// Nominal returns the nominal time of the occurrence that is due then: by it a job's requests know it.
func (p *Plan) Nominal(due time.Time) time.Time {
	if n := p.note(due); n != nil {
		return n.Nominal
	}
	return due
}

// Identity returns what the occurrence that is due then is known by, whatever calendars make of it.
func (p *Plan) Identity(due time.Time) calendars.Identity {
	if n := p.note(due); n != nil && n.Identity != nil {
		return *n.Identity
	}
	return calendars.Identity{Nominal: p.Nominal(due).UTC()}
}

// MemoryAt returns what is decided at a time, which is not after the last planned occurrence, for a plan that is made
// then with other calendars. early are occurrences that were started before their nominal times.
func (p *Plan) MemoryAt(at time.Time, early []calendars.Identity) *calendars.Memory {
	m := &calendars.Memory{Until: at.UTC(), Early: early}
	late := func(i calendars.Identity) {
		if !i.Nominal.IsZero() && !i.Nominal.After(at) {
			m.Late = append(m.Late, i)
		}
	}
	for _, n := range p.Notes {
		switch {
		case !n.Due.After(at):
		case n.Identity != nil: // of an earlier month, perhaps
			m.Late = append(m.Late, *n.Identity)
		default:
			late(calendars.Identity{Nominal: n.Nominal.UTC()})
		}
	}
	for _, i := range p.Late {
		if i.Number != 0 {
			m.Late = append(m.Late, i)
		}
		late(i)
	}
	return m
}
