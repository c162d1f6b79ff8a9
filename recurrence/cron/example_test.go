package cron_test

import (
	"fmt"
	"log"
	"time"

	"almanac/recurrence"
	"almanac/recurrence/cron"
)

// next prints the next two instants of an expression after Monday 5 January 2026, 09:00 UTC.
func next(expr string) {
	rule, err := cron.Parse(expr)
	if err != nil {
		fmt.Println(err)
		return
	}
	schedule, err := recurrence.New(rule, monday)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(rule)
	due := monday
	for range 2 {
		due, _ = schedule.Next(due)
		fmt.Println(due.Format("Mon 2006-01-02 15:04"))
	}
}

func Example() {
	rule, err := cron.Parse("*/15 9-17 * * MON-FRI")
	if err != nil {
		log.Fatal(err)
	}
	schedule, err := recurrence.New(rule, time.Date(2026, time.January, 3, 0, 0, 0, 0, time.UTC))
	if err != nil {
		log.Fatal(err)
	}
	for due := range schedule.All() {
		fmt.Println(due)
		break
	}
	// Output: 2026-01-05 09:00:00 +0000 UTC
}

func ExampleParse() {
	next("30 9 * * MON-FRI")
	// Output:
	// every week on Monday to Friday at 09:30
	// Mon 2026-01-05 09:30
	// Tue 2026-01-06 09:30
}

// The instants of a schedule are in UTC.
func ExampleParse_timeZone() {
	next("CRON_TZ=America/New_York 30 9 * * *")
	// Output:
	// every day at 09:30, America/New_York
	// Mon 2026-01-05 14:30
	// Tue 2026-01-06 14:30
}

// Six fields begin with the second, which is 0.
func ExampleParse_seconds() {
	next("spring: 0 30 9 * * *")
	next("spring: 15 30 9 * * *")
	// Output:
	// every day at 09:30
	// Mon 2026-01-05 09:30
	// Tue 2026-01-06 09:30
	// second is "15"; allowed: 0
}

func ExampleParse_lastDay() {
	next("0 0 L * *")
	next("0 0 L-2 * *")
	// Output:
	// the last day of every month at 00:00
	// Sat 2026-01-31 00:00
	// Sat 2026-02-28 00:00
	// the third to last day of every month at 00:00
	// Thu 2026-01-29 00:00
	// Thu 2026-02-26 00:00
}

func ExampleParse_lastFriday() {
	next("0 17 * * FRIL")
	// Output:
	// the last Friday of every month at 17:00
	// Fri 2026-01-30 17:00
	// Fri 2026-02-27 17:00
}

func ExampleParse_secondMonday() {
	next("0 9 * * MON#2")
	// Output:
	// the second Monday of every month at 09:00
	// Mon 2026-01-12 09:00
	// Mon 2026-02-09 09:00
}

func ExampleParse_every() {
	next("@every 36h")
	// Output:
	// every 36 hours
	// Tue 2026-01-06 21:00
	// Thu 2026-01-08 09:00
}

// W moves a day to the nearest Monday to Friday.
func ExampleParse_nearestWeekday() {
	next("0 9 17W * *")
	// Output:
	// the weekday nearest the 17th of every month at 09:00
	// Fri 2026-01-16 09:00
	// Tue 2026-02-17 09:00
}

// Cron fires on the 13th and on each Friday.
func ExampleParse_eitherDay() {
	next("0 9 13 * FRI")
	// Output:
	// the 13th and every Friday of every month at 09:00
	// Fri 2026-01-09 09:00
	// Tue 2026-01-13 09:00
}
