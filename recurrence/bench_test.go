package recurrence_test

import (
	"testing"
	"time"

	"almanac/recurrence"
)

// The cost must not depend on the distance from the anchor or on how rare the occurrences are.
func BenchmarkNext(b *testing.B) {
	stockholm := load(b, "Europe/Stockholm")
	for _, bm := range []struct {
		name string
		rule recurrence.Rule
	}{
		{"every 15 minutes", recurrence.Rule{Frequency: recurrence.Minute, Interval: 15}},
		{"minutes within office hours", recurrence.Rule{Frequency: recurrence.Minute, Interval: 7, Hours: []int{9, 10, 11}}},
		{"hours that rarely meet", recurrence.Rule{Frequency: recurrence.Hour, Interval: 997, Hours: []int{3}}},
		{"daily", recurrence.Rule{Frequency: recurrence.Day}},
		{"office days", recurrence.Rule{
			Frequency: recurrence.Week, Hours: []int{9, 17}, Minutes: []int{0, 30},
			WeekDays: []time.Weekday{time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday},
		}},
		{"last Friday", recurrence.Rule{
			Frequency: recurrence.Month, Hours: []int{17}, Minutes: []int{15},
			MonthlyOccurrences: []recurrence.MonthlyOccurrence{{Day: time.Friday, Occurrence: -1}},
		}},
		{"day 31 every 18 months", recurrence.Rule{Frequency: recurrence.Month, Interval: 18, MonthDays: []int{31}}},
		{"Friday February 29", recurrence.Rule{
			Frequency: recurrence.Month, MonthDays: []int{29}, Months: []int{2},
			MonthlyOccurrences: []recurrence.MonthlyOccurrence{{Day: time.Friday}},
		}},
		{"yearly", recurrence.Rule{Frequency: recurrence.Year}},
	} {
		for _, zone := range []*time.Location{time.UTC, stockholm} {
			bm.rule.Location = zone
			s := compile(b, bm.rule, "2026-01-01T08:00:00Z")
			for _, distance := range []struct{ name, after string }{
				{"near", "2026-01-02T12:34:56Z"},
				{"half a century away", "2076-05-06T12:34:56Z"},
			} {
				b.Run(bm.name+"/"+zone.String()+"/"+distance.name, func(b *testing.B) {
					after := at(distance.after)
					b.ReportAllocs()
					for b.Loop() {
						s.Next(after)
					}
				})
			}
		}
	}
}

func BenchmarkNew(b *testing.B) {
	stockholm := load(b, "Europe/Stockholm")
	for _, bm := range []struct {
		name string
		rule recurrence.Rule
	}{
		{"daily", recurrence.Rule{Frequency: recurrence.Day, Location: stockholm}},
		{"minutes filtered", recurrence.Rule{Frequency: recurrence.Minute, Hours: []int{9}, Location: stockholm}},
		{"monthly", recurrence.Rule{Frequency: recurrence.Month, MonthDays: []int{1, -1}, Location: stockholm}},
		{"never in a month", recurrence.Rule{Frequency: recurrence.Month, MonthDays: []int{31}, Months: []int{2}, Location: stockholm}},
		{"never at an hour", recurrence.Rule{Frequency: recurrence.Hour, Interval: 24, Hours: []int{3}, Location: stockholm}},
	} {
		b.Run(bm.name, func(b *testing.B) {
			anchor := at("2026-01-01T08:00:00Z")
			b.ReportAllocs()
			for b.Loop() {
				_, _ = recurrence.New(bm.rule, anchor)
			}
		})
	}
}

func BenchmarkPrev(b *testing.B) {
	rule := recurrence.Rule{Frequency: recurrence.Week, Hours: []int{9, 17}, Location: load(b, "Europe/Stockholm")}
	s, before := compile(b, rule, "2026-01-01T08:00:00Z"), at("2076-05-06T12:34:56Z")
	b.ReportAllocs()
	for b.Loop() {
		s.Prev(before)
	}
}

func BenchmarkParseTime(b *testing.B) {
	stockholm := load(b, "Europe/Stockholm")
	b.ReportAllocs()
	for b.Loop() {
		_, _ = recurrence.ParseTime("2026-03-29T02:30:00", stockholm)
	}
}
