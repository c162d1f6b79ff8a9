// Package recurrence computes when a job runs.
//
// A [Rule] says "every Interval minutes, hours, days, weeks, months or years",
// counted from an anchor: the job's start time, or else its creation. Lists of
// minutes, hours, days and months narrow it down or spread it out. A [Spec]
// adds when the job was created and when it starts. [Compile] checks a Spec
// once, reports every bad field, and returns a [Plan], which is immutable, safe
// for concurrent use, and answers at any time of any year without an error:
//
//	plan, err := recurrence.Compile(recurrence.Spec{
//		Created: now,
//		Start:   start,
//		Rule:    &recurrence.Rule{Frequency: recurrence.Week, Hours: []int{9, 17}},
//	})
//	due, ok := plan.First()     // as the job is created
//	due, ok = plan.After(due)   // and from then on
//
// # Grid and plan
//
// The grid of a rule is every instant, from the anchor on, at which it fires.
// The plan picks occurrences from it: a job without a start time runs once at
// once, and then on the grid; a start time in the past only sets the phase, so
// that instants before the creation are discarded. Instants are whole seconds:
// fractions are cut off whatever comes in.
//
// Days, weeks, months and years follow the local calendar of the rule's time
// zone. Minutes and hours count elapsed time; their lists of hours and minutes
// filter what they count. Months and years are always counted from the anchor:
// a job that starts on January 31 runs on the last day of a shorter month, and
// on the 31st again after it.
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
// # Cost
//
// Plans jump to the answer. What [Plan.After] costs depends neither on the
// distance from the anchor nor on how rare the occurrences are, and it
// allocates nothing.
//
// # Purity
//
// The package reads no clock, starts no goroutine and ranges over no map, so
// that a workflow may call it. Only [LoadLocation] looks outside the program,
// for time zone data; without any on the machine it uses the copy built in.
package recurrence
