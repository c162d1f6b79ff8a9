package calendars

import (
	"slices"
	"time"
)

// An Identity is what an occurrence is known by, whatever calendars make of it: its nominal time, or for one of a
// schedule of working days its month, its number in it and its time of day in seconds.
type Identity struct {
	Nominal time.Time `json:"nominal,omitzero"`
	Month   int       `json:"month,omitempty"` // months since the year 0
	Number  int       `json:"number,omitempty"`
	Clock   int       `json:"clock,omitempty"`
}

// A Memory is what is left of a plan at a time: which occurrences it has decided. It is as long as occurrences are
// moved past that time, and does not need the calendars by which that was so. With it a plan is continued where nobody
// has the plan before it; see [Continue].
type Memory struct {
	Until time.Time  `json:"until"`          // what is nominally due up to here is decided
	Late  []Identity `json:"late,omitempty"` // but not these, which are due later
	// Early are decided, too: those that were due earlier, and working days of this month and later ones.
	Early []Identity `json:"early,omitempty"`
	Held  []Held     `json:"held,omitempty"` // nor are these decided, which a blackout holds
	// working days by number that are decided, whatever day has the number later
	Passed []Passed `json:"passed,omitempty"`
	// the schedule is another one from then on, or begins again: what it has nominally due between Until and the plan was
	// not planned before, nor working days by number
	Anew bool `json:"anew,omitempty"`
}

// A NumberedDay is the day of a month on which the working day of a number is.
type NumberedDay struct {
	Month  int `json:"month"` // months since the year 0
	Number int `json:"number"`
	Day    int `json:"day"`
}

// A Passed says that what was nominally due on a numbered day, up to a time, is decided.
type Passed struct {
	NumberedDay
	Until time.Time `json:"until"`
}

// maxNumberedMonths is how many months [Plan.NumberedDays] looks at.
const maxNumberedMonths = 13

// NumberedDays returns the working days by number of the months from one time to another, 13 months at most.
func (p *Plan) NumberedDays(from, until time.Time) (all []NumberedDay) {
	if len(p.in.Numbered) == 0 {
		return nil
	}
	day := date(from.Unix(), p.uses.zone)
	day -= Date(day.time().Day() - 1)
	last := min(date(until.Unix(), p.uses.zone).month(), day.month()+maxNumberedMonths-1)
	for ; day.month() <= last; day++ {
		number := 0
		for _, n := range p.in.Numbered {
			if other := p.uses.number(day, n.Numbers); other != 0 && number <= 0 {
				number = other
			}
		}
		if number != 0 {
			all = append(all, NumberedDay{Month: day.month(), Number: number, Day: day.time().Day()})
		}
	}
	return all
}

// hasPassed reports whether an occurrence by number was decided on the day that had the number then.
func (p *Plan) hasPassed(id identity) bool {
	return id.number != 0 && slices.ContainsFunc(p.passed, func(d Passed) bool {
		day := DateOf(id.month/12, time.Month(id.month%12+1), d.Day)
		return d.Month == id.month && d.Number == id.number && p.uses.at(day, id.clock) <= d.Until.Unix()
	})
}

// Held is an occurrence that a blackout makes due later.
type Held struct {
	Identity
	Due time.Time      `json:"due"` // by calendars alone
	By  BlackoutPolicy `json:"by"`
}

// HeldBy returns what a later plan has to know of an occurrence that a blackout makes due later; nil for another one.
func (o *Occurrence) HeldBy() *Held { return o.held }

// known is the identity as the plan has it.
func (i Identity) known() identity {
	if i.Number != 0 {
		return identity{month: i.Month, number: i.Number, clock: int64(i.Clock)}
	}
	return identity{nominal: i.Nominal.Unix()}
}

// Identity returns what the occurrence is known by.
func (o *Occurrence) Identity() Identity { return o.identity }

// Memory returns what the plan has decided at a time, as [Plan.Change] takes it.
func (p *Plan) Memory(at time.Time) Memory {
	m := Memory{Until: time.Unix(at.Unix(), 0).UTC()}
	month := date(at.Unix(), p.uses.zone).month()
	reach := int64(2*MaxReach+3) * secondsPerDay
	for _, o := range p.settle(at.Unix()-reach, at.Unix()+reach) {
		decision := o.nominal
		if o.Ran() {
			decision = o.due
		}
		decided := o.discarded || decision <= at.Unix()
		numbered := o.id.number != 0
		switch {
		case !decided && o.held != nil && o.Ran() && o.byCalendars <= at.Unix():
			m.Held = append(m.Held, *o.held)
		case decided && (numbered && o.id.month >= month || !numbered && o.nominal > at.Unix()):
			m.Early = append(m.Early, o.identity)
		case !decided && (numbered && o.id.month < month || !numbered && o.nominal <= at.Unix()):
			m.Late = append(m.Late, o.identity)
		}
	}
	return m
}

// Continue returns the plan that follows at a time on one of which a memory is left. It is as [Plan.Change].
func Continue(in Input, at time.Time, m Memory) *Plan {
	p := NewPlan(in, at)
	p.before = map[identity]fate{}
	p.until, p.month = m.Until.Unix(), date(m.Until.Unix(), p.uses.zone).month()
	p.remembers, p.anew, p.passed = true, m.Anew, m.Passed
	for _, i := range m.Late {
		p.before[i.known()] = fate{}
	}
	for _, h := range m.Held {
		p.before[h.known()] = fate{due: h.Due.Unix(), isHeld: true, held: h.By}
	}
	for _, i := range m.Early {
		p.before[i.known()] = fate{decided: true}
	}
	p.settled, p.undecided = p.settledAt(), p.undecidedSince()
	if !p.moves && len(in.Numbered) == 0 && p.undecided > p.until { // no memory matters any more
		p.settled = max(p.at, p.until)
		for id := range p.before {
			p.settled = max(p.settled, id.nominal)
		}
		for _, t := range []time.Time{p.in.First, p.in.Begin} {
			if !t.IsZero() {
				p.settled = max(p.settled, t.Unix())
			}
		}
	}
	return p
}

// undecidedSince returns up to when all that is nominally due is decided, by the memory.
func (p *Plan) undecidedSince() int64 {
	since := p.until + 1
	beginOf := func(month int) int64 { return p.uses.at(DateOf(month/12, time.Month(month%12+1), 1), 0) }
	if len(p.in.Numbered) > 0 {
		since = min(since, beginOf(p.month))
	}
	for id, f := range p.before {
		switch {
		case f.decided:
		case id.number != 0:
			since = min(since, beginOf(id.month))
		default:
			since = min(since, id.nominal)
		}
	}
	return since
}

// fateOf returns what an earlier plan says of an occurrence, and whether it knew it.
func (p *Plan) fateOf(o *one) (fate, bool) {
	before, known := p.before[o.id]
	switch {
	case known || !p.remembers:
		return before, known
	case p.hasPassed(o.id):
		return fate{decided: true}, true
	case p.anew:
		decided := o.nominal <= p.until
		return fate{decided: decided}, decided || o.nominal >= p.at
	}
	if o.id.number != 0 {
		return fate{decided: o.id.month < p.month}, true
	}
	return fate{decided: o.nominal <= p.until}, true
}
