// Package recurrence computes when something that repeats is due.
//
// A [Rule] says "every Interval minutes, hours, days, weeks, months or years".
// Lists of minutes, hours, days and months narrow it down or spread it out. An
// anchor says from when on the rule counts. [New] checks both once and returns a
// [Schedule], which answers at any time of any year without an error:
//
//	schedule, err := recurrence.New(recurrence.Rule{
//		Frequency: recurrence.Week,
//		WeekDays:  []time.Weekday{time.Monday, time.Friday},
//		Hours:     []int{9, 17},
//		Minutes:   []int{0},
//	}, anchor)
//	next, ok := schedule.Next(now)
//	last, ok := schedule.Prev(now)
//	for due := range schedule.Between(monday, sunday) { … }
//
// Rules come from Go, from JSON, from cron expressions ([ParseCron]) and from
// RFC 5545 ([ParseRRule]). They describe themselves in English ([Schedule.String]).
// [Schedule.Exclude] leaves out holidays.
//
// # Instants
//
// A schedule is every instant, from the anchor on, at which its rule fires: in
// whole seconds, since fractions are cut off whatever comes in, and in UTC.
//
// Days, weeks, months and years follow the local calendar of the rule's time
// zone. Minutes and hours count elapsed time; their lists of hours and minutes
// filter what they count. Months and years are always counted from the anchor:
// a rule anchored on January 31 fires on the last day of a shorter month, and on
// the 31st again after it.
//
// # Time zones
//
// A local time that the clock skips is read with the offset in force before
// the gap: 02:30 becomes 03:30. A local time that comes twice counts once, at
// its first instant. Two local times that meet in one instant fire once. A
// date that a zone skips whole is a date all the same: its times follow the
// rule for gaps. Rules in elapsed minutes or hours, whose lists only filter,
// pass a repeated hour twice and a skipped one never.
//
// [LoadLocation] takes the names of Windows as well as those of IANA. The rules of
// the zones are those that package time finds: import [time/tzdata] in a program
// for machines that have none.
//
// # Cost
//
// A schedule jumps to the answer. What [Schedule.Next] costs depends neither on
// the distance from the anchor nor on how rare the instants are, and it allocates
// nothing. [New] takes as many steps as Count says.
//
// # Purity
//
// The package reads no clock, starts no goroutine and ranges over no map, so
// that a workflow may call it. Only [LoadLocation] looks outside the program, for
// time zone data.
package recurrence
