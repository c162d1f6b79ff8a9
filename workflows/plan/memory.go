package plan

import (
	"slices"
	"time"

	"almanac/recurrence/calendars"
)

// What a plan by calendars leaves to the one that follows it: which occurrences are decided.

// PassedAt returns the working days by number that are decided at a time.
func (p *Plan) PassedAt(at time.Time) (passed []calendars.Passed) {
	month := at.UTC().Year()*12 + int(at.UTC().Month()) - 1
	if p.Memory != nil {
		for _, d := range p.Memory.Passed {
			if d.Month >= month-1 {
				passed = append(passed, d)
			}
		}
	}
	for _, d := range p.Days {
		begin := time.Date(d.Month/12, time.Month(d.Month%12+1), d.Day, 0, 0, 0, 0, time.UTC)
		if d.Month < month-1 || at.Before(begin.Add(-aDay)) {
			continue
		}
		i := slices.IndexFunc(passed, func(other calendars.Passed) bool {
			return other.Month == d.Month && other.Number == d.Number &&
				(other.Day == d.Day || isOver(&other))
		})
		if i < 0 {
			passed = append(passed, calendars.Passed{NumberedDay: d, Until: at.UTC()})
		} else if passed[i].Day == d.Day {
			passed[i].Until = later(passed[i].Until, at.UTC())
		}
	}
	return passed
}

// aDay is more than the offset of any zone.
const aDay = 24 * time.Hour

// isOver reports whether all is decided that was due on a numbered day.
func isOver(p *calendars.Passed) bool {
	begin := time.Date(p.Month/12, time.Month(p.Month%12+1), p.Day, 0, 0, 0, 0, time.UTC)
	return p.Until.After(begin.Add(2 * aDay))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// EarlyAt returns the occurrences that are decided at a time, and nominally due after it.
func (p *Plan) EarlyAt(at time.Time) (early []calendars.Identity) {
	month := at.UTC().Year()*12 + int(at.UTC().Month()) - 1
	add := func(i calendars.Identity) {
		known := slices.Contains(early, i)
		if !known && (i.Number != 0 && i.Month >= month-1 || i.Nominal.After(at)) {
			early = append(early, i)
		}
	}
	for _, i := range p.Early {
		add(i)
	}
	if p.Memory != nil {
		for _, i := range p.Memory.Early {
			add(i)
		}
	}
	for i := range p.Notes {
		if n := &p.Notes[i]; !n.Due.After(at) && n.Nominal.After(at) { // see PassedAt
			add(p.Identity(n.Due))
			add(calendars.Identity{Nominal: n.Nominal.UTC()}) // for a schedule without numbers
		}
	}
	return early
}

// Anew returns the plan of a job whose schedule is another one after a time, or begins again, until that is planned. It
// has nothing but what is remembered: which nominal times are decided, at a time that is not later.
func (p *Plan) Anew(decided, after time.Time) Plan {
	m := p.MemoryAt(decided, p.EarlyAt(decided))
	m.Anew = true
	return Plan{
		Zone: p.Zone, Skipped: p.Skipped, MoreSkipped: p.MoreSkipped,
		Early: p.EarlyAt(after), Memory: m, Made: after.Add(time.Second), Noted: after,
	}
}

// moved returns the request by calendars with other nominal times, since the zone has other rules.
func (by *ByCalendars) moved(move func(time.Time) time.Time) *ByCalendars {
	if by == nil {
		return nil
	}
	other := *by
	for _, m := range []**calendars.Memory{&other.Memory, &other.Then} {
		if was := *m; was != nil {
			*m = &calendars.Memory{
				Until: was.Until, Anew: was.Anew, Passed: was.Passed,
				Early: movedIdentities(was.Early, move), Late: movedIdentities(was.Late, move),
			}
			for _, h := range was.Held {
				h.Nominal, h.Due = move(h.Nominal), move(h.Due)
				(*m).Held = append((*m).Held, h)
			}
		}
	}
	return &other
}

func movedIdentities(all []calendars.Identity, move func(time.Time) time.Time) (other []calendars.Identity) {
	for _, i := range all {
		i.Nominal = move(i.Nominal)
		other = append(other, i)
	}
	return other
}

// remembered returns the nominal times that a plan remembers.
func (p *Plan) remembered() (all []time.Time) {
	lists := [][]calendars.Identity{p.Early, p.Late}
	if p.Memory != nil {
		lists = append(lists, p.Memory.Early, p.Memory.Late)
	}
	for _, list := range lists {
		for _, i := range list {
			all = append(all, i.Nominal)
		}
	}
	held := p.Held
	if p.Memory != nil {
		held = slices.Concat(held, p.Memory.Held)
	}
	for _, h := range held {
		all = append(all, h.Nominal)
	}
	return all
}

// MemoryAt returns what is decided at a time, which is not after the last planned occurrence, for a plan that is made
// then with other calendars. early are occurrences that were started before their nominal times.
func (p *Plan) MemoryAt(at time.Time, early []calendars.Identity) *calendars.Memory {
	m := &calendars.Memory{Until: at.UTC(), Early: early, Passed: p.PassedAt(at)}
	late := func(i calendars.Identity) {
		if !i.Nominal.IsZero() && !i.Nominal.After(at) {
			m.Late = append(m.Late, i)
		}
	}
	for _, n := range p.Notes {
		switch {
		case !n.Due.After(at):
		case n.Held != nil && !n.Held.Due.After(at):
			m.Held = append(m.Held, *n.Held)
		case n.Identity != nil: // of an earlier month, perhaps
			m.Late = append(m.Late, *n.Identity)
		default:
			late(calendars.Identity{Nominal: n.Nominal.UTC()})
		}
	}
	for _, h := range p.Held {
		if !h.Due.After(at) {
			m.Held = append(m.Held, h)
			continue
		}
		late(h.Identity)
	}
	for _, i := range p.Late {
		if i.Number != 0 {
			m.Late = append(m.Late, i)
		}
		late(i)
	}
	return m
}

// Undecide notes that an occurrence is not decided after all, which has a nominal time and perhaps a number.
func (p *Plan) Undecide(nominal time.Time, known *calendars.Identity) {
	without := func(early []calendars.Identity) []calendars.Identity {
		return slices.DeleteFunc(slices.Clone(early), func(i calendars.Identity) bool {
			return i.Number == 0 && i.Nominal.Equal(nominal) || known != nil && i == *known
		})
	}
	p.Early = without(p.Early)
	if p.Memory != nil {
		m := *p.Memory
		m.Early = without(m.Early)
		p.Memory = &m
	}
}

// Over returns the plan of a job that is over at a time, whose occurrences are decided up to another one. It remembers
// what is decided, for a job that goes on by another schedule.
func (p *Plan) Over(decided, now time.Time) Plan {
	over := Plan{Done: true, Zone: p.Zone, Early: p.EarlyAt(decided)}
	if passed := p.PassedAt(decided); p.ByDays() || len(over.Early)+len(passed) > 0 {
		if now.After(decided) {
			decided = now
		}
		over.Memory = &calendars.Memory{Until: decided.UTC(), Early: over.Early, Passed: passed, Anew: true}
	}
	return over
}
