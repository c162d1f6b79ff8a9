// Package recurrence computes when a job runs.
//
// A [Rule] says "every Interval minutes, hours, days, weeks, months or years", counted from an anchor: the
// job's start time or, without one, its creation. Lists of minutes, hours, days and months restrict it or
// add times. A [Spec] adds the times of the job's creation and start. [Compile] checks a Spec, reports
// every bad field, and returns a [Plan]. A Plan is immutable, is safe for concurrent use, and answers for
// any time of any year without an error:
//
//	plan, err := recurrence.Compile(recurrence.Spec{
//		Created: now,
//		Start:   start,
//		Rule:    &recurrence.Rule{Frequency: recurrence.Week, Hours: []int{9, 17}},
//	})
//	due, ok := plan.First()     // when the job is created
//	due, ok = plan.After(due)   // from then on
//
// # Grid and plan
//
// The grid of a rule is the set of all instants from the anchor on at which the rule fires. The plan picks
// occurrences from the grid:
//
//   - A job without a start time runs once at its creation, and then on the grid.
//   - A start time in the past only sets the phase: instants before the creation are discarded.
//
// Instants are whole seconds. Fractions in the input are cut off.
//
// Days, weeks, months and years follow the local calendar of the rule's time zone. Minutes and hours count
// elapsed time, and their lists of hours and minutes filter it. Months and years are always counted from
// the anchor: a job that starts on January 31 runs on the last day of a shorter month, and on the 31st
// again after it.
//
// # Time zones
//
//   - A local time that the clock skips is read with the offset before the gap: 02:30 becomes 03:30.
//   - A local time that occurs twice counts once, at its first instant.
//   - Two local times that fall on the same instant fire once.
//   - A date that a zone skips entirely is still a date: its times follow the rule for gaps.
//   - Rules in elapsed minutes or hours fire in both passes of a repeated hour and never in a skipped
//     one, because their lists only filter.
//
// # Cost
//
// [Plan.After] computes the answer without stepping through the grid. Its cost depends neither on the
// distance from the anchor nor on how rare the occurrences are. It allocates nothing.
//
// # Purity
//
// The package reads no clock, starts no goroutine and ranges over no map, so workflow code may call it.
// Only [LoadLocation] reads data from outside the program, the time zone files; if the machine has none, it
// uses the built-in copy.
package recurrence
