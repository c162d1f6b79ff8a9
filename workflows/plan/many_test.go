package plan_test

import (
	"testing"
	"time"

	"almanac/job"
	"almanac/recurrence/calendars"
	"almanac/workflows/plan"
)

// BenchmarkAPlanOfManyTimesADay plans a job of some working days of the month that runs 600 times on each, after its
// calendar has changed.
func BenchmarkAPlanOfManyTimesADay(b *testing.B) {
	for _, policy := range []calendars.Policy{calendars.Skip, calendars.NextWorkingDay} {
		b.Run(policy.String(), func(b *testing.B) {
			now := time.Date(2026, 1, 28, 13, 0, 0, 0, time.UTC)
			r := &plan.Request{Created: now.AddDate(0, -3, 0), Step: plan.StepAfter, From: now}
			s := &job.Schedule{WorkingDays: []int{16, 17, 18, 19, 20, 21}}
			for i := range 60 {
				s.Minutes = append(s.Minutes, i)
			}
			for i := range 10 {
				s.Hours = append(s.Hours, 8+i)
			}
			r.Recurrence = &job.Recurrence{Frequency: "month", Schedule: s, Calendars: []job.CalendarUse{{Name: "SE"}}}
			table, err := (&job.Calendar{WeekendDays: []string{"saturday", "sunday"}}).Table(1)
			if err != nil {
				b.Fatal(err)
			}
			c := plan.Calendars{
				Uses: []calendars.Use{{Name: "SE", OnMatch: policy, Table: table}}, Of: []plan.CalendarVersion{{Name: "SE", Version: 2}},
			}
			r.By = &plan.ByCalendars{Of: []plan.CalendarVersion{{Name: "SE", Version: 1}}, At: now, Then: &calendars.Memory{Until: now}}
			for b.Loop() {
				if _, err := r.AnswerBy(c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
