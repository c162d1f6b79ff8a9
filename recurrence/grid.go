package recurrence

import (
	"math"
	"time"
)

// A grid is the set of all instants from the anchor on at which a rule fires.
type grid interface {
	// next returns the first instant of the grid from from to until, both included, or false.
	next(from, until int64) (int64, bool)

	// fires reports whether the grid has any instant.
	fires() bool

	// spacing returns the minimum number of seconds between two instants, assuming a constant offset of the
	// zone.
	spacing() int64
}

// newGrid returns the grid of a valid rule.
func newGrid(r *Rule, anchor int64) grid {
	z := newZone(r.Location)
	filtered := len(r.Hours) > 0 || len(r.Minutes) > 0
	switch {
	case r.Frequency > Hour:
		return newWallGrid(r, z, anchor)
	case filtered:
		return newSlots(r, z, anchor)
	case r.Frequency == Hour:
		return elapsed{first: anchor, every: r.interval() * 3600}
	default:
		return elapsed{first: anchor, every: r.interval() * 60}
	}
}

// newClock returns the times of day of a rule with an anchor at the given local time. Without minutes, a
// rule has the anchor's minute, or all minutes with frequency Minute. Without hours, it has all hours; but
// with frequency Day or longer and no minutes either, it has the anchor's hour.
func newClock(r *Rule, local int64) clock {
	second := local - floorDiv(local, secondsPerDay)*secondsPerDay
	hour, minute := second/3600, second/60%60
	c := clock{hours: allHours, minutes: 1 << minute, second: second % 60}
	switch {
	case len(r.Minutes) > 0:
		c.minutes, c.second = bitset(r.Minutes, 0), 0
	case r.Frequency == Minute:
		c.minutes = allMinutes
	case r.Frequency > Hour:
		c.hours = 1 << hour
	}
	c.hours = uint32(bitset(r.Hours, uint64(c.hours)))
	return c
}

// elapsed is the grid of minutes and hours without lists.
type elapsed struct {
	first, every int64
}

func (g elapsed) next(from, until int64) (int64, bool) {
	t := g.first + ceilDiv(max(from-g.first, 0), g.every)*g.every
	return t, t <= until
}

func (g elapsed) fires() bool { return true }

// A wallGrid is the grid of days and longer units: each date of a calendar at each time of a clock.
type wallGrid struct {
	zone     zone
	calendar calendar
	clock    clock
	anchor   int64

	// atAnchor means that the anchor is an instant of the grid even if its local time is a repeated one.
	atAnchor bool
}

func newWallGrid(r *Rule, z zone, anchor int64) *wallGrid {
	local := anchor + z.offset(anchor)
	g := &wallGrid{zone: z, clock: newClock(r, local), anchor: anchor}
	day := floorDiv(local, secondsPerDay)
	switch r.Frequency {
	case Day:
		g.calendar = days{first: day, every: r.interval()}
	case Week:
		g.calendar = newWeeks(r, day)
	default:
		year, month, dayOfMonth := instant(local).Date()
		g.calendar = newMonths(r, year, month, dayOfMonth)
	}
	if len(r.Hours) == 0 && len(r.Minutes) == 0 {
		first, ok := g.nextLocal(local)
		g.atAnchor = ok && first == local
	}
	return g
}

func newWeeks(r *Rule, day int64) weeks {
	sinceMonday := func(d time.Weekday) int { return (int(d) + 6) % 7 }
	today := sinceMonday(weekdayOf(day))
	c := weeks{monday: day - int64(today), every: 7 * r.interval()}
	for _, d := range r.WeekDays {
		c.weekdays |= 1 << sinceMonday(d)
	}
	if c.weekdays == 0 {
		c.weekdays = 1 << today
	}
	return c
}

// fires looks at the dates only: a clock is never empty.
func (g *wallGrid) fires() bool {
	_, ok := g.nextLocal(g.anchor)
	return ok
}

// next looks for the first local time of the rule in the span around from. If that time is in a later span,
// there is none left in this one; the search continues shortly before that time, since no local time of the
// rule lies between.
func (g *wallGrid) next(from, until int64) (int64, bool) {
	if from <= g.anchor {
		if g.atAnchor {
			return g.anchor, g.anchor <= until
		}
		from = g.anchor
	}
	for from <= until {
		s := g.zone.at(from)
		local, ok := g.nextLocal(max(from, s.fresh()) + s.offset)
		if !ok {
			return 0, false
		}
		t := local - s.offset
		if from < s.shifted() {
			t = min(t, g.nextSkipped(from, s))
		}
		if t < s.end {
			return t, t <= until
		}
		from = max(s.end, local-maxOffset)
	}
	return 0, false
}

// nextSkipped returns the first instant at or after from, in the shifted part of a span, that stands for a
// skipped local time of the rule.
func (g *wallGrid) nextSkipped(from int64, s span) int64 {
	local, ok := g.nextLocal(from + s.before)
	if !ok || local >= s.start+s.offset {
		return math.MaxInt64
	}
	return local - s.before
}

// nextLocal returns the rule's first local time at or after the given one.
func (g *wallGrid) nextLocal(local int64) (int64, bool) {
	today := floorDiv(local, secondsPerDay)
	day, ok := g.calendar.next(today)
	if day == today {
		if second, ok := g.clock.next(local - today*secondsPerDay); ok {
			return day*secondsPerDay + second, true
		}
		day, ok = g.calendar.next(today + 1)
	}
	first, _ := g.clock.next(0)
	return day*secondsPerDay + first, ok
}
