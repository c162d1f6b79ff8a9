package grid

import (
	"math"
	"time"
)

// A wallGrid is the grid of days and longer units: each date of a calendar at each time of a clock.
type wallGrid struct {
	zone     zone
	calendar calendar
	clock    clock
	anchor   int64

	// atAnchor means that the anchor is an instant of the grid even if its local time is a repeated one.
	atAnchor bool

	// everyPass means that local times that come twice fire twice, and that those that are skipped never fire.
	everyPass bool
}

func newWallGrid(r *Rule, z zone, anchor int64) *wallGrid {
	local := anchor + z.offset(anchor)
	g := &wallGrid{zone: z, clock: newClock(r, local), anchor: anchor, everyPass: r.EveryPass}
	day := floorDiv(local, secondsPerDay)
	switch r.Frequency {
	case Day:
		g.calendar = days{first: day, every: r.Interval}
	case Week:
		g.calendar = newWeeks(r, day)
	default:
		year, month, dayOfMonth := time.Unix(local, 0).UTC().Date()
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
	c := weeks{monday: day - int64(today), every: 7 * r.Interval}
	for _, d := range r.WeekDays {
		c.weekdays |= 1 << sinceMonday(d)
	}
	if c.weekdays == 0 {
		c.weekdays = 1 << today
	}
	return c
}

// Fires looks at the dates only: a clock is never empty.
func (g *wallGrid) Fires() bool {
	_, ok := g.nextLocal(g.anchor)
	return ok
}

// Next looks for the first local time of the rule in the span around from. If that time is in a later span,
// there is none left in this one; the search continues shortly before that time, since no local time of the
// rule lies between.
func (g *wallGrid) Next(from, until int64) (int64, bool) {
	if from <= g.anchor {
		if g.atAnchor {
			return g.anchor, g.anchor <= until
		}
		from = g.anchor
	}
	if g.everyPass {
		return g.nextPass(from, until)
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

// nextPass is Next where each pass of a local time fires. Only a span whose clock was set back has local times of the
// one before it, so no other has to be looked at on the way.
func (g *wallGrid) nextPass(from, until int64) (int64, bool) {
	for from <= until {
		s := g.zone.at(from)
		local, ok := g.nextLocal(from + s.offset)
		if !ok {
			return 0, false
		}
		if t := local - s.offset; t < s.end {
			return t, t <= until
		}
		from = s.end
		if g.zone.offset(s.end) >= s.offset {
			from = max(s.end, local-maxOffset)
		}
	}
	return 0, false
}

// OnDate reports whether the grid's dates have a day, the one of an instant from the anchor on.
func (g *wallGrid) OnDate(day int64) bool {
	next, ok := g.calendar.next(day)
	return ok && next == day
}

// OnDays returns the grid on those of its dates that a function keeps; false if it is none of dates.
func OnDays(g Grid, keep func(day int64) bool) (Grid, bool) {
	dates, ok := g.(*wallGrid)
	if !ok {
		return nil, false
	}
	on := *dates
	on.calendar = kept{dates.calendar, keep}
	on.atAnchor = dates.atAnchor && keep(floorDiv(on.anchor+on.zone.offset(on.anchor), secondsPerDay))
	return &on, true
}

// kept are the dates of a calendar that a function keeps.
type kept struct {
	calendar
	keep func(day int64) bool
}

// maxKeptGap is how many days are looked at for one that is kept: 100 years.
const maxKeptGap = 36_525

func (c kept) next(day int64) (int64, bool) {
	for last := day + maxKeptGap; ; day++ {
		next, ok := c.calendar.next(day)
		if !ok || next > last {
			return 0, false
		}
		if c.keep(next) {
			return next, true
		}
		day = next
	}
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
