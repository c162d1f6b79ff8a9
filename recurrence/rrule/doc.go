// Package rrule reads and writes recurrence rules in the notation of RFC 5545 (iCalendar):
//
//	DTSTART;TZID=Europe/Stockholm:20260105T090000
//	RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR;COUNT=10
//
// [Parse] returns a rule of package recurrence and its anchor, for [recurrence.New]. [Format] writes a schedule.
//
// # Differences from other implementations
//
// A [recurrence.Rule] is smaller than RFC 5545. Parse refuses a rule that it cannot express, with a
// [*recurrence.FieldError] that names the part:
//
//   - FREQ=SECONDLY, BYWEEKNO, BYYEARDAY and parts outside RFC 5545;
//   - BYSETPOS, except with MONTHLY and one time a day, to pick from the days of BYDAY or BYMONTHDAY;
//   - BYSECOND other than 0 or the second of DTSTART; with BYMINUTE, any second but 0;
//   - BYDAY, BYMONTHDAY or BYMONTH with an INTERVAL above 1 of days, hours or minutes; BYMONTH with an INTERVAL of
//     weeks; BYDAY, or another day than that of DTSTART, with an INTERVAL of years;
//   - a numbered BYDAY of a year without BYMONTH, such as FREQ=YEARLY;BYDAY=20MO;
//   - WKST other than MO with an INTERVAL of weeks, if it makes a difference;
//   - EXRULE; EXDATE and RDATE except in [ParseSet];
//   - a rule that takes its day or its hour from the start, without a DTSTART.
//
// An UNTIL is inclusive, and one that is a date is all of that date.
//
// COUNT counts the occurrences of the rule. The DTSTART is one only if the rule fires at it.
//
// A month that lacks the day is skipped, as RFC 5545 says. Where the clock changes, the time zone section of
// package recurrence holds, which says the same as RFC 5545 for days and longer units. HOURLY and MINUTELY count
// elapsed time: with an INTERVAL, programs that count local hours differ after a change. With BYDAY, BYMONTHDAY or
// BYMONTH, they are the local times of those days.
package rrule

import (
	"slices"
	"time"

	"almanac/recurrence"
)

// frequencies are the values of FREQ. The empty one is that of the invalid zero Frequency.
var frequencies = []string{
	recurrence.Minute: "MINUTELY", recurrence.Hour: "HOURLY", recurrence.Day: "DAILY",
	recurrence.Week: "WEEKLY", recurrence.Month: "MONTHLY", recurrence.Year: "YEARLY",
}

// weekdays are the values of BYDAY and WKST, from time.Sunday on.
var weekdays = []string{"SU", "MO", "TU", "WE", "TH", "FR", "SA"}

func bad(field string, value any, allowed string) error {
	return &recurrence.FieldError{Field: field, Value: value, Allowed: allowed}
}

// location returns the rule's location or its default.
func location(r *recurrence.Rule) *time.Location {
	if r.Location == nil {
		return time.UTC
	}
	return r.Location
}

// clampedDays returns the days of which a month's last one is the given day, or the month's last if it is
// shorter. There are none before the 28th.
func clampedDays(day int) []int { return span(28, day) }

// span returns the numbers from first to last.
func span(first, last int) []int {
	var all []int
	for n := first; n <= last; n++ {
		all = append(all, n)
	}
	return all
}

// sorted returns the numbers in order and each once.
func sorted(list []int) []int {
	return slices.Compact(slices.Sorted(slices.Values(list)))
}
