package recurrence

import (
	"fmt"
	"strings"
	"time"
)

// A Frequency is the unit in which a [Rule] counts. The zero value is no
// frequency and makes a rule invalid.
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

// maxInterval holds the longest interval of each frequency: a thousand of the
// short ones, and no more than 18 months of the others.
var maxInterval = [...]int{Minute: 1000, Hour: 1000, Day: 548, Week: 78, Month: 18, Year: 1}

// ParseFrequency returns the frequency of that name, in upper, lower or mixed
// case, and whether there is one.
func ParseFrequency(s string) (Frequency, bool) {
	for f := Minute; f <= Year; f++ {
		// Folding alone would take letters from outside ASCII, such as the Kelvin sign for k.
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

	// Occurrence is 1 for the first such day of the month to 5 for the fifth,
	// which few months have, or -1 for the last to -5. 0 is every one.
	Occurrence int
}

// A Rule says how a job repeats. Lists may hold their elements in any order and
// more than once; an empty list is the same as none.
type Rule struct {
	Frequency Frequency

	// Interval is the number of minutes, hours, … from one period to the next:
	// up to 1000 minutes or hours, 548 days, 78 weeks, 18 months or 1 year.
	// 0 means 1.
	Interval int

	// Count ends the job after that many occurrences. 0 is no limit.
	Count int

	// End is the last time at which an occurrence may be due. Zero is no limit.
	End time.Time

	// Location is the time zone whose calendar and clock apply. nil is UTC.
	Location *time.Location

	// Minutes (0 to 59) and Hours (0 to 23) are the times of day: every hour
	// with every minute, at second 0. Hours alone keep the anchor's minute and
	// second; Minutes alone apply to all 24 hours. With frequency Minute or Hour
	// they filter what elapsed time yields.
	Minutes, Hours []int

	// WeekDays are the days of a week that begins on Monday. Only with Week,
	// where none means the weekday of the anchor.
	WeekDays []time.Weekday

	// MonthDays (1 to 31, or -1 for the last day to -31) and MonthlyOccurrences
	// are the days of a month; where both are given, those in both. Only with
	// Month, where neither means the anchor's day, or the last of a shorter month.
	MonthDays          []int
	MonthlyOccurrences []MonthlyOccurrence

	// Months (1 to 12) are the months of the year. Only with Month, of which
	// they drop the others, and with Year, where none means the anchor's month.
	Months []int
}

// interval returns Interval with its default.
func (r *Rule) interval() int64 { return int64(max(r.Interval, 1)) }

// A Spec is what decides when a job runs.
type Spec struct {
	// Created is when the job was created.
	Created time.Time

	// Start is the job's start time, in the past or at most 18 months ahead.
	// Zero is none: the job runs at once.
	Start time.Time

	// Rule is how the job repeats. nil: it runs once.
	Rule *Rule

	// Now is when the Spec was written, if later than the job's creation. It is
	// the time from which Compile looks ahead, and has no other meaning. Zero is
	// Created.
	Now time.Time
}
