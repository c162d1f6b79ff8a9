package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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
	Generation int    `json:"generation"`       // see [job.KeptCalendar]
	Shared     bool   `json:"shared,omitempty"` // it is one of the subscription, and not of the collection
}

// ByCalendars is what a [Request] has for a job with calendars. Of them are the versions of the plan before. If a
// worker reads others, the plan follows on that one at a time: what was due by then, and is not decided yet, is kept.
type ByCalendars struct {
	Scope job.CollectionKey `json:"scope"`
	Of    []CalendarVersion `json:"of,omitempty"`
	Rules string            `json:"rules,omitempty"` // those of the plan before; see [Plan]
	Least []CalendarVersion `json:"least,omitempty"` // older generations than these are not good enough

	Made   time.Time         `json:"made,omitzero"` // of the plan before, as are Memory and Noted
	Memory *calendars.Memory `json:"memory,omitempty"`
	Noted  time.Time         `json:"noted,omitzero"`
	// likewise
	NotedLate time.Time `json:"notedLate,omitzero"`

	At    time.Time         `json:"at,omitzero"`     // when a plan by other versions follows
	Then  *calendars.Memory `json:"then,omitempty"`  // what is decided at that time
	Kept  []Note            `json:"kept,omitempty"`  // what was due by then
	Again bool              `json:"again,omitempty"` // the plan follows at that time in any case
}

// A Note is what calendars say of a planned occurrence. One without a note is due at its nominal time.
type Note struct {
	Due      time.Time           `json:"due"`
	Nominal  time.Time           `json:"nominal"`
	Identity *calendars.Identity `json:"identity,omitempty"` // nil: it is known by its nominal time
	Calendar *job.CalendarDay    `json:"calendar,omitempty"` // that objects to the nominal time
	Blackout *job.BlackoutUse    `json:"blackout,omitempty"` // that makes it due later
	Held     *calendars.Held     `json:"held,omitempty"`     // likewise, for a plan that follows
	Closes   time.Time           `json:"closes,omitzero"`    // a blackout begins within the flexible window; zero: none does
	Beyond   []string            `json:"beyond,omitempty"`   // calendars whose horizon it is behind
}

// says reports whether the note says anything but that the occurrence is due at its nominal time.
func (n *Note) says() bool {
	return n.Calendar != nil || len(n.Beyond) > 0 || !n.Due.Equal(n.Nominal) || n.Identity != nil || n.Blackout != nil ||
		n.Held != nil || !n.Closes.IsZero()
}

// AnswerBy is [Request.Answer] for a job with calendars. Its plan has at least two occurrences, and those of the next
// 24 hours if they are not too many, so that it goes on for a while when a calendar cannot be read.
func (r *Request) AnswerBy(c Calendars) (Plan, error) { return r.answer(&c) }

const (
	aheadByCalendars = 24 * time.Hour
	// mostByCalendars is the maximum number of occurrences of a plan with calendars: a job of minutes has 1,440 a day.
	mostByCalendars = 1500
	// mostNoted is the size limit of the notes of a plan, in bytes. A job behind the horizon of a calendar has a note for
	// each occurrence.
	mostNoted = 48 << 10
	// mostOff is how many entries a plan has of what does not run.
	mostOff = 30
	// mostNominal is how many nominal times a plan says of whether they are skipped.
	mostNominal = 3000
	// mostLate is how many occurrences [Plan.Late] lists: those of a day, one each minute, can all move to another one.
	mostLate = 1440
)

// settle returns the timetable by calendars, and completes these. The plan follows on the one before since the calendars
// have changed, or goes on as it was.
func (r *Request) settle(t *timetable.Timetable, c *Calendars) *timetable.Timetable {
	by := r.By
	switch {
	case by == nil:
		return t.By(c.Uses, c.Made, c.Memory)
	case r.Step == StepFirst:
		c.Made = r.Created
		return t.By(c.Uses, c.Made, nil)
	case r.changed(c):
		c.Made, c.Memory = by.At.Add(time.Second), by.Then
	default:
		c.Made, c.Memory = by.Made, by.Memory
	}
	var kept []timetable.Kept
	for _, n := range by.Kept {
		if n.Due.Before(c.Made) {
			kept = append(kept, timetable.Kept{Due: n.Due, Nominal: n.Nominal})
		}
	}
	return t.By(c.Uses, c.Made, c.Memory).Keeping(kept)
}

// changed reports whether the plan before was made by other versions of the calendars, or other blackouts.
func (r *Request) changed(c *Calendars) bool {
	if r.By == nil {
		return false
	}
	m := r.By.Memory
	unplanned := r.By.Rules == "" && len(r.By.Of) == 0 && m != nil && m.Anew // see [Plan.Anew]
	return r.By.Again || !unplanned && r.By.Rules != rulesOf(r.Blackouts) || len(r.By.Of) > 0 && !slices.Equal(r.By.Of, c.Of)
}

// rulesOf returns a hash of blackouts; "" of none.
func rulesOf(all []job.Blackout) string {
	if len(all) == 0 {
		return ""
	}
	text, _ := json.Marshal(all) //workflowcheck:ignore // no workflow plans by blackouts; it cannot fail
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// heldOnly is [Plan.Rules] of a plan without blackouts that has occurrences which one held.
const heldOnly = "held"

// noted returns up to when what did not run has its entry.
func (r *Request) noted(from time.Time) time.Time {
	if r.By == nil || r.By.Noted.IsZero() || r.Step == StepAnew {
		return from
	}
	return r.By.Noted
}

// annotate completes a plan that continues after a time, by the timetable with the calendars.
func (p *Plan) annotate(t *timetable.Timetable, c *Calendars, from, noted time.Time, spread time.Duration) {
	p.Calendars, p.Made, p.Memory, p.Noted = c.Of, c.Made, c.Memory, noted
	p.extend(t)
	if p.Covered = noted; len(p.Due) == 0 && !p.Done {
		return
	}
	// nothing is decided before the plan is made
	noted = later(noted, c.Made.Add(-time.Second))
	begin, idle := noted, noted.Add(planHorizon)
	if from.Before(begin) {
		begin = later(from, c.Made.Add(-time.Second))
	}
	last := p.last(idle)
	covered, all := t.Within(noted, last, mostNominal), t.Occurrences(begin.Add(time.Second), last)
	closes := func(due time.Time) time.Time { return t.Closes(due, spread) }
	for p.note(all, last, covered, from, noted, closes); p.noteSize() > mostNoted && len(p.Due) > 2; p.note(all, last, covered, from, noted, closes) {
		p.Due, p.Done = p.Due[:max(2, len(p.Due)/2)], false
		last = p.last(idle)
	}
	p.Days = t.NumberedDays(later(from, c.Made), later(last, noted))
	if p.Idle = p.Done && t.MayFire(p.Covered); len(p.Due) > 0 {
		p.Late, p.Held = t.Late(p.Due[len(p.Due)-1], mostLate)
	}
}

// last returns up to when the plan says what does not run: up to the last of Due, and if that is the last of all, at least
// up to another time.
func (p *Plan) last(idle time.Time) (last time.Time) {
	if n := len(p.Due); n > 0 {
		last = p.Due[n-1]
	}
	if p.Done && idle.After(last) {
		last = idle
	}
	return last
}

// extend plans the occurrences of the next 24 hours, and of the next week as far as they are few. The timetable is asked
// for all of them at once: by calendars that move, each alone may take as long.
func (p *Plan) extend(t *timetable.Timetable) {
	if p.Done || p.More || len(p.Due) == 0 {
		return
	}
	first, last := p.Due[0], p.Due[len(p.Due)-1]
	all := t.Occurrences(last.Add(time.Second), first.Add(planHorizon))
	for i := range all {
		o := &all[i]
		few := len(p.Due) < planAhead || o.Due.Sub(first) <= aheadByCalendars
		if o.Ran() && few && len(p.Due) < mostByCalendars && !t.SkippedByRequest(o.Nominal) {
			p.Due = append(p.Due, o.Due)
		}
	}
}

// noteSize returns how many bytes the notes take as JSON.
func (p *Plan) noteSize() int {
	text, _ := json.Marshal(p.Notes) //workflowcheck:ignore // no workflow plans by calendars; it cannot fail
	return len(text)
}

// note says what calendars make of the occurrences after a time, up to the last one, that run, and of those after another
// one, up to a further one, that do not.
func (p *Plan) note(
	all []calendars.Occurrence, last, covered, from, noted time.Time, closes func(time.Time) time.Time,
) {
	p.Notes, p.Off, p.Covered = nil, nil, covered
	if last.Before(p.Covered) {
		p.Covered = last
	}
	for i := range all {
		o := &all[i]
		switch {
		case o.Ran() && o.Due.After(last):
		case o.Ran() && o.Due.After(from):
			p.addNote(o, closes(o.Due))
		case o.Ran() || o.Nominal.After(p.Covered):
		case p.late(o) && (!noted.Before(p.Made) || !o.Nominal.After(p.NotedLate)):
		case !p.late(o) && !o.Nominal.After(noted):
		case p.addOff(o):
		case p.late(o): // the others have their entries first
			p.Covered = p.Made.Add(-time.Second)
		default:
			p.Covered = o.Nominal.Add(-time.Second)
		}
	}
}

// late reports whether an occurrence was nominally due before the plan was made, and undecided then. If it does not run,
// it has no entry yet.
func (p *Plan) late(o *calendars.Occurrence) bool { return o.Nominal.Before(p.Made) }

func (p *Plan) addNote(o *calendars.Occurrence, closes time.Time) {
	n := noteOf(o)
	if n.Closes = closes; n.says() {
		p.Notes = append(p.Notes, n)
	}
}

// noteOf returns what calendars and blackouts say of an occurrence.
func noteOf(o *calendars.Occurrence) Note {
	n := Note{
		Due: o.Due, Nominal: o.Nominal, Calendar: job.CalendarDayOf(o), Beyond: o.BeyondHorizon,
		Blackout: job.BlackoutOf(o), Held: o.HeldBy(),
	}
	if i := o.Identity(); i.Number != 0 {
		n.Identity = &i
	}
	return n
}

// ByCalendars returns what calendars say of the occurrence, for its entry; nil if that is nothing.
func (n *Note) ByCalendars() *job.ByCalendars {
	if n == nil || n.Due.Equal(n.Nominal) && n.Calendar == nil && len(n.Beyond) == 0 {
		return nil
	}
	by := &job.ByCalendars{Nominal: n.Nominal, BeyondHorizon: n.Beyond, Blackout: n.Blackout}
	if n.Calendar != nil {
		by.Calendars = []job.CalendarDay{*n.Calendar}
	}
	return by
}

// addOff notes an occurrence that does not run, together with those before it on the same day that do not for the same
// reason. It reports whether there was room.
func (p *Plan) addOff(o *calendars.Occurrence) bool {
	why, by, n := job.WhyByCalendar(o), job.CalendarDayOf(o), len(p.Off)
	if n == 0 || p.Off[n-1].Why != why || o.Nominal.Sub(p.Off[n-1].First) >= aheadByCalendars || !p.Off[n-1].hasRoom(o.Nominal) {
		if n == mostOff {
			return false
		}
		p.Off = append(p.Off, Dropped{Outcome: job.OutcomeSkipped, Why: why, Calendar: by, Blackout: job.BlackoutOf(o)})
	}
	p.Off[len(p.Off)-1].Add(o.Nominal)
	return true
}

// holds reports whether the plan has an occurrence that a blackout made due later.
func (p *Plan) holds() bool {
	return len(p.Held) > 0 || slices.ContainsFunc(p.Notes, func(n Note) bool { return n.Held != nil })
}

// ByDays reports whether the plan was made by calendars or blackouts.
func (p *Plan) ByDays() bool { return len(p.Calendars) > 0 || p.Rules != "" }

// Note returns the note of the occurrence that is due then; nil if there is none.
func (p *Plan) Note(due time.Time) *Note { return noteAt(p.Notes, due) }

func noteAt(notes []Note, due time.Time) *Note {
	i := slices.IndexFunc(notes, func(n Note) bool { return n.Due.Equal(due) })
	if i < 0 {
		return nil
	}
	return &notes[i]
}

// Nominal returns the nominal time of the occurrence that is due then: by it a job's requests know it.
func (p *Plan) Nominal(due time.Time) time.Time {
	if n := p.Note(due); n != nil {
		return n.Nominal
	}
	return due
}

// Identity returns what the occurrence that is due then is known by, whatever calendars make of it.
func (p *Plan) Identity(due time.Time) calendars.Identity {
	if n := p.Note(due); n != nil && n.Identity != nil {
		return *n.Identity
	}
	return calendars.Identity{Nominal: p.Nominal(due).UTC()}
}

// Moves reports whether an occurrence whose nominal time is in a window is due after a time.
func (p *Plan) Moves(w job.SkipWindow, after time.Time) bool {
	last := after
	if n := len(p.Due); n > 0 {
		last = p.Due[n-1]
	}
	return slices.ContainsFunc(p.Notes, func(n Note) bool { return n.Due.After(after) && w.Has(n.Nominal) }) ||
		last.After(after) && slices.ContainsFunc(p.Late, func(i calendars.Identity) bool { return w.Has(i.Nominal) })
}
