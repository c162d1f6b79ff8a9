package recurrence_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"almanac/recurrence"
)

func TestSpacing(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	everyDay := []time.Weekday{0, 1, 2, 3, 4, 5, 6}
	for _, tt := range []struct {
		name, zone, start string
		rule              recurrence.Rule
		want              time.Duration
	}{
		{"minutes", "UTC", "2026-01-01T08:00:00Z", recurrence.Rule{Frequency: recurrence.Minute, Interval: 7}, 7 * time.Minute},
		{"hours", "UTC", "2026-01-01T08:00:00Z", recurrence.Rule{Frequency: recurrence.Hour, Interval: 1000}, 1000 * time.Hour},
		{"quarters of the hours", "UTC", "2026-01-01T08:00:00Z", recurrence.Rule{Frequency: recurrence.Hour, Minutes: []int{0, 15, 30, 45}}, 15 * time.Minute},
		{"quarters of every day", "UTC", "2026-01-01T08:00:00Z", recurrence.Rule{Frequency: recurrence.Day, Minutes: []int{0, 15, 30, 45}}, 15 * time.Minute},
		{"quarters of one hour in a month", "UTC", "2026-01-01T08:00:00Z", recurrence.Rule{Frequency: recurrence.Month, Hours: []int{3}, Minutes: []int{0, 15, 30, 45}}, 15 * time.Minute},
		{"minutes that interval and list seldom meet", "UTC", "2026-01-01T08:00:00Z", recurrence.Rule{Frequency: recurrence.Minute, Interval: 45, Minutes: []int{0, 15}}, 45 * time.Minute},
		{"across the hour", "UTC", "2026-01-01T08:00:00Z", recurrence.Rule{Frequency: recurrence.Day, Minutes: []int{5, 55}}, 10 * time.Minute},
		{"across midnight", "UTC", "2026-01-01T08:00:00Z", recurrence.Rule{Frequency: recurrence.Day, Hours: []int{0, 23}}, time.Hour},
		{"not across midnight on every other day", "UTC", "2026-01-01T08:00:00Z", recurrence.Rule{Frequency: recurrence.Day, Interval: 2, Hours: []int{0, 23}}, 23 * time.Hour},
		{"across midnight in slots of hours", "UTC", "2026-01-01T00:10:00Z", recurrence.Rule{Frequency: recurrence.Hour, Hours: []int{0, 23}}, time.Hour},
		{"days", "UTC", "2026-01-01T08:00:00Z", recurrence.Rule{Frequency: recurrence.Day, Interval: 548}, 548 * day},
		{"one day of the week", "UTC", "2026-01-01T08:00:00Z", recurrence.Rule{Frequency: recurrence.Week, Interval: 78}, 78 * 7 * day},
		{"Sunday and Monday are neighbours", "UTC", "2026-01-01T08:00:00Z", recurrence.Rule{Frequency: recurrence.Week, WeekDays: []time.Weekday{time.Sunday, time.Monday}}, day},
		{"but not with a week between", "UTC", "2026-01-01T08:00:00Z", recurrence.Rule{Frequency: recurrence.Week, Interval: 2, WeekDays: []time.Weekday{time.Sunday, time.Monday}}, 6 * day},
		{"every day of every other week", "UTC", "2026-01-01T08:00:00Z", recurrence.Rule{Frequency: recurrence.Week, Interval: 2, WeekDays: everyDay}, day},
		{"a month is 28 days in February", "UTC", "2026-01-15T08:00:00Z", recurrence.Rule{Frequency: recurrence.Month}, 28 * day},
		{"the last day of the month, from one to the next", "UTC", "2026-01-31T08:00:00Z", recurrence.Rule{Frequency: recurrence.Month}, 28 * day},
		{"two months", "UTC", "2026-01-15T08:00:00Z", recurrence.Rule{Frequency: recurrence.Month, Interval: 2}, 59 * day},
		{"the last and the first day of the month", "UTC", "2026-01-15T08:00:00Z", recurrence.Rule{Frequency: recurrence.Month, MonthDays: []int{1, -1}}, day},
		{"days that meet in short months only", "UTC", "2026-01-15T08:00:00Z", recurrence.Rule{Frequency: recurrence.Month, MonthDays: []int{28, -2}}, day},
		{"February 29", "UTC", "2024-02-29T08:00:00Z", recurrence.Rule{Frequency: recurrence.Month, MonthDays: []int{29}, Months: []int{2}}, 4*365*day + day},
		{"day 31 every 18 months", "UTC", "2026-01-15T08:00:00Z", recurrence.Rule{Frequency: recurrence.Month, Interval: 18, MonthDays: []int{31}}, 546 * day},
		{"Friday February 29, as near as around the year 2100", "UTC", "2026-01-15T08:00:00Z", recurrence.Rule{
			Frequency: recurrence.Month, MonthDays: []int{29}, Months: []int{2},
			MonthlyOccurrences: []recurrence.MonthlyOccurrence{{Day: time.Friday}},
		}, 4382 * day},
		{"Friday the 13th", "UTC", "2026-01-15T08:00:00Z", recurrence.Rule{
			Frequency: recurrence.Month, MonthDays: []int{13}, MonthlyOccurrences: []recurrence.MonthlyOccurrence{{Day: time.Friday}},
		}, 28 * day},
		{"years", "UTC", "2026-01-15T08:00:00Z", recurrence.Rule{Frequency: recurrence.Year}, 365 * day},
		{"months of a year", "UTC", "2026-01-15T08:00:00Z", recurrence.Rule{Frequency: recurrence.Year, Months: []int{2, 3}}, 28 * day},
		{"every second year", "UTC", "2026-01-15T08:00:00Z", recurrence.Rule{Frequency: recurrence.Year, Interval: 2, Months: []int{1, 12}}, 334 * day},
		{"longer than a Duration", "UTC", "2026-01-15T08:00:00Z", recurrence.Rule{Frequency: recurrence.Week, Interval: 1_000_000}, 1<<63 - 1 - (1<<63-1)%time.Second},
		{"clock changes do not count", "Europe/Stockholm", "2026-01-01T08:00:00Z", recurrence.Rule{Frequency: recurrence.Day, Hours: []int{1, 3}}, 2 * time.Hour},
		{"an hour that is met in summer only", "Europe/Stockholm", "2026-01-01T01:30:00Z", recurrence.Rule{Frequency: recurrence.Hour, Interval: 24, Hours: []int{3}}, day},
		{"count and end do not count", "UTC", "2026-01-01T08:00:00Z", recurrence.Rule{Frequency: recurrence.Day, Count: 1, End: at("2026-01-01T09:00:00Z")}, day},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.rule.Location = load(t, tt.zone)
			if got := compile(t, tt.rule, tt.start).Spacing(); got != tt.want {
				t.Errorf("Spacing() = %v, want %v", got, tt.want)
			}
		})
	}
}

// TestSpacingAgainstOccurrences walks through the occurrences of random rules. No gap may be smaller than
// the spacing; if the walk covers the rule's whole cycle, one gap must be equal to it.
func TestSpacingAgainstOccurrences(t *testing.T) {
	t.Parallel()
	const most = 5000
	r := rand.New(rand.NewPCG(28, 31))
	exact := 0
	for range 400 {
		s := randomSample(t, r)
		s.zone = 0 // UTC
		rule, anchor := s.rule(t)
		plan, err := recurrence.New(rule, anchor)
		if err != nil {
			continue
		}
		want := plan.Spacing()
		last, ok := plan.Next(anchor.Add(-time.Second))
		end := cycleEnd(&rule, last)
		least := time.Duration(1<<63 - 1)
		n := 0
		for ; n < most && last.Before(end); n++ {
			next, more := plan.Next(last)
			if !more {
				break
			}
			least, last = min(least, next.Sub(last)), next
		}
		if !ok || n == 0 {
			continue
		}
		if least < want {
			t.Fatalf("%s\nSpacing() = %v, but two occurrences are %v apart", describe(rule, anchor), want, least)
		}
		if !last.Before(end) {
			exact++
			if least != want {
				t.Fatalf("%s\nSpacing() = %v, but the nearest two occurrences are %v apart", describe(rule, anchor), want, least)
			}
		}
	}
	if exact < 100 {
		t.Errorf("only %d of the rules could be walked through", exact)
	}
}

// cycleEnd returns the time by which the occurrences of a rule in UTC have begun to repeat.
func cycleEnd(r *recurrence.Rule, from time.Time) time.Time {
	every := max(r.Interval, 1)
	switch r.Frequency {
	case recurrence.Minute, recurrence.Hour, recurrence.Day:
		return from.AddDate(0, 0, every)
	case recurrence.Week:
		return from.AddDate(0, 0, 7*every)
	default:
		return from.AddDate(400*every, 0, 0)
	}
}

func BenchmarkSpacing(b *testing.B) {
	for _, bm := range []struct {
		name string
		rule recurrence.Rule
	}{
		{"every minute of the month", recurrence.Rule{Frequency: recurrence.Month, Hours: []int{0, 1, 2, 3}, Minutes: []int{0, 1, 2, 3}, MonthDays: []int{1, 3}}},
		{"minutes within office hours", recurrence.Rule{Frequency: recurrence.Minute, Interval: 7, Hours: []int{9, 10, 11}}},
		{"monthly", recurrence.Rule{Frequency: recurrence.Month}},
		{"every 17 months", recurrence.Rule{Frequency: recurrence.Month, Interval: 17}},
		{"February 29 every 18 months", recurrence.Rule{Frequency: recurrence.Month, Interval: 18, MonthDays: []int{29}, Months: []int{2, 8}}},
	} {
		b.Run(bm.name, func(b *testing.B) {
			plan := compile(b, bm.rule, "2026-02-01T08:00:00Z")
			b.ReportAllocs()
			for b.Loop() {
				plan.Spacing()
			}
		})
	}
}
