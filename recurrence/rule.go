package recurrence

import (
	"fmt"
	"strings"
	"time"
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

// maxInterval is the maximum interval of each frequency: 1000 minutes or hours, and about 18 months of
// days, weeks and months; years are limited to 1.
var maxInterval = [...]int{Minute: 1000, Hour: 1000, Day: 548, Week: 78, Month: 18, Year: 1}

// ParseFrequency returns the frequency with that name, in any case, and whether there is one.
func ParseFrequency(s string) (Frequency, bool) {
	for f := Minute; f <= Year; f++ {
		// EqualFold alone would match letters outside ASCII, such as the Kelvin sign for k.
		if name := frequencyNames[f]; len(s) == len(name) && strings.EqualFold(s, name) {
			return f, true
		}
	}
	return 0, false
}

// String returns the frequency's name in lower case.
func (f Frequency) String() string {
	if !f.valid() {
		return fmt.Sprintf("frequency(%d)", int(f))
	}
	return frequencyNames[f]
}

func (f Frequency) valid() bool { return f >= Minute && f <= Year }

// A MonthlyOccurrence is a weekday counted within its month.
type MonthlyOccurrence struct {
	Day time.Weekday

	// Occurrence is 1 to 5 for the first to the fifth such day of the month (few months have a fifth), -1
	// to -5 for the last to the fifth last, and 0 for every such day.
	Occurrence int
}

// A Rule defines how a job repeats. Lists may be in any order and contain duplicates; an empty list means
// the same as nil.
type Rule struct {
	Frequency Frequency

	// Interval is the number of units from one period to the next: up to 1000 minutes or hours, 548 days,
	// 78 weeks, 18 months or 1 year. 0 means 1.
	Interval int

	// Count is the maximum number of occurrences. 0 means no limit.
	Count int

	// End is the last time at which an occurrence may be due. Zero means no limit.
	End time.Time

	// Location is the time zone for calendar and clock. nil means UTC.
	Location *time.Location

	// Minutes (0 to 59) and Hours (0 to 23) are the times of day: each hour with each minute, at second 0.
	// Without Minutes, the anchor's minute and second apply; without Hours but with Minutes, all 24 hours.
	// With frequency Minute or Hour the lists filter the elapsed minutes or hours.
	Minutes, Hours []int

	// WeekDays are weekdays of a week that begins on Monday. They require frequency Week; the default is
	// the anchor's weekday.
	WeekDays []time.Weekday

	// MonthDays (1 to 31, or -1 for the last day to -31) and MonthlyOccurrences are days of a month; if
	// both are given, a day must be in both. They require frequency Month; the default is the anchor's day,
	// or the last day of a shorter month.
	MonthDays          []int
	MonthlyOccurrences []MonthlyOccurrence

	// Months (1 to 12) are months of the year. They require frequency Month, where they exclude all other
	// months, or Year, where the default is the anchor's month.
	Months []int
}

// interval returns Interval or its default.
func (r *Rule) interval() int64 { return int64(max(r.Interval, 1)) }

// A Spec is the input of [Compile].
type Spec struct {
	// Created is the time of the job's creation.
	Created time.Time

	// Start is the job's start time, in the past or at most 18 months after Now. Zero means none: the job
	// runs at once.
	Start time.Time

	// Rule defines how the job repeats. nil means that it runs once.
	Rule *Rule

	// Now is the time at which the Spec was written, from which Compile checks the limits on Start and on
	// the first occurrence. It has no other effect. Zero means Created.
	Now time.Time
}
