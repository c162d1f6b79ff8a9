package recurrence

import (
	"fmt"
	"slices"
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

// ParseFrequency returns the frequency with that name, in any case, and whether there is one.
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

// A MonthlyOccurrence is a weekday counted within its month.
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
// is the same after a round trip if [LoadLocation] knows its Location.
type Rule struct {
	Frequency Frequency

	// Interval is the number of units from one period to the next: up to 1000000. 0 means 1.
	Interval int

	// Count is the maximum number of instants: up to 1000000. 0 means no limit.
	Count int

	// End is the last time at which the rule may fire. Zero means no limit.
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
	return r
}
