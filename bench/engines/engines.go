// Package engines compares package recurrence with the engines that Go programs
// use for the same purpose: cron expressions and RFC 5545 recurrence rules.
package engines

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/teambition/rrule-go"

	"almanac/recurrence"
)

// The engines' names.
const (
	Almanac = "almanac"
	Cron    = "robfig/cron"
	RRule   = "rrule-go"
)

// start is a Thursday, at a full hour, so that cron, which knows no start, has the
// same phase as the others.
const start = "2026-01-01T09:00:00"

// A Schedule is the same in up to three languages. An engine that cannot express
// it is left out.
type Schedule struct {
	Name  string
	rule  recurrence.Rule
	cron  string
	rrule *rrule.ROption
}

// Schedules are what is compared.
var Schedules = []Schedule{
	{
		"every 15 minutes",
		recurrence.Rule{Frequency: recurrence.Minute, Interval: 15},
		"*/15 * * * *",
		&rrule.ROption{Freq: rrule.MINUTELY, Interval: 15},
	},
	{
		"daily",
		recurrence.Rule{Frequency: recurrence.Day},
		"0 9 * * *",
		&rrule.ROption{Freq: rrule.DAILY},
	},
	{
		"office days",
		recurrence.Rule{
			Frequency: recurrence.Week, Hours: []int{9, 17}, Minutes: []int{0, 30},
			WeekDays: []time.Weekday{time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday},
		},
		"0,30 9,17 * * MON-FRI",
		&rrule.ROption{
			Freq: rrule.WEEKLY, Byhour: []int{9, 17}, Byminute: []int{0, 30}, Bysecond: []int{0},
			Byweekday: []rrule.Weekday{rrule.MO, rrule.TU, rrule.WE, rrule.TH, rrule.FR},
		},
	},
	{
		"every 10 weeks",
		recurrence.Rule{Frequency: recurrence.Week, Interval: 10},
		"", // cron counts no weeks
		&rrule.ROption{Freq: rrule.WEEKLY, Interval: 10},
	},
	{
		"first and fifteenth",
		recurrence.Rule{Frequency: recurrence.Month, MonthDays: []int{1, 15}},
		"0 9 1,15 * *",
		&rrule.ROption{Freq: rrule.MONTHLY, Bymonthday: []int{1, 15}},
	},
	{
		"last Friday",
		recurrence.Rule{Frequency: recurrence.Month, MonthlyOccurrences: []recurrence.MonthlyOccurrence{{Day: time.Friday, Occurrence: -1}}},
		"", // cron does not count from the end
		&rrule.ROption{Freq: rrule.MONTHLY, Byweekday: []rrule.Weekday{rrule.FR.Nth(-1)}},
	},
	{
		"Friday the 13th",
		recurrence.Rule{Frequency: recurrence.Month, MonthDays: []int{13}, MonthlyOccurrences: []recurrence.MonthlyOccurrence{{Day: time.Friday}}},
		"", // to cron that is every Friday and every 13th
		&rrule.ROption{Freq: rrule.MONTHLY, Bymonthday: []int{13}, Byweekday: []rrule.Weekday{rrule.FR}},
	},
	{
		"29 February",
		recurrence.Rule{Frequency: recurrence.Month, MonthDays: []int{29}, Months: []int{2}},
		"0 9 29 2 *",
		&rrule.ROption{Freq: rrule.YEARLY, Bymonth: []int{2}, Bymonthday: []int{29}},
	},
}

// An Engine answers with the first instant after another.
type Engine struct {
	Name string
	Next func(time.Time) time.Time
}

// In returns the engines that can express the schedule in a zone, ours first.
func (s Schedule) In(zone string) ([]Engine, error) {
	loc, err := recurrence.LoadLocation(zone)
	if err != nil {
		return nil, err
	}
	from, err := recurrence.ParseTime(start, loc)
	if err != nil {
		return nil, err
	}
	s.rule.Location = loc
	schedule, err := recurrence.New(s.rule, from)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	all := []Engine{{Almanac, func(after time.Time) time.Time {
		next, _ := schedule.Next(after)
		return next
	}}}
	if s.cron != "" {
		parsed, err := cron.ParseStandard("CRON_TZ=" + zone + " " + s.cron)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		all = append(all, Engine{Cron, parsed.Next})
	}
	if s.rrule != nil {
		option := *s.rrule
		option.Dtstart = from.In(loc)
		rule, err := rrule.NewRRule(option)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		all = append(all, Engine{RRule, func(after time.Time) time.Time { return rule.After(after, false) }})
	}
	return all, nil
}
