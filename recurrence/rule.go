package recurrence

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"almanac/recurrence/internal/grid"
)

// A Frequency is the unit of a [Rule]. The zero value is invalid.
type Frequency int

// The frequencies, from short to long.
const (
	Minute Frequency = iota + 1
	Hour
	Day
	Week
	Month
	Year
)

var frequencyNames = [...]string{Minute: "minute", Hour: "hour", Day: "day", Week: "week", Month: "month", Year: "year"}

// ParseFrequency returns the frequency with that name, such as "day", in any case, and whether there is one.
func ParseFrequency(s string) (Frequency, bool) {
	for f := Minute; f <= Year; f++ {
		if sameWord(s, frequencyNames[f]) {
			return f, true
		}
	}
	return 0, false
}

// sameWord compares in any case. EqualFold alone would match letters outside ASCII, such as the Kelvin sign
// for k.
func sameWord(s, word string) bool { return len(s) == len(word) && strings.EqualFold(s, word) }

// String returns the frequency's name in lower case.
func (f Frequency) String() string {
	if !f.valid() {
		return fmt.Sprintf("frequency(%d)", int(f))
	}
	return frequencyNames[f]
}

func (f Frequency) valid() bool { return f >= Minute && f <= Year }

// A MonthlyOccurrence is a weekday counted within its month, such as the last Friday: {time.Friday, -1}.
type MonthlyOccurrence struct {
	Day time.Weekday

	// Occurrence is 1 to 5 for the first to the fifth such day of the month (few months have a fifth), -1
	// to -5 for the last to the fifth last, and 0 for every such day.
	Occurrence int
}

// A Rule defines how something repeats. Lists may be in any order and contain duplicates; an empty list means
// the same as nil.
//
// The JSON of a Rule has the member names of Azure Scheduler's recurrence: frequency, interval, count, endTime,
// timeZone, and schedule with minutes, hours, weekDays, monthDays, monthlyOccurrences and months. A valid rule
// means the same after a round trip if its Location is nil or from [LoadLocation].
type Rule struct {
	Frequency Frequency

	// Interval is the number of units from one period to the next: 1 to MaxInterval. 0 means 1.
	Interval int

	// Count is the maximum number of instants, the first one at or after the anchor included: 1 to MaxCount. 0
	// means no limit.
	Count int

	// End is the last time at which the rule may fire. The zero Time means no limit.
	End time.Time

	// Location is the time zone for calendar and clock. nil means UTC. Use LoadLocation: time.Local makes a
	// rule depend on the machine, and has no name in JSON.
	Location *time.Location

	// Minutes (0 to 59) and Hours (0 to 23) are the times of day: each hour with each minute, at second 0.
	// Without Minutes, the anchor's minute and second apply; without Hours but with Minutes, all 24 hours;
	// without both, the anchor's time of day. With frequency Minute or Hour, the lists filter the elapsed
	// minutes or hours; there, Minutes add further minutes to each hour that is counted.
	Minutes, Hours []int

	// WeekDays are weekdays of a week that begins on Monday. They require frequency Week; the default is
	// the anchor's weekday.
	WeekDays []time.Weekday

	// MonthDays (1 to 31, or -1 for the last day to -31) and MonthlyOccurrences are days of a month; if
	// both are given, a day must be in both. They require frequency Month; the default is the anchor's day,
	// or the last day of a shorter month.
	MonthDays          []int
	MonthlyOccurrences []MonthlyOccurrence

	// The fields from here to EitherDay, and Years and EveryPass, are what cron expressions and RFC 5545 have beyond
	// the fields above. JSON has none of them.

	// NearestWeekdays (1 to 31, or -1 to -31) are days of a month, each moved to the nearest Monday to Friday of that
	// month. They require frequency Month, and are further MonthDays.
	NearestWeekdays []int

	// EitherDay makes a day match that is in MonthDays, NearestWeekdays or MonthlyOccurrences, in place of one that
	// is in both. It requires frequency Month.
	EitherDay bool

	// Positions picks from the days of each month: 1 is the first of them, -1 the last. They require frequency
	// Month and MonthDays or MonthlyOccurrences.
	Positions []int

	// Months (1 to 12) are months of the year. They require frequency Month, where they exclude all other
	// months, or Year, where the default is the anchor's month.
	Months []int

	// Years are the only years in which the rule fires, by local time: 1 to 9999.
	Years []int

	// EveryPass makes a local time that comes twice fire twice, and one that the clock skips never, as with the
	// frequencies Minute and Hour. It requires frequency Day or longer, with Hours or Minutes.
	EveryPass bool
}

// interval returns Interval or its default.
func (r *Rule) interval() int { return max(r.Interval, 1) }

// location returns Location or its default.
func (r *Rule) location() *time.Location {
	if r.Location == nil {
		return time.UTC
	}
	return r.Location
}

// clone returns the rule with lists of its own.
func (r Rule) clone() Rule {
	r.Minutes, r.Hours, r.MonthDays, r.Months = slices.Clone(r.Minutes), slices.Clone(r.Hours), slices.Clone(r.MonthDays), slices.Clone(r.Months)
	r.WeekDays, r.MonthlyOccurrences = slices.Clone(r.WeekDays), slices.Clone(r.MonthlyOccurrences)
	r.NearestWeekdays, r.Positions, r.Years = slices.Clone(r.NearestWeekdays), slices.Clone(r.Positions), slices.Clone(r.Years)
	return r
}

// grid returns the fields that define the grid, with the defaults of Interval and Location.
func (r *Rule) grid() *grid.Rule {
	g := &grid.Rule{
		Frequency: grid.Frequency(r.Frequency), Interval: int64(r.interval()), Location: r.location(),
		Minutes: r.Minutes, Hours: r.Hours, WeekDays: r.WeekDays, MonthDays: r.MonthDays, Months: r.Months,
		NearestWeekdays: r.NearestWeekdays, EitherDay: r.EitherDay, Positions: r.Positions, Years: r.Years, EveryPass: r.EveryPass,
	}
	for _, o := range r.MonthlyOccurrences {
		g.MonthlyOccurrences = append(g.MonthlyOccurrences, grid.MonthlyOccurrence(o))
	}
	return g
}

// Plain reports whether the rule has none of the fields that JSON lacks.
func (r *Rule) Plain() bool {
	return len(r.NearestWeekdays)+len(r.Positions)+len(r.Years) == 0 && !r.EitherDay && !r.EveryPass
}
