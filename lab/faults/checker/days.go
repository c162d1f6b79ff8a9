package checker

import (
	"slices"
	"time"

	"almanac/lab/record"
)

// This is a small reading of the rules of calendars, which has nothing of the product's. Zones have no daylight saving
// time. It counts dates as days since 1970.

// maxReach is how many days an occurrence moves at most.
const maxReach = 100

// dateOf returns the date of a time in a zone, and how long after midnight it is.
func dateOf(t time.Time, zone *time.Location) (date int, clock time.Duration) {
	t = t.In(zone)
	y, m, d := t.Date()
	midnight := time.Date(y, m, d, 0, 0, 0, 0, zone)
	return int(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / (24 * 60 * 60)), t.Sub(midnight)
}

// timeOf is the opposite of [dateOf].
func timeOf(date int, clock time.Duration, zone *time.Location) time.Time {
	return time.Date(1970, 1, 1+date, 0, 0, 0, 0, zone).Add(clock).UTC()
}

// dayOf returns a date as a time.
func dayOf(date int) time.Time { return time.Unix(int64(date)*24*60*60, 0).UTC() }

// monthOf returns a number of the month of a date.
func monthOf(date int) int { return 12*dayOf(date).Year() + int(dayOf(date).Month()) - 1 }

func zoneOf(name string) *time.Location {
	if name == "" {
		return time.UTC
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		panic(err) //nolint:forbidigo // the log is not of this machine
	}
	return zone
}

// reasons returns why a calendar has a date: the names of what matches it. There are none if it does not.
func reasons(c *record.Calendar, date int) (names []string) {
	text := dayOf(date).Format(time.DateOnly)
	if slices.Contains(c.MakeUpDays, text) {
		return nil
	}
	add := func(name, first string) {
		if name == "" {
			name = first
		}
		names = append(names, name)
	}
	for _, d := range c.Days {
		if d.Date == text {
			add(d.Name, d.Date)
		}
	}
	for _, p := range c.Periods {
		if p.First <= text && text <= p.Last {
			add(p.Name, p.First)
		}
	}
	if slices.Contains(c.WeekendDays, dayOf(date).Weekday()) {
		names = append(names, dayOf(date).Weekday().String())
	}
	return names
}

// dateFor returns the date that a time has for a calendar of a job in a zone.
func dateFor(c *record.Calendar, t time.Time, zone *time.Location) int {
	if c.TimeZone != "" {
		zone = zoneOf(c.TimeZone)
	}
	date, _ := dateOf(t, zone)
	return date
}

// A view is what a job's calendars are, in the order of its uses.
type view []*record.Calendar

// A planner applies the rule of a job.
type planner struct {
	rule  *record.Rule
	start time.Time
	zone  *time.Location
	known map[dateIn]bool // whether the calendar has the date
}

type dateIn struct {
	calendar *record.Calendar
	date     int
}

func newPlanner(d *record.Definition) *planner {
	return &planner{rule: d.Rule, start: d.Start.Truncate(time.Second), zone: zoneOf(d.Rule.Zone),
		known: map[dateIn]bool{}}
}

func (p *planner) matches(c *record.Calendar, date int) bool {
	has, known := p.known[dateIn{c, date}]
	if !known {
		has = len(reasons(c, date)) > 0
		p.known[dateIn{c, date}] = has
	}
	return has
}

// objects returns the first calendar that objects to a time; -1 if it is one of a working day.
func (p *planner) objects(v view, t time.Time) int {
	for i, use := range p.rule.Uses {
		if p.matches(v[i], dateFor(v[i], t, p.zone)) != (use.OnMatch == "only") {
			return i
		}
	}
	return -1
}

// moves reports whether a policy moves occurrences, in which direction, and whether only within their month.
func moves(onMatch string) (direction int, inMonth, ok bool) {
	switch onMatch {
	case "nextWorkingDay":
		return 1, false, true
	case "previousWorkingDay":
		return -1, false, true
	case "nextWorkingDayInMonth":
		return 1, true, true
	case "previousWorkingDayInMonth":
		return -1, true, true
	}
	return 0, false, false
}

// due returns when calendars make an occurrence due, and which one objects to its nominal time, or -1. It is false if
// they skip it.
func (p *planner) due(v view, nominal time.Time) (due time.Time, object int, runs bool) {
	object = p.objects(v, nominal)
	if object < 0 {
		return nominal, object, true
	}
	direction, inMonth, moving := moves(p.rule.Uses[object].OnMatch)
	if !moving {
		return time.Time{}, object, false
	}
	if due, runs = p.move(v, nominal, direction, inMonth); !runs && inMonth {
		due, runs = p.move(v, nominal, -direction, true)
	}
	return due, object, runs
}

func (p *planner) move(v view, nominal time.Time, direction int, inMonth bool) (time.Time, bool) {
	date, clock := dateOf(nominal, p.zone)
	for n := 1; n <= maxReach; n++ {
		other := date + n*direction
		if inMonth && monthOf(other) != monthOf(date) {
			break
		}
		if t := timeOf(other, clock, p.zone); p.objects(v, t) < 0 {
			return t, true
		}
	}
	return time.Time{}, false
}

// fromNow returns the first working day on which the time of day of an occurrence has not passed, in its month if the
// calendar that objects says so.
func (p *planner) fromNow(v view, nominal, now time.Time, object int) (time.Time, bool) {
	inMonth := false
	if object >= 0 {
		_, inMonth, _ = moves(p.rule.Uses[object].OnMatch)
	}
	date, clock := dateOf(nominal, p.zone)
	today, _ := dateOf(now, p.zone)
	for n := range maxReach + 1 {
		t := timeOf(today+n, clock, p.zone)
		if t.Before(now) || inMonth && monthOf(today+n) != monthOf(date) {
			continue
		}
		if p.objects(v, t) < 0 {
			return t, true
		}
	}
	return time.Time{}, false
}

// An identity is what an occurrence is known by: its nominal time, or which working day of which month it is on, and its
// time of day.
type identity struct {
	nominal       int64 // Unix seconds
	month, number int
	clock         time.Duration
}

// nominal returns the nominal time of an occurrence; false if there is no such one.
func (p *planner) nominal(v view, id identity) (time.Time, bool) {
	t := time.Unix(id.nominal, 0).UTC()
	if id.number > 0 {
		first := time.Date(id.month/12, time.Month(id.month%12+1), 1, 0, 0, 0, 0, time.UTC)
		n := 0
		for date := int(first.Unix() / (24 * 60 * 60)); ; date++ {
			if monthOf(date) != id.month {
				return t, false
			}
			if t = timeOf(date, id.clock, p.zone); p.objects(v, t) < 0 {
				n++
			}
			if n == id.number {
				break
			}
		}
	}
	return t, !t.Before(p.start)
}

// fires reports whether the rule, without working days, fires at a time.
func (p *planner) fires(t time.Time) bool {
	r := p.rule
	if r.Frequency == "minute" {
		return t.Second() == p.start.Second()
	}
	date, clock := dateOf(t, p.zone)
	return clock%time.Minute == 0 && slices.Contains(r.Hours, int(clock/time.Hour)) &&
		slices.Contains(r.Minutes, int(clock/time.Minute%60)) &&
		(r.Frequency != "week" || slices.Contains(r.WeekDays, dayOf(date).Weekday()))
}

// identities returns all occurrences that are nominally due from some days before a time to some days after another one.
func (p *planner) identities(from, until time.Time, days int) (all []identity) {
	r := p.rule
	if r.Frequency == "minute" {
		first := from.Truncate(time.Minute).Add(time.Duration(p.start.Second()) * time.Second)
		for t := first; !t.After(until); t = t.Add(time.Minute) {
			all = append(all, identity{nominal: t.Unix()})
		}
		return all
	}
	first, _ := dateOf(from, p.zone)
	last, _ := dateOf(until, p.zone)
	clocks := func(add func(clock time.Duration)) {
		for _, h := range r.Hours {
			for _, m := range r.Minutes {
				add(time.Duration(h)*time.Hour + time.Duration(m)*time.Minute)
			}
		}
	}
	if r.Frequency == "month" {
		for month := monthOf(first); month <= monthOf(last); month++ {
			for _, n := range r.WorkingDays {
				clocks(func(clock time.Duration) { all = append(all, identity{month: month, number: n, clock: clock}) })
			}
		}
		return all
	}
	for date := first - days; date <= last+days; date++ {
		clocks(func(clock time.Duration) {
			if t := timeOf(date, clock, p.zone); p.fires(t) {
				all = append(all, identity{nominal: t.Unix()})
			}
		})
	}
	return all
}

// beyond returns the calendars whose horizon an occurrence is behind.
func (p *planner) beyond(v view, nominal, due time.Time) (names []string) {
	for i, c := range v {
		for _, t := range []time.Time{nominal, due} {
			date, _ := dateOf(t, p.zone)
			if name := p.rule.Uses[i].Name; c.CompleteUntil != "" && dayOf(date).Format(time.DateOnly) > c.CompleteUntil &&
				!slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
