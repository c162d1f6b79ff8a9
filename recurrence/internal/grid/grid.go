// Package grid computes the instants at which a rule of package recurrence fires.
//
// Instants are seconds since 1970-01-01T00:00:00Z. A local time is an instant plus the zone's offset: the
// seconds since 1970 if the local clock showed UTC. A day is a number of days since 1970-01-01.
//
// A rule is one of three grids: elapsed minutes or hours ([Rule] without lists), slots of minutes or hours that
// a clock filters, or the dates of a calendar with the times of a clock.
package grid

import "time"

// A Frequency is the unit of a [Rule], numbered as in package recurrence.
type Frequency int

// The frequencies.
const (
	Minute Frequency = iota + 1
	Hour
	Day
	Week
	Month
	Year
)

// A Rule has the fields of a recurrence.Rule that define a grid. It must be valid, with an Interval of at least
// 1 and a Location.
type Rule struct {
	Frequency          Frequency
	Interval           int64
	Location           *time.Location
	Minutes, Hours     []int
	WeekDays           []time.Weekday
	MonthDays          []int
	MonthlyOccurrences []MonthlyOccurrence
	NearestWeekdays    []int
	EitherDay          bool
	Positions          []int
	Months             []int
	Years              []int
	EveryPass          bool
}

// A MonthlyOccurrence is a weekday counted within its month, or each such weekday if Occurrence is 0.
type MonthlyOccurrence struct {
	Day        time.Weekday
	Occurrence int
}

// A Grid is the set of all instants from the anchor on at which a rule fires.
type Grid interface {
	// Next returns the first instant of the grid from from to until, both included, or false.
	Next(from, until int64) (int64, bool)

	// Fires reports whether the grid has any instant.
	Fires() bool

	// Spacing returns the minimum number of seconds between two instants, assuming a constant offset of the
	// zone.
	Spacing() int64
}

// New returns the grid of a valid rule from an anchor on.
func New(r *Rule, anchor int64) Grid {
	z := zone{loc: r.Location}
	if len(r.Years) > 0 {
		return newInYears(r, z, anchor)
	}
	filtered := len(r.Hours) > 0 || len(r.Minutes) > 0
	switch {
	case r.Frequency > Hour:
		return newWallGrid(r, z, anchor)
	case filtered:
		return newSlots(r, z, anchor)
	case r.Frequency == Hour:
		return elapsed{first: anchor, every: r.Interval * 3600}
	default:
		return elapsed{first: anchor, every: r.Interval * 60}
	}
}

// elapsed is the grid of minutes and hours without lists.
type elapsed struct {
	first, every int64
}

func (g elapsed) Next(from, until int64) (int64, bool) {
	t := g.first + ceilDiv(max(from-g.first, 0), g.every)*g.every
	return t, t <= until
}

func (g elapsed) Fires() bool { return true }

// Last returns the last instant of a grid from from to to, both included, or false. Looking back in growing
// steps, it finds one that is near, and then halves the distance.
func Last(g Grid, from, to int64) (int64, bool) {
	last, ok := g.Next(from, to)
	if !ok {
		return 0, false
	}
	none := to + 1 // nothing is left from here on
	for step := int64(60); to-step > last; step *= 2 {
		if t, ok := g.Next(to-step, to); ok {
			last = t
			break
		}
		none = to - step
	}
	for none-last > 1 {
		middle := last + (none-last)/2
		if t, ok := g.Next(middle, to); ok {
			last = t
		} else {
			none = middle
		}
	}
	return last, true
}
