package recurrence_test

import (
	"fmt"
	"time"

	"almanac/recurrence"
)

// Every last Friday at 17:15, Stockholm time, three times.
func ExamplePlan_All() {
	stockholm, err := recurrence.LoadLocation("W. Europe Standard Time")
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	plan, err := recurrence.Compile(recurrence.Spec{
		Created: now,
		Start:   now,
		Rule: &recurrence.Rule{
			Frequency:          recurrence.Month,
			Count:              3,
			Location:           stockholm,
			Hours:              []int{17},
			Minutes:            []int{15},
			MonthlyOccurrences: []recurrence.MonthlyOccurrence{{Day: time.Friday, Occurrence: -1}},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for due := range plan.All() {
		fmt.Println(due.Format(time.RFC3339))
	}
	// Output:
	// 2026-03-27T16:15:00Z
	// 2026-04-24T15:15:00Z
	// 2026-05-29T15:15:00Z
}

// A start in the past sets the phase: every second day from April 1 on.
func ExamplePlan_After() {
	plan, err := recurrence.Compile(recurrence.Spec{
		Created: time.Date(2015, time.April, 8, 13, 0, 0, 0, time.UTC),
		Start:   time.Date(2015, time.April, 1, 14, 0, 0, 0, time.UTC),
		Rule:    &recurrence.Rule{Frequency: recurrence.Day, Interval: 2},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	due, _ := plan.First()
	fmt.Println(due)
	due, _ = plan.After(due)
	fmt.Println(due)
	// Output:
	// 2015-04-09 14:00:00 +0000 UTC
	// 2015-04-11 14:00:00 +0000 UTC
}

// The error lists all mistakes.
func ExampleCompile() {
	_, err := recurrence.Compile(recurrence.Spec{
		Created: time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC),
		Rule:    &recurrence.Rule{Frequency: recurrence.Month, Interval: 24, Hours: []int{9, 24}},
	})
	fmt.Println(err)
	// Output:
	// recurrence.interval is 24, want 1 to 18
	// recurrence.schedule.hours[1] is 24, want 0 to 23
}

// A local time that the clock skips in spring becomes an hour later.
func ExampleParseTime() {
	stockholm, err := recurrence.LoadLocation("Europe/Stockholm")
	if err != nil {
		fmt.Println(err)
		return
	}
	t, err := recurrence.ParseTime("2026-03-29T02:30", stockholm)
	fmt.Println(t.In(stockholm).Format(time.RFC3339), err)
	// Output: 2026-03-29T03:30:00+02:00 <nil>
}
