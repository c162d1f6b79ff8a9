package recurrence_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"time"

	"almanac/recurrence"
)

// An anchor for the examples: a Monday.
var monday = time.Date(2026, time.January, 5, 9, 0, 0, 0, time.UTC)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// Two days a week, twice a day, every other week.
func Example() {
	stockholm := must(recurrence.LoadLocation("Europe/Stockholm"))
	schedule := must(recurrence.New(recurrence.Rule{
		Frequency: recurrence.Week,
		Interval:  2,
		WeekDays:  []time.Weekday{time.Monday, time.Friday},
		Hours:     []int{9, 17},
		Minutes:   []int{0},
		Location:  stockholm,
	}, monday))
	next, _ := schedule.Next(time.Date(2026, time.March, 27, 12, 0, 0, 0, time.UTC))
	fmt.Println(next.In(stockholm))
	// Output: 2026-03-30 09:00:00 +0200 CEST
}

// A rule counts from its anchor: every second day from April 1 on.
func ExampleNew() {
	anchor := time.Date(2015, time.April, 1, 14, 0, 0, 0, time.UTC)
	schedule := must(recurrence.New(recurrence.Rule{Frequency: recurrence.Day, Interval: 2}, anchor))
	fmt.Println(schedule.Next(time.Date(2015, time.April, 8, 13, 0, 0, 0, time.UTC)))
	// Output: 2015-04-09 14:00:00 +0000 UTC true
}

// All bad fields come at once, each as a FieldError.
func ExampleFieldError() {
	_, err := recurrence.New(recurrence.Rule{Frequency: recurrence.Month, WeekDays: []time.Weekday{time.Friday}, Hours: []int{9, 24}}, monday)
	fmt.Println(err)
	// Output:
	// WeekDays is [Friday]; allowed: none with frequency month, only with week
	// Hours[1] is 24; allowed: 0 to 23
}

// A rule that can never fire is an error, rather than a schedule that is empty.
func ExampleNew_never() {
	_, err := recurrence.New(recurrence.Rule{Frequency: recurrence.Month, MonthDays: []int{31}, Months: []int{2}}, monday)
	fmt.Println(errors.Is(err, recurrence.ErrNever))
	// Output: true
}

// The last day of a month is day -1.
func ExampleSchedule_Next() {
	schedule := must(recurrence.New(recurrence.Rule{Frequency: recurrence.Month, MonthDays: []int{-1}}, monday))
	next, ok := schedule.Next(monday)
	for range 3 {
		fmt.Println(next.Format(time.DateOnly), ok)
		next, ok = schedule.Next(next)
	}
	// Output:
	// 2026-01-31 true
	// 2026-02-28 true
	// 2026-03-31 true
}

// The next five, each from the one before.
func ExampleSchedule_Next_five() {
	schedule := must(recurrence.New(recurrence.Rule{Frequency: recurrence.Minute, Interval: 90}, monday))
	due := time.Date(2026, time.January, 6, 0, 0, 0, 0, time.UTC) // in a program: time.Now()
	for range 5 {
		due, _ = schedule.Next(due)
		fmt.Println(due.Format(time.DateTime))
	}
	// Output:
	// 2026-01-06 01:30:00
	// 2026-01-06 03:00:00
	// 2026-01-06 04:30:00
	// 2026-01-06 06:00:00
	// 2026-01-06 07:30:00
}

// A schedule that has come to its end: ok is false.
func ExampleSchedule_Next_end() {
	schedule := must(recurrence.New(recurrence.Rule{Frequency: recurrence.Day, Count: 3}, monday))
	_, ok := schedule.Next(monday.AddDate(0, 0, 2))
	fmt.Println(ok)
	// Output: false
}

// When was this last due?
func ExampleSchedule_Prev() {
	schedule := must(recurrence.New(recurrence.Rule{Frequency: recurrence.Week}, monday))
	fmt.Println(schedule.Prev(time.Date(2027, time.January, 1, 0, 0, 0, 0, time.UTC)))
	fmt.Println(schedule.Prev(monday))
	// Output:
	// 2026-12-28 09:00:00 +0000 UTC true
	// 0001-01-01 00:00:00 +0000 UTC false
}

// What is due in one month?
func ExampleSchedule_Between() {
	schedule := must(recurrence.New(recurrence.Rule{Frequency: recurrence.Week}, monday))
	june, july := time.Date(2026, time.June, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, time.July, 1, 0, 0, 0, 0, time.UTC)
	for due := range schedule.Between(june, july) {
		fmt.Println(due.Format("Mon 2 January"))
	}
	// Output:
	// Mon 1 June
	// Mon 8 June
	// Mon 15 June
	// Mon 22 June
	// Mon 29 June
}

// Every last Friday at 17:15, Stockholm time, three times.
func ExampleSchedule_All() {
	schedule := must(recurrence.New(recurrence.Rule{
		Frequency:          recurrence.Month,
		Count:              3,
		Location:           must(recurrence.LoadLocation("W. Europe Standard Time")),
		Hours:              []int{17},
		Minutes:            []int{15},
		MonthlyOccurrences: []recurrence.MonthlyOccurrence{{Day: time.Friday, Occurrence: -1}},
	}, time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)))
	for due := range schedule.All() {
		fmt.Println(due.Format(time.RFC3339))
	}
	// Output:
	// 2026-03-27T16:15:00Z
	// 2026-04-24T15:15:00Z
	// 2026-05-29T15:15:00Z
}

// All is an iter.Seq without an end, unless the rule has one: break out of the loop.
func ExampleSchedule_All_break() {
	schedule := must(recurrence.New(recurrence.Rule{Frequency: recurrence.Week}, monday))
	for due := range schedule.All() {
		if due.Month() == time.February {
			break
		}
		fmt.Println(due.Format("Mon 2 January"))
	}
	// Output:
	// Mon 5 January
	// Mon 12 January
	// Mon 19 January
	// Mon 26 January
}

// The last Friday of each quarter. Interval 3 would count three months from the anchor instead.
func ExampleRule_lastFridayOfTheQuarter() {
	schedule := must(recurrence.New(recurrence.Rule{
		Frequency:          recurrence.Month,
		Months:             []int{3, 6, 9, 12},
		MonthlyOccurrences: []recurrence.MonthlyOccurrence{{Day: time.Friday, Occurrence: -1}},
		Count:              4,
	}, monday))
	for due := range schedule.All() {
		fmt.Println(due.Format("Mon 2 January"))
	}
	// Output:
	// Fri 27 March
	// Fri 26 June
	// Fri 25 September
	// Fri 25 December
}

// Days of the month and days of the week together are those that are both.
func ExampleRule_fridayThe13th() {
	schedule := must(recurrence.New(recurrence.Rule{
		Frequency:          recurrence.Month,
		MonthDays:          []int{13},
		MonthlyOccurrences: []recurrence.MonthlyOccurrence{{Day: time.Friday}},
		End:                time.Date(2027, time.January, 1, 0, 0, 0, 0, time.UTC),
	}, monday))
	for due := range schedule.All() {
		fmt.Println(due.Format(time.DateOnly))
	}
	// Output:
	// 2026-02-13
	// 2026-03-13
	// 2026-11-13
}

// Without a list of days, a month has the day of the anchor, or its last day.
func ExampleRule_endOfMonth() {
	schedule := must(recurrence.New(recurrence.Rule{Frequency: recurrence.Month, Count: 4}, time.Date(2026, time.January, 31, 9, 0, 0, 0, time.UTC)))
	for due := range schedule.All() {
		fmt.Println(due.Format(time.DateOnly))
	}
	// Output:
	// 2026-01-31
	// 2026-02-28
	// 2026-03-31
	// 2026-04-30
}

// In spring, 02:30 does not exist on one day. It is 03:30 then.
func ExampleRule_skippedTime() {
	stockholm := must(recurrence.LoadLocation("Europe/Stockholm"))
	anchor := time.Date(2026, time.March, 28, 2, 30, 0, 0, stockholm)
	schedule := must(recurrence.New(recurrence.Rule{Frequency: recurrence.Day, Count: 3, Location: stockholm}, anchor))
	for due := range schedule.All() {
		fmt.Println(due.In(stockholm).Format(time.RFC3339))
	}
	// Output:
	// 2026-03-28T02:30:00+01:00
	// 2026-03-29T03:30:00+02:00
	// 2026-03-30T02:30:00+02:00
}

// In autumn, 02:30 comes twice on one day. It fires the first time.
func ExampleRule_repeatedTime() {
	stockholm := must(recurrence.LoadLocation("Europe/Stockholm"))
	anchor := time.Date(2026, time.October, 24, 2, 30, 0, 0, stockholm)
	schedule := must(recurrence.New(recurrence.Rule{Frequency: recurrence.Day, Count: 3, Location: stockholm}, anchor))
	for due := range schedule.All() {
		fmt.Println(due.In(stockholm).Format(time.RFC3339))
	}
	// Output:
	// 2026-10-24T02:30:00+02:00
	// 2026-10-25T02:30:00+02:00
	// 2026-10-26T02:30:00+01:00
}

// Hours and minutes are elapsed time: they pass a repeated hour twice.
func ExampleRule_elapsedHours() {
	stockholm := must(recurrence.LoadLocation("Europe/Stockholm"))
	anchor := time.Date(2026, time.October, 25, 1, 0, 0, 0, stockholm)
	schedule := must(recurrence.New(recurrence.Rule{Frequency: recurrence.Hour, Count: 4, Location: stockholm}, anchor))
	for due := range schedule.All() {
		fmt.Println(due.In(stockholm).Format(time.RFC3339))
	}
	// Output:
	// 2026-10-25T01:00:00+02:00
	// 2026-10-25T02:00:00+02:00
	// 2026-10-25T02:00:00+01:00
	// 2026-10-25T03:00:00+01:00
}

// How close can two instants be?
func ExampleSchedule_Spacing() {
	schedule := must(recurrence.New(recurrence.Rule{Frequency: recurrence.Month, MonthDays: []int{1, -1}}, monday))
	fmt.Println(schedule.Spacing())
	// Output: 24h0m0s
}

// A rule in English, and with what its anchor adds.
func ExampleSchedule_String() {
	rule := recurrence.Rule{Frequency: recurrence.Week, Interval: 2, Count: 10}
	fmt.Println(rule)
	fmt.Println(must(recurrence.New(rule, monday)))
	// Output:
	// every 2 weeks, 10 times
	// every 2 weeks on Monday at 09:00, from 2026-01-05 09:00, 10 times
}

// Leave out a holiday and a week of maintenance.
func ExampleSchedule_Exclude() {
	daily := must(recurrence.New(recurrence.Rule{Frequency: recurrence.Day}, monday))
	schedule := must(daily.Exclude(
		recurrence.Date(2026, time.January, 6, time.UTC),
		recurrence.Range{From: monday.AddDate(0, 0, 3), Until: monday.AddDate(0, 0, 10)},
	))
	for due := range schedule.Between(monday, monday.AddDate(0, 0, 12)) {
		fmt.Println(due.Format("Mon 2 January"))
	}
	// Output:
	// Mon 5 January
	// Wed 7 January
	// Thu 15 January
	// Fri 16 January
}

// The JSON of a rule is the recurrence of an Azure Scheduler job.
func ExampleRule_UnmarshalJSON() {
	var rule recurrence.Rule
	err := json.Unmarshal([]byte(`{"frequency": "Week", "schedule": {"weekDays": ["Monday"], "hours": [9], "minutes": [30]}}`), &rule)
	fmt.Println(rule, err)
	// Output: every week on Monday at 09:30 <nil>
}

func ExampleRule_MarshalJSON() {
	rule := recurrence.Rule{Frequency: recurrence.Month, MonthDays: []int{1, -1}, Location: time.UTC}
	fmt.Println(string(must(json.Marshal(rule))))
	// Output: {"frequency":"month","timeZone":"UTC","schedule":{"monthDays":[1,-1]}}
}

// A rule stored as JSON is the same when it is read.
func ExampleRule_roundTrip() {
	rule := recurrence.Rule{Frequency: recurrence.Day, Hours: []int{9}, Minutes: []int{0}, Location: must(recurrence.LoadLocation("Asia/Tokyo"))}
	stored := must(json.Marshal(rule))
	fmt.Println(string(stored))

	var read recurrence.Rule
	fmt.Println(json.Unmarshal(stored, &read))
	fmt.Println(read)
	// Output:
	// {"frequency":"day","timeZone":"Asia/Tokyo","schedule":{"minutes":[0],"hours":[9]}}
	// <nil>
	// every day at 09:00, Asia/Tokyo
}

// A date may have 23 hours.
func ExampleDate() {
	day := recurrence.Date(2026, time.March, 29, must(recurrence.LoadLocation("Europe/Stockholm")))
	fmt.Println(day.From, day.Until.Sub(day.From))
	// Output: 2026-03-28 23:00:00 +0000 UTC 23h0m0s
}

// What an anchor adds: the day and the time.
func ExampleRule_Describe() {
	rule := recurrence.Rule{Frequency: recurrence.Month, Interval: 3}
	fmt.Println(rule)
	fmt.Println(rule.Describe(monday))
	// Output:
	// every 3 months
	// the 5th of every third month at 09:00, from 2026-01-05 09:00
}

// A local time that the clock skips in spring is an hour later.
func ExampleParseTime() {
	stockholm := must(recurrence.LoadLocation("Europe/Stockholm"))
	t := must(recurrence.ParseTime("2026-03-29T02:30", stockholm))
	fmt.Println(t.In(stockholm).Format(time.RFC3339))
	// Output: 2026-03-29T03:30:00+02:00
}

func ExampleLoadLocation() {
	fmt.Println(recurrence.LoadLocation("Pacific Standard Time"))
	// Output: America/Los_Angeles <nil>
}
