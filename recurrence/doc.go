// Package recurrence computes the instants at which something that repeats is due.
//
// A [Rule] says "every Interval minutes, hours, days, weeks, months or years". Its lists of minutes, hours, days
// and months filter these or add times within them. The anchor is the time from which the rule counts. [New]
// checks both and returns a [Schedule], whose methods cannot fail:
//
//	schedule, err := recurrence.New(recurrence.Rule{
//		Frequency: recurrence.Week,
//		WeekDays:  []time.Weekday{time.Monday, time.Friday},
//		Hours:     []int{9, 17},
//		Minutes:   []int{0},
//		Location:  stockholm,
//	}, anchor)
//	next, ok := schedule.Next(now)
//	last, ok := schedule.Prev(now)
//	for due := range schedule.Between(monday, sunday) { … }
//
// A rule is written in Go or JSON, or read from another notation:
//
//   - [almanac/recurrence/cron.Parse] reads cron expressions, such as "30 9 * * MON-FRI" or "0 0 L * *".
//   - [almanac/recurrence/rrule.Parse] reads RFC 5545 (iCalendar), such as "FREQ=MONTHLY;BYDAY=-1FR", and
//     [almanac/recurrence/rrule.Format] writes it.
//
// [Schedule.String] and [Rule.Describe] return English, which [almanac/recurrence/english.Parse] reads. [Schedule.Exclude] leaves out holidays. [LoadLocation] and
// [ParseTime] read time zones and times.
//
// # Instants
//
// The instants of a schedule are all times, from the anchor on, at which its rule fires. RFC 5545 calls them
// occurrences.
//
//   - They are whole seconds in UTC; use [time.Time.In] for local time. Fractions of a second are cut off anchors
//     and Ends. Next, Prev, Between and Exclude compare exactly.
//   - The anchor is an instant only if the rule fires at it.
//   - Days, weeks, months and years follow the local calendar of the rule's Location.
//   - Minutes and hours count elapsed time from the anchor. Their lists only filter what they count.
//   - Periods are counted from the anchor, never from the instant before. A monthly rule anchored on January 31
//     fires on the last day of a shorter month, and on the 31st again after it.
//   - MonthDays and numbered MonthlyOccurrences that a month lacks are skipped.
//
// # Time zones
//
// Where the clock of the rule's Location changes, for days and longer units:
//
//   - A local time that the clock skips is read with the offset before the gap: 02:30 becomes 03:30.
//   - A local time that comes twice fires once, at its first instant. If neither Hours nor Minutes are given, the
//     anchor is an instant even if it is the second one.
//   - Two local times that become the same instant fire once.
//   - A date that a zone skips whole is a date all the same: its times follow the rule for gaps.
//
// Rules of minutes and hours fire throughout an hour that comes twice, and never in one that is skipped.
//
// Import [almanac/recurrence/tzdata] for a known release of the time zone database, in place of what the machine has,
// or give [UseZones] another one.
//
// # Errors
//
// Each bad field is a [*FieldError]; [New] joins one for each of them. A rule that can never fire is [ErrNever].
// Zero values are refused, never guessed: a zero Rule, a zero anchor and a zero [Range] are errors. The other zero
// fields of a Rule have documented defaults.
//
// # Cost
//
// [Schedule.Next] takes 5 ns to 1 µs and allocates nothing. The distance from the anchor does not matter, nor
// how rare the instants are. [Schedule.Prev] takes some dozens of times as long. [New] takes microseconds, and as
// many calls of Next as Count says: up to 0.5 s for a million.
//
// # Purity
//
// The package reads no clock, starts no goroutine and ranges over no map, so that deterministic code such as a
// workflow may call it. Only [LoadLocation] looks outside the program, for time zone data. It imports nothing but
// the standard library.
package recurrence
