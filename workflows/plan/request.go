package plan

import (
	"time"

	"almanac/job"
	"almanac/job/timetable"
	"almanac/recurrence/calendars"
)

// A Request asks for a plan. It has all that the answer depends on but the time zones of the worker that answers.
type Request struct {
	Created    time.Time       `json:"created"`
	StartTime  *job.Time       `json:"startTime,omitempty"`
	Recurrence *job.Recurrence `json:"recurrence,omitempty"`
	Local      *job.LocalTimes `json:"local,omitempty"`
	Skips      []time.Time     `json:"skips,omitempty"`
	// times in which all are skipped; and up to when the skipped ones have their entries
	SkipWindows []job.SkipWindow `json:"skipWindows,omitempty"`
	SkipsNoted  time.Time        `json:"skipsNoted,omitzero"`
	// of the plan before; with the release of which a plan is wanted
	Zone  *Zone       `json:"zone,omitempty"`
	Times []time.Time `json:"times,omitempty"` // that the job remembers, for [Moved]
	Next  time.Time   `json:"next,omitzero"`   // the next occurrence by the plan before; zero: none
	Least string      `json:"least,omitempty"` // the oldest release that is wanted; by default the one of Zone

	Step Step      `json:"step"`
	From time.Time `json:"from"` // occurrences up to here are decided

	Until   time.Time     `json:"until,omitzero"`    // of StepDrop and StepSkipped
	Outcome job.Outcome   `json:"outcome,omitempty"` // of what is dropped
	Why     string        `json:"why,omitempty"`     // likewise
	Now     time.Time     `json:"now,omitzero"`      // of StepCatchUp
	Window  time.Duration `json:"window,omitempty"`  // of StepCatchUp
	Keep    int           `json:"keep,omitempty"`    // of StepRelease: how many occurrences run that were held
	AtOnce  int           `json:"atOnce,omitempty"`  // of StepRelease: how many of them at once

	By *ByCalendars `json:"by,omitempty"` // nil: the job has neither calendars nor blackouts
	// what is decided and nominally due after From, since calendars made it due earlier; see [Plan.EarlyAt]
	Early []calendars.Identity `json:"early,omitempty"`
	// working days by number that are decided, of a job that may get calendars again; see [Plan.PassedAt]
	Passed []calendars.Passed `json:"passed,omitempty"`

	Blackouts []job.Blackout `json:"blackouts,omitempty"` // of the job, and then of its collection
	Spread    time.Duration  `json:"spread,omitempty"`    // the flexible window of a job with blackouts

	// of what is dropped, since a blackout has begun before it could run
	Closed *job.BlackoutUse `json:"closed,omitempty"`
}

// A Step is what is planned.
type Step string

// The steps.
const (
	StepFirst   Step = "first"   // see [First]
	StepAfter   Step = "after"   // see [After]
	StepAnew    Step = "anew"    // see [Anew]
	StepDrop    Step = "drop"    // see [Drop]
	StepCatchUp Step = "catchUp" // see [Drop] and [MissedUntil]
	StepRelease Step = "release" // see [Release]
	StepLate    Step = "late"    // see [Release]: only the newest Keep are planned of those that are late into a blackout
	StepSkipped Step = "skipped" // as StepAfter, and the skipped ones after SkipsNoted up to Until are dropped; From stays
)

// Answer plans with the time zones of this worker. If they are older than those of the plan before, and say something
// else of the job's zone, it plans nothing and sets Behind. If they are newer, it plans from the local time on up to
// which occurrences were decided.
//
// The error means that this worker cannot read the recurrence.
func (r *Request) Answer() (Plan, error) { return r.answer(nil) }

func (r *Request) answer(c *Calendars) (Plan, error) {
	p, err := r.timetable(c)
	if err != nil {
		return Plan{}, err
	}
	zone := r.zone(p)
	if zone != nil && r.Zone != nil && (zone.Release < r.Least || zone.Rules != r.Zone.Rules && zone.Release < r.Zone.Release) {
		return Plan{Behind: zone.Release}, nil
	}
	move := func(t time.Time) time.Time { return t }
	other := zone != nil && r.Zone != nil && zone.Rules != r.Zone.Rules && zone.Name == r.Zone.Name
	if other {
		move = func(t time.Time) time.Time {
			if t.IsZero() {
				return t
			}
			return p.Resume(t, r.Zone.offset(t))
		}
	}
	from, early := move(r.From), r.Early
	if other {
		asked := *r
		early, asked.By = movedIdentities(early, move), r.By.moved(move)
		r = &asked
	}
	if !from.IsZero() {
		p = p.Since(from)
	}
	if c != nil {
		p = r.settle(p, c)
	}
	if !p.ByDays() && len(early) > 0 {
		p = p.Except(early)
	}
	p = p.Without(moved(r.Skips, move), movedWindows(r.SkipWindows, move)...)
	out, noted := r.step(p, from), move(r.SkipsNoted)
	if out.Dropped != nil {
		out.Dropped.Blackout = r.Closed
	}
	if c != nil {
		if r.By != nil && c.Made.Equal(r.By.Made) {
			out.NotedLate = r.By.NotedLate
		}
		out.annotate(p, c, from, r.noted(from), r.Spread)
		if out.Rules = rulesOf(r.Blackouts); out.Rules == "" && out.holds() {
			out.Rules = heldOnly
		}
	} else if len(early)+len(r.Passed) > 0 { // for readers of the job, and for calendars to come
		out.Memory = &calendars.Memory{Until: from, Early: early, Passed: r.Passed}
	}
	out.Early = early
	if r.Step == StepSkipped {
		if out.Dropped = sweepSkipped(p, noted, r.Until); out.Dropped != nil {
			noted = out.Dropped.Last
		}
	}
	out.listSkipped(p, noted)
	if c != nil && len(out.Due) == 0 {
		out.noteSkipped(p)
	}
	if out.Dropped != nil && r.By != nil {
		out.Dropped.note(p, r.By.Kept)
	}
	if zone == nil {
		return out, nil
	}
	if other {
		out.Moved = &Moved{Release: r.Zone.Release, Times: moved(r.Times, move), Was: r.Next}
		if len(out.Due) > 0 {
			out.Moved.Is = out.Due[0]
		}
		start, end := p.Span()
		if r.Local != nil && r.Local.Start != "" {
			out.Moved.Start = start
		}
		if r.Local != nil && r.Local.End != "" {
			out.Moved.End = end
		}
	}
	if r.Zone != nil {
		zone.Release = max(zone.Release, r.Zone.Release)
	}
	times := append(append(moved(r.Times, move), from), out.Due...)
	times = append(times, out.remembered()...)
	for i := range out.Notes {
		times = append(times, out.Notes[i].Nominal)
	}
	if d := out.Dropped; d != nil {
		times = append(times, d.Last)
	}
	zone.note(p, times)
	out.Zone = zone
	return out, nil
}

// timetable returns the timetable of a request, of nominal times if there are calendars.
func (r *Request) timetable(c *Calendars) (*timetable.Timetable, error) {
	d := &job.Definition{StartTime: r.StartTime, Recurrence: r.Recurrence, Local: r.Local, Blackouts: r.Blackouts}
	if c == nil {
		return timetable.Of(d, r.Created)
	}
	return timetable.NominalTimes(d, r.Created, c.Uses)
}

func (r *Request) step(p *timetable.Timetable, from time.Time) Plan {
	switch r.Step {
	case StepFirst:
		return First(p)
	case StepAnew:
		return Anew(p, from)
	case StepDrop:
		return Drop(p, from, r.Until, r.Outcome, r.Why)
	case StepCatchUp:
		return Drop(p, from, MissedUntil(p, from, r.Now, r.Window), r.Outcome, r.Why)
	case StepRelease, StepLate:
		return Release(p, from, r.Until, r.Keep, r.Outcome, r.Why)
	default:
		return After(p, from)
	}
}

func movedWindows(windows []job.SkipWindow, move func(time.Time) time.Time) []job.SkipWindow {
	var out []job.SkipWindow
	for _, w := range windows {
		out = append(out, job.SkipWindow{From: move(w.From), Until: move(w.Until)})
	}
	return out
}

func moved(times []time.Time, move func(time.Time) time.Time) []time.Time {
	var out []time.Time
	for _, t := range times {
		out = append(out, move(t))
	}
	return out
}
