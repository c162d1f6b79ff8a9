package recurrence_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"almanac/recurrence"
)

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	const month, day, week, year = recurrence.Month, recurrence.Day, recurrence.Week, recurrence.Year
	friday := []recurrence.MonthlyOccurrence{{Day: time.Friday}}
	for _, tt := range []struct {
		name string
		rule recurrence.Rule
		want string
	}{
		{"no frequency", recurrence.Rule{}, "Frequency is missing; allowed: minute, hour, day, week, month or year"},
		{"another frequency", recurrence.Rule{Frequency: 7}, "Frequency is frequency(7); allowed: minute, hour, day, week, month or year"},
		{"negative interval", recurrence.Rule{Frequency: day, Interval: -1}, "Interval is -1; allowed: 1 to 1000000"},
		{"negative count", recurrence.Rule{Frequency: day, Count: -1}, "Count is -1; allowed: 1 to 1000000"},
		{"huge count", recurrence.Rule{Frequency: day, Count: 1_000_001}, "Count is 1000001; allowed: 1 to 1000000"},
		{"huge interval", recurrence.Rule{Frequency: day, Interval: 1_000_001}, "Interval is 1000001; allowed: 1 to 1000000"},
		{"minute 60", recurrence.Rule{Frequency: day, Minutes: []int{0, 60}}, "Minutes[1] is 60; allowed: 0 to 59"},
		{"minute -1", recurrence.Rule{Frequency: day, Minutes: []int{-1}}, "Minutes[0] is -1; allowed: 0 to 59"},
		{"hour 24", recurrence.Rule{Frequency: day, Hours: []int{1, 2, 24}}, "Hours[2] is 24; allowed: 0 to 23"},
		{"day 0", recurrence.Rule{Frequency: month, MonthDays: []int{0}}, "MonthDays[0] is 0; allowed: 1 to 31 or -31 to -1"},
		{"day -32", recurrence.Rule{Frequency: month, MonthDays: []int{-32}}, "MonthDays[0] is -32; allowed: 1 to 31 or -31 to -1"},
		{"month 13", recurrence.Rule{Frequency: year, Months: []int{13}}, "Months[0] is 13; allowed: 1 to 12"},
		{"weekday 7", recurrence.Rule{Frequency: week, WeekDays: []time.Weekday{7}}, "WeekDays[0] is 7; allowed: a day of the week"},
		{
			"a sixth Friday", recurrence.Rule{Frequency: month, MonthlyOccurrences: []recurrence.MonthlyOccurrence{{Day: time.Friday, Occurrence: 6}}},
			"MonthlyOccurrences[0].Occurrence is 6; allowed: 1 to 5 or -5 to -1",
		},
		{
			"weekdays by day", recurrence.Rule{Frequency: day, WeekDays: []time.Weekday{time.Friday}},
			"WeekDays is [Friday]; allowed: none with frequency day, only with week",
		},
		{
			"days of the month by year", recurrence.Rule{Frequency: year, MonthDays: []int{1}},
			"MonthDays is [1]; allowed: none with frequency year, only with month",
		},
		{
			"occurrences by week", recurrence.Rule{Frequency: week, MonthlyOccurrences: friday},
			"MonthlyOccurrences is [{Friday 0}]; allowed: none with frequency week, only with month",
		},
		{
			"months by week", recurrence.Rule{Frequency: week, Months: []int{1}},
			"Months is [1]; allowed: none with frequency week, only with month and year",
		},
		{"31 February", recurrence.Rule{Frequency: month, MonthDays: []int{31, 30, -30}, Months: []int{2}}, neverDue},
		{"another month than every twelfth", recurrence.Rule{Frequency: month, Interval: 12, Months: []int{2}}, neverDue},
		{"a fifth Friday before the 29th", recurrence.Rule{Frequency: month, MonthDays: []int{28}, MonthlyOccurrences: []recurrence.MonthlyOccurrence{{Day: time.Friday, Occurrence: 5}}}, neverDue},
		{"an hour that the interval steps over", recurrence.Rule{Frequency: recurrence.Hour, Interval: 24, Hours: []int{7}}, neverDue},
		{"a minute that the interval steps over", recurrence.Rule{Frequency: recurrence.Minute, Interval: 60, Minutes: []int{7}}, neverDue},
		{"whatever its count and end", recurrence.Rule{Frequency: month, MonthDays: []int{31}, Months: []int{2}, Count: 1, End: at("2026-01-01T00:00:00Z")}, neverDue},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := recurrence.New(tt.rule, at("2026-01-10T12:00:00Z"))
			if err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

const neverDue = "the rule never fires"

func TestNewRefusesZeroValues(t *testing.T) {
	t.Parallel()
	_, err := recurrence.New(recurrence.Rule{}, time.Time{})
	const want = "Anchor is missing; allowed: a time in the years 0 to 9999\nFrequency is missing; allowed: minute, hour, day, week, month or year"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	for _, anchor := range []time.Time{time.Unix(-1<<55, 0), time.Unix(253402300800, 0)} {
		if s, err := recurrence.New(recurrence.Rule{Frequency: recurrence.Day}, anchor); err == nil {
			t.Errorf("anchor %v: got %v", anchor, s)
		}
	}
}

// A rule may be rare: the only one that is refused is the one that never fires.
func TestARareRuleFires(t *testing.T) {
	t.Parallel()
	s := compile(t, recurrence.Rule{
		Frequency: recurrence.Month, Interval: 5, MonthDays: []int{29}, Months: []int{2},
		MonthlyOccurrences: []recurrence.MonthlyOccurrence{{Day: time.Friday}},
	}, "2036-02-29T12:00:00Z")
	next, ok := s.Next(at("2036-03-01T12:00:00Z"))
	if !ok || next.Year() < 2136 {
		t.Errorf("got %v, %v, want more than a century later", next, ok)
	}
}

func TestFieldErrorNamesTheValue(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		value any
		want  string
	}{
		{"nothing", nil, "Anchor is missing; allowed: a date"},
		{"a time", at("2030-01-10T12:00:00Z"), "Anchor is 2030-01-10T12:00:00Z; allowed: a date"},
		{"text in quotes", "next\nweek", `Anchor is "next\nweek"; allowed: a date`},
		{"a number", 7, "Anchor is 7; allowed: a date"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := &recurrence.FieldError{Field: "Anchor", Value: tt.value, Allowed: "a date"}
			if err.Error() != tt.want {
				t.Errorf("got  %s\nwant %s", err, tt.want)
			}
		})
	}
}

func TestNewReportsEveryBadField(t *testing.T) {
	t.Parallel()
	_, err := recurrence.New(
		recurrence.Rule{Frequency: recurrence.Day, Interval: -1, Hours: []int{24, 12, 25}, Months: []int{0}}, time.Time{})
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("got %v", err)
	}
	var fields []string
	for _, err := range joined.Unwrap() {
		field, ok := errors.AsType[*recurrence.FieldError](err)
		if !ok {
			t.Fatalf("%v is no FieldError", err)
		}
		fields = append(fields, field.Field)
	}
	want := []string{"Anchor", "Months", "Interval", "Hours[0]", "Hours[2]", "Months[0]"}
	if !slices.Equal(fields, want) {
		t.Errorf("got  %v\nwant %v", fields, want)
	}
}

func TestParseFrequency(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]recurrence.Frequency{
		"Minute": recurrence.Minute, "hour": recurrence.Hour, "DAY": recurrence.Day, "wEEk": recurrence.Week,
		"month": recurrence.Month, "Year": recurrence.Year,
	} {
		got, ok := recurrence.ParseFrequency(name)
		if !ok || got != want || got.String() != strings.ToLower(name) {
			t.Errorf("ParseFrequency(%q) = %v, %v", name, got, ok)
		}
	}
	for _, name := range []string{"", "Second", "Monthly", "day ", "Wee\u212a"} {
		if got, ok := recurrence.ParseFrequency(name); ok {
			t.Errorf("ParseFrequency(%q) = %v", name, got)
		}
	}
}
