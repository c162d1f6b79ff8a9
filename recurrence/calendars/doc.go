// Package calendars decides which occurrences of a recurrence run, and when, with calendars of holidays and working days,
// and with blackouts.
//
// An occurrence has a nominal time: when a rule fires. Calendars and blackouts give it a due time, or skip it:
//
//	table, err := calendars.NewTable(calendars.Calendar{WeekendDays: weekend, Days: holidays})
//	plan := calendars.NewPlan(calendars.Input{
//		Series: series, Anchor: anchor, Location: stockholm,
//		Calendars: []calendars.Use{{Name: "SE", OnMatch: calendars.NextWorkingDay, Table: table}},
//	}, created)
//	next, ok := plan.Next(now)
//	for _, o := range plan.Occurrences(monday, sunday) { … }
//
// The order is: the rules of the series and its exclusions; calendars; of runs due at one instant the one with the nearest
// nominal time; blackouts; the same again. A working day is one on which no calendar objects: those with the policy Only
// match, no other does. The first calendar that objects sets the policy.
//
// A plan is made at a time and makes nothing due before it. [Plan.Change] makes the plan that follows when calendars,
// blackouts or rules change: what was decided stays decided, and nothing runs twice or at once for it.
//
// The package reads no clock and imports the standard library and package recurrence only.
package calendars
