package rrule_test

import (
	"fmt"
	"log"
	"time"

	"almanac/recurrence"
	"almanac/recurrence/rrule"
)

// Every other week, on two days, ten times.
func Example() {
	rule, anchor, err := rrule.Parse("DTSTART;TZID=Europe/Stockholm:20260105T090000\nRRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR;COUNT=10")
	if err != nil {
		log.Fatal(err)
	}
	schedule, err := recurrence.New(rule, anchor)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(schedule)
	fmt.Println(schedule.Next(anchor))
	// Output:
	// every 2 weeks on Monday and Friday at 09:00, from 2026-01-05 09:00, Europe/Stockholm, 10 times
	// 2026-01-09 08:00:00 +0000 UTC true
}

// show prints a rule in English.
func show(text string) {
	rule, _, err := rrule.Parse(text)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(rule)
}

func ExampleParse() {
	show("RRULE:FREQ=DAILY;UNTIL=20261231T000000Z;BYHOUR=9,17;BYMINUTE=0;BYSECOND=0")
	show("FREQ=MONTHLY;BYMONTHDAY=1,-1")
	show("FREQ=YEARLY;BYMONTH=11;BYDAY=4TH")
	// Output:
	// every day at 09:00 and 17:00, until 2026-12-31 00:00
	// the 1st and the last day of every month
	// the fourth Thursday of every November
}

func ExampleParse_weekdays() {
	show("FREQ=DAILY;BYDAY=MO,TU,WE,TH,FR")
	show("FREQ=MONTHLY;BYDAY=1MO,-1FR")
	show("FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13")
	// Output:
	// every week on Monday to Friday
	// the first Monday and the last Friday of every month
	// the 13th of every month, only if that day is a Friday
}

// BYSETPOS picks one of the days.
func ExampleParse_position() {
	show("FREQ=MONTHLY;BYDAY=FR;BYSETPOS=-1")
	show("DTSTART:20260131T090000Z\nRRULE:FREQ=MONTHLY;BYMONTHDAY=28,29,30,31;BYSETPOS=-1")
	show("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1")
	// Output:
	// the last Friday of every month
	// every month
	// the last of Monday to Friday of every month
}

// Without a DTSTART, the anchor is the zero Time: New needs another one.
func ExampleParse_withoutStart() {
	rule, anchor, err := rrule.Parse("FREQ=DAILY;INTERVAL=2")
	fmt.Println(rule, anchor.IsZero(), err)
	schedule, err := recurrence.New(rule, time.Date(2026, time.January, 5, 9, 0, 0, 0, time.UTC))
	fmt.Println(schedule, err)
	// Output:
	// every 2 days true <nil>
	// every 2 days at 09:00, from 2026-01-05 09:00 <nil>
}

func ExampleParse_refused() {
	_, _, err := rrule.Parse("FREQ=YEARLY;BYDAY=MO;BYWEEKNO=20")
	fmt.Println(err)
	// Output: RRULE is "BYWEEKNO=20"; allowed: only FREQ, UNTIL, COUNT, INTERVAL, BYSECOND, BYMINUTE, BYHOUR, BYDAY, BYMONTHDAY, BYMONTH, BYSETPOS, WKST
}

func ExampleFormat() {
	rule := recurrence.Rule{Frequency: recurrence.Week, Interval: 2, WeekDays: []time.Weekday{time.Monday, time.Friday}}
	schedule, err := recurrence.New(rule, time.Date(2026, time.January, 5, 9, 0, 0, 0, time.UTC))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(rrule.Format(schedule))
	// Output:
	// DTSTART:20260105T090000Z
	// RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR <nil>
}
