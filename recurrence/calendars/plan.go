package calendars

import (
	"cmp"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"almanac/recurrence"
)

// An Input is what a plan follows from.
type Input struct {
	Series *recurrence.Series // of nominal times; nil: there are none but First
	First  time.Time          // a further nominal time, such as the run at once, unless it is excluded; zero: none
	Begin  time.Time          // the first nominal time of Series that counts; zero: no limit
	End    time.Time          // the last nominal time; zero: no limit

	Location  *time.Location // of the job; nil: UTC
	Calendars []Use
	Blackouts []Blackout // of the job, and then of its collection

	// Numbered are schedules of working days in Series, whose occurrences are known by month, number and time of day.
	Numbered []Numbered
}

// Numbered is a schedule that [WorkingDays] returned, and its numbers.
type Numbered struct {
	Schedule *recurrence.Schedule
	Numbers  []int
}

// A Reason says why an occurrence does not run.
type Reason int

// The reasons.
const (
	Runs          Reason = iota
	OnDayOff             // a calendar objects, and its policy is Skip or Only
	NoWorkingDay         // there is none in reach
	SameTime             // another one is due at the same time; see SameAs
	InBlackout           // the policy of the blackout is SkipInBlackout
	NoAllowedTime        // there is none in reach
	TooManyHeld          // more than 100 are held
)

// An Objection is a calendar that objects to a nominal time, and what is on that day: the name of a day off, its date, or
// a day of the week; "" if the calendar does not match it and its policy is Only.
type Objection struct {
	Name    string
	Version int
	Day     string
}

// An Occurrence is what becomes of a nominal time.
type Occurrence struct {
	Nominal, Due  time.Time // Due is Nominal if it does not run
	Reason        Reason
	Objection     Objection // of the first calendar that objects; zero: none does
	TooLate       time.Time // when it would have been due, but that is before the plan was made; zero: it is not
	Blackout      string    // the name of the one that decides about it; "": it is in none
	Shared        bool      // that is one of the collection
	Over          time.Time // the end of that; zero if it is in none
	SameAs        time.Time // the nominal time of the one that runs, for SameTime
	BeyondHorizon []string  // calendars whose horizon it is behind
	WorkingDay    int       // its number in the month, if it has one

	identity Identity
	held     *Held
}

// Ran reports whether the occurrence runs.
func (o *Occurrence) Ran() bool { return o.Reason == Runs }

// A Plan decides about occurrences. It is immutable and safe for concurrent use.
type Plan struct {
	in   Input
	uses uses
	at   int64 // when it was made: nothing is due before

	before map[identity]fate // what an earlier plan says of occurrences around at; nil: there is none

	// of a plan that continues by a memory, whose before has exceptions: what else is decided
	remembers bool
	anew      bool // by another schedule
	until     int64
	month     int
	passed    []Passed
	undecided int64 // what is nominally due before is decided
	moves     bool
	holds     bool

	settled int64 // see settledAt
}

// An identity is what an occurrence is known by: its nominal time, or month, number and time of day.
type identity struct {
	nominal int64
	month   int
	number  int
	clock   int64
}

// A fate is what an earlier plan says of an occurrence.
type fate struct {
	decided bool
	due     int64 // by calendars alone; math.MinInt64 if they skip it
	isHeld  bool  // a blackout made it due later
	held    BlackoutPolicy
}

// NewPlan returns the plan of a job that is made at a time, such as its creation. The input must be valid.
func NewPlan(in Input, at time.Time) *Plan {
	if in.Location == nil {
		in.Location = time.UTC
	}
	p := &Plan{in: in, uses: uses{all: in.Calendars, zone: in.Location, last: new(atomic.Pointer[workingMonth])}, at: at.Unix()}
	if in.Series != nil && !in.First.IsZero() && in.Series.Excludes(in.First) {
		p.in.First = time.Time{}
	}
	p.moves = slices.ContainsFunc(in.Calendars, func(u Use) bool { return u.OnMatch.Moves() })
	p.holds = slices.ContainsFunc(in.Blackouts, func(b Blackout) bool { return b.OnMatch != SkipInBlackout })
	p.settled = p.settledAt()
	return p
}

// Change returns the plan that follows at a time, with another input. What p decided before then stays decided.
func (p *Plan) Change(in Input, at time.Time) *Plan {
	next := NewPlan(in, at)
	if p.plain() && next.plain() {
		return NewPlan(in, at.Add(time.Second)) // nothing was decided but what is past
	}
	next.before = map[identity]fate{}
	next.settled = next.settledAt()
	reach := int64(2*MaxReach+3) * secondsPerDay
	for _, one := range p.settle(next.at-reach, next.at+reach) {
		decision := one.nominal
		if one.Ran() {
			decision = one.due
		}
		next.before[one.id] = fate{decided: one.discarded || decision <= next.at, due: one.byCalendars, isHeld: one.Ran() && one.due != one.byCalendars, held: one.policy}
	}
	return next
}

// plain reports whether all that the plan decides is decided at its nominal time, by which it is known.
func (p *Plan) plain() bool {
	return p.before == nil && !p.moves && !p.holds && len(p.in.Numbered) == 0
}

// one is an occurrence in the making.
type one struct {
	Occurrence
	id           identity
	nominal, due int64
	byCalendars  int64 // due by calendars alone; math.MinInt64: skipped
	discarded    bool  // it is no occurrence of the plan
	policy       BlackoutPolicy
	keepAll      bool
}

// settle decides about all nominal times from one instant to another.
func (p *Plan) settle(from, until int64) []*one {
	var all []*one
	add := func(t int64) {
		if t < from || t > until || !p.in.End.IsZero() && t > p.in.End.Unix() {
			return
		}
		all = append(all, p.byCalendars(t))
	}
	if p.in.Series != nil {
		for t := range p.in.Series.Between(time.Unix(from, 0), time.Unix(until+1, 0)) {
			if t.Before(p.in.Begin) || !p.in.First.IsZero() && t.Unix() == p.in.First.Unix() {
				continue
			}
			add(t.Unix())
		}
	}
	if !p.in.First.IsZero() {
		add(p.in.First.Unix())
	}
	slices.SortStableFunc(all, func(a, b *one) int { return cmp.Compare(a.nominal, b.nominal) })
	collide(all, false)
	for _, o := range all {
		if o.Ran() && !o.discarded {
			p.blackout(o)
		}
	}
	collide(all, true)
	return all
}

// byCalendars decides about a nominal time as calendars say.
func (p *Plan) byCalendars(t int64) *one {
	o := &one{nominal: t, due: t, byCalendars: t, id: identity{nominal: t}}
	o.Nominal = time.Unix(t, 0).UTC()
	day := date(t, p.uses.zone)
	p.identify(o, day)
	before, known := p.fateOf(o)
	if known && before.decided || p.before != nil && !p.anew && !known && t < p.at {
		o.discarded = true
		return o
	}
	if object, matched := p.uses.objects(t, day); object >= 0 {
		p.object(o, day, object, matched)
	}
	if o.Ran() && o.due < p.at {
		p.tooLate(o, known, before)
	}
	o.byCalendars = o.due
	if !o.Ran() {
		o.byCalendars = math.MinInt64
	}
	p.horizon(o)
	return o
}

// identify sets what an occurrence is known by.
func (p *Plan) identify(o *one, day Date) {
	for _, n := range p.in.Numbered {
		number := p.uses.number(day, n.Numbers)
		if number == 0 || o.WorkingDay > 0 && number < 0 {
			continue
		}
		if next, ok := n.Schedule.Next(o.Nominal.Add(-time.Second)); ok && next.Unix() == o.nominal {
			o.WorkingDay = number
		}
	}
	o.identity = Identity{Nominal: o.Nominal}
	if o.WorkingDay != 0 {
		o.id = identity{month: day.month(), number: o.WorkingDay, clock: p.uses.clockOf(o.nominal)}
		o.identity = Identity{Month: o.id.month, Number: o.WorkingDay, Clock: int(o.id.clock)}
	}
}

// object applies the policy of a calendar that objects; matched is the date that the occurrence has for it.
func (p *Plan) object(o *one, day Date, object int, matched Date) {
	use := &p.uses.all[object]
	o.Objection = Objection{Name: use.Name, Version: use.Table.version}
	if use.OnMatch != Only {
		o.Objection.Day = use.Table.day(matched)
	}
	if !use.OnMatch.Moves() {
		o.Reason = OnDayOff
		return
	}
	due, ok := p.uses.move(&view{zone: p.uses.zone}, day, p.uses.clockOf(o.nominal), object)
	if !ok {
		o.Reason = NoWorkingDay
		return
	}
	o.due = due
}

// tooLate settles an occurrence that calendars make due before the plan was made: it goes to the first working day on
// which its time of day is not past, if it was planned already or is nominally to come.
func (p *Plan) tooLate(o *one, known bool, before fate) {
	switch {
	case known && before.isHeld && before.due == o.due:
		return
	case !known && o.nominal < p.at:
		o.discarded = true
		return
	}
	month := -1
	if object, _ := p.uses.objects(o.nominal, date(o.nominal, p.uses.zone)); object >= 0 && p.uses.all[object].OnMatch.inMonth() {
		month = date(o.nominal, p.uses.zone).month()
	}
	o.TooLate = time.Unix(o.due, 0).UTC()
	due, ok := p.uses.fromNow(p.at, p.uses.clockOf(o.nominal), month)
	if !ok {
		o.Reason = NoWorkingDay
		return
	}
	o.due = due
}

// horizon names the calendars whose horizon an occurrence is behind.
func (p *Plan) horizon(o *one) {
	o.BeyondHorizon = nil
	for _, use := range p.uses.all {
		if use.Table.beyond(date(o.nominal, p.uses.zone)) || o.Ran() && use.Table.beyond(date(o.due, p.uses.zone)) {
			o.BeyondHorizon = append(o.BeyondHorizon, use.Name)
		}
	}
}

// blackout applies the blackout in which an occurrence is due, if it is in one.
func (p *Plan) blackout(o *one) {
	i, over := p.covering(o.due)
	if i < 0 {
		p.lifted(o)
		return
	}
	b := &p.in.Blackouts[i]
	o.Blackout, o.policy, o.keepAll = b.Name, b.OnMatch, b.KeepAll
	o.Shared, o.Over = b.Shared, time.Unix(over, 0).UTC()
	ok := true
	switch b.OnMatch {
	case SkipInBlackout:
		o.Reason = InBlackout
		return
	case RunAtEnd:
		o.due, ok = p.allowed(o.due, o.due)
		if ok && o.due < p.at {
			o.due, ok = p.allowed(p.at, o.due)
		}
	case NextAllowedDay:
		day := date(o.due, p.uses.zone)
		o.due, ok = p.allowedDay(day+1, day+MaxReach, p.uses.clockOf(o.nominal), p.at)
	}
	if !ok {
		o.Reason, o.due = NoAllowedTime, o.nominal
		return
	}
	o.held = &Held{Identity: o.identity, Due: time.Unix(o.byCalendars, 0).UTC(), By: b.OnMatch}
	p.horizon(o)
}

// lifted settles an occurrence that a blackout held which is over earlier than it was to be.
func (p *Plan) lifted(o *one) {
	if o.due >= p.at {
		return
	}
	var ok bool
	by := p.before[o.id].held
	if by == NextAllowedDay {
		today := date(p.at, p.uses.zone)
		o.due, ok = p.allowedDay(today, today+MaxReach, p.uses.clockOf(o.nominal), p.at)
	} else {
		if i, over := p.covering(p.at); i >= 0 {
			o.Blackout, o.Shared, o.Over = p.in.Blackouts[i].Name, p.in.Blackouts[i].Shared, time.Unix(over, 0).UTC()
		}
		o.due, ok = p.allowed(p.at, p.at)
	}
	if !ok {
		o.Reason = NoAllowedTime
		return
	}
	o.held = &Held{Identity: o.identity, Due: time.Unix(o.byCalendars, 0).UTC(), By: by}
}

// collide keeps, of those that are due at one instant, the one with the nearest nominal time, then the earlier one. held
// says that blackouts were applied: of those that are all kept, the newest 100 are, beside it.
func collide(all []*one, held bool) {
	winners := map[int64]*one{}
	var kept map[int64]int // how many are all kept
	for _, o := range all {
		switch winner := winners[o.due]; {
		case !o.Ran() || o.discarded:
		case held && o.keepAll:
			if kept == nil {
				kept = map[int64]int{}
			}
			kept[o.due]++
		case winner == nil || cmp.Or(cmp.Compare(distance(o), distance(winner)), cmp.Compare(o.nominal, winner.nominal)) < 0:
			winners[o.due] = o
		}
	}
	for _, o := range all {
		switch winner := winners[o.due]; {
		case !o.Ran() || o.discarded:
		case held && o.keepAll:
			if kept[o.due] > keptHeld {
				o.Reason = TooManyHeld
			}
			kept[o.due]--
		case winner != o:
			o.Reason, o.SameAs = SameTime, winner.Nominal
		}
	}
}

func distance(o *one) int64 { return max(o.nominal-o.due, o.due-o.nominal) }

// window returns the nominal times that have a part in what is decided from one instant to another.
func (p *Plan) window(from, until int64) (first, last int64) {
	const reach = (MaxReach + 2) * secondsPerDay
	first, last = from, until
	if p.moves || p.before != nil && !p.remembers {
		first, last = first-reach, last+reach
	}
	switch byDays := slices.ContainsFunc(p.in.Blackouts, func(b Blackout) bool { return b.OnMatch == NextAllowedDay }); {
	case p.before != nil && !p.remembers || p.holds && (p.moves || byDays):
		first, last = first-reach, last+reach
	case p.holds: // what is due together is held by blackouts that follow each other
		first = min(first, p.coveredSince(from))
		if end, ok := p.allowed(until, until); ok {
			last = end
		}
	}
	if p.remembers { // what was undecided then may be due much later
		first = max(min(first, from-2*reach), p.undecided)
	}
	return first, last
}

// Occurrences returns what becomes of all occurrences that are decided from one time to another, both included: those
// that run at their due times, the others at their nominal times. They are in that order.
func (p *Plan) Occurrences(from, until time.Time) []Occurrence {
	first, last := p.window(from.Unix(), until.Unix())
	type decided struct {
		at int64
		o  *one
	}
	var kept []decided
	for _, o := range p.settle(first, last) {
		at := o.nominal
		switch {
		case o.Ran():
			at = o.due
		case p.before != nil && !o.discarded: // it was not decided when it was nominally due
			at = max(at, p.at)
		}
		if !o.discarded && at >= max(from.Unix(), p.at) && at <= until.Unix() {
			kept = append(kept, decided{at, o})
		}
	}
	slices.SortStableFunc(kept, func(a, b decided) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.o.nominal, b.o.nominal))
	})
	var all []Occurrence
	for _, d := range kept {
		d.o.Due = d.o.Nominal
		if d.o.Ran() {
			d.o.Due = time.Unix(d.at, 0).UTC()
		}
		all = append(all, d.o.Occurrence)
	}
	return all
}
