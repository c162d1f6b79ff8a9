package recurrence_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"almanac/recurrence"
)

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	const month, day, week, year = recurrence.Month, recurrence.Day, recurrence.Week, recurrence.Year
	friday := []recurrence.MonthlyOccurrence{{Day: time.Friday}}
	for _, tt := range []struct {
		name string
		rule recurrence.Rule
		want string
	}{
		{"no frequency", recurrence.Rule{}, "recurrence.frequency is missing, want minute, hour, day, week, month or year"},
		{"another frequency", recurrence.Rule{Frequency: 7}, "recurrence.frequency is frequency(7), want minute, hour, day, week, month or year"},
		{"negative interval", recurrence.Rule{Frequency: day, Interval: -1}, "recurrence.interval is -1, want 1 to 548"},
		{"minutes", recurrence.Rule{Frequency: recurrence.Minute, Interval: 1001}, "recurrence.interval is 1001, want 1 to 1000"},
		{"hours", recurrence.Rule{Frequency: recurrence.Hour, Interval: 1001}, "recurrence.interval is 1001, want 1 to 1000"},
		{"days", recurrence.Rule{Frequency: day, Interval: 549}, "recurrence.interval is 549, want 1 to 548"},
		{"weeks", recurrence.Rule{Frequency: week, Interval: 79}, "recurrence.interval is 79, want 1 to 78"},
		{"months", recurrence.Rule{Frequency: month, Interval: 19}, "recurrence.interval is 19, want 1 to 18"},
		{"years", recurrence.Rule{Frequency: year, Interval: 2}, "recurrence.interval is 2, want 1"},
		{"negative count", recurrence.Rule{Frequency: day, Count: -1}, "recurrence.count is -1, want 1 to 2147483647"},
		{"huge count", recurrence.Rule{Frequency: day, Count: 1 << 31}, "recurrence.count is 2147483648, want 1 to 2147483647"},
		{"minute 60", recurrence.Rule{Frequency: day, Minutes: []int{0, 60}}, "recurrence.schedule.minutes[1] is 60, want 0 to 59"},
		{"minute -1", recurrence.Rule{Frequency: day, Minutes: []int{-1}}, "recurrence.schedule.minutes[0] is -1, want 0 to 59"},
		{"hour 24", recurrence.Rule{Frequency: day, Hours: []int{1, 2, 24}}, "recurrence.schedule.hours[2] is 24, want 0 to 23"},
		{"day 0", recurrence.Rule{Frequency: month, MonthDays: []int{0}}, "recurrence.schedule.monthDays[0] is 0, want 1 to 31 or -31 to -1"},
		{"day -32", recurrence.Rule{Frequency: month, MonthDays: []int{-32}}, "recurrence.schedule.monthDays[0] is -32, want 1 to 31 or -31 to -1"},
		{"month 13", recurrence.Rule{Frequency: year, Months: []int{13}}, "recurrence.schedule.months[0] is 13, want 1 to 12"},
		{"weekday 7", recurrence.Rule{Frequency: week, WeekDays: []time.Weekday{7}}, "recurrence.schedule.weekDays[0] is 7, want a day of the week"},
		{
			"a sixth Friday", recurrence.Rule{Frequency: month, MonthlyOccurrences: []recurrence.MonthlyOccurrence{{Day: time.Friday, Occurrence: 6}}},
			"recurrence.schedule.monthlyOccurrences[0].occurrence is 6, want 1 to 5 or -5 to -1",
		},
		{
			"weekdays by day", recurrence.Rule{Frequency: day, WeekDays: []time.Weekday{time.Friday}},
			"recurrence.schedule.weekDays is [Friday], want none with frequency day, only with week",
		},
		{
			"days of the month by year", recurrence.Rule{Frequency: year, MonthDays: []int{1}},
			"recurrence.schedule.monthDays is [1], want none with frequency year, only with month",
		},
		{
			"occurrences by week", recurrence.Rule{Frequency: week, MonthlyOccurrences: friday},
			"recurrence.schedule.monthlyOccurrences is [{Friday 0}], want none with frequency week, only with month",
		},
		{
			"months by week", recurrence.Rule{Frequency: week, Months: []int{1}},
			"recurrence.schedule.months is [1], want none with frequency week, only with month and year",
		},
		{"31 February", recurrence.Rule{Frequency: month, MonthDays: []int{31, 30, -30}, Months: []int{2}}, neverDue},
		{"another month than every twelfth", recurrence.Rule{Frequency: month, Interval: 12, Months: []int{2}}, neverDue},
		{"a fifth Friday before the 29th", recurrence.Rule{Frequency: month, MonthDays: []int{28}, MonthlyOccurrences: []recurrence.MonthlyOccurrence{{Day: time.Friday, Occurrence: 5}}}, neverDue},
		{"an hour that the interval steps over", recurrence.Rule{Frequency: recurrence.Hour, Interval: 24, Hours: []int{7}}, neverDue},
		{"a minute that the interval steps over", recurrence.Rule{Frequency: recurrence.Minute, Interval: 60, Minutes: []int{7}}, neverDue},
		{"a Friday 29 February every fifth month, in 134 years", recurrence.Rule{Frequency: month, Interval: 5, MonthDays: []int{29}, Months: []int{2}, MonthlyOccurrences: friday}, neverDue},
		{"whatever its count and end", recurrence.Rule{Frequency: month, MonthDays: []int{31}, Months: []int{2}, Count: 1, End: at("2026-01-01T00:00:00Z")}, neverDue},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := recurrence.Compile(recurrence.Spec{Created: at("2026-01-10T12:00:00Z"), Rule: &tt.rule})
			if err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

const neverDue = "recurrence.schedule is never due, want a time within 100 years"

func TestFieldErrorNamesTheValue(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		value any
		want  string
	}{
		{"nothing", nil, "startTime is missing, want a date"},
		{"a time", at("2030-01-10T12:00:00Z"), "startTime is 2030-01-10T12:00:00Z, want a date"},
		{"text in quotes", "next\nweek", `startTime is "next\nweek", want a date`},
		{"a number", 7, "startTime is 7, want a date"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := &recurrence.FieldError{Field: "startTime", Value: tt.value, Want: "a date"}
			if err.Error() != tt.want {
				t.Errorf("got  %s\nwant %s", err, tt.want)
			}
		})
	}
}

func TestCompileReportsEveryBadField(t *testing.T) {
	t.Parallel()
	_, err := recurrence.Compile(recurrence.Spec{
		Created: at("2026-01-10T12:00:00Z"),
		Start:   at("2030-01-10T12:00:00Z"),
		Rule:    &recurrence.Rule{Frequency: recurrence.Day, Interval: 1000, Hours: []int{24, 12, 25}, Months: []int{0}},
	})
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
		fields = append(fields, strings.TrimPrefix(field.Field, "recurrence."))
	}
	want := []string{"startTime", "schedule.months", "interval", "schedule.hours[0]", "schedule.hours[2]", "schedule.months[0]"}
	if !slices.Equal(fields, want) {
		t.Errorf("got  %v\nwant %v", fields, want)
	}
}

func TestStartIsAtMost18MonthsAhead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, created, now, start string
		ok                        bool
	}{
		{"exactly", "2026-01-10T12:00:00Z", "", "2027-07-10T12:00:00Z", true},
		{"a fraction more is dropped", "2026-01-10T12:00:00Z", "", "2027-07-10T12:00:00.9Z", true},
		{"a second more", "2026-01-10T12:00:00Z", "", "2027-07-10T12:00:01Z", false},
		{"to the last day of a shorter month", "2026-08-31T12:00:00Z", "", "2028-02-29T12:00:00Z", true},
		{"not to the first of the next", "2026-08-31T12:00:00Z", "", "2028-03-01T00:00:00Z", false},
		{"in UTC, not in the start's offset", "2026-08-31T23:00:00Z", "", "2028-03-01T01:00:00+02:00", true},
		{"long past", "2026-01-10T12:00:00Z", "", "1626-01-10T12:00:00Z", true},
		{"counted from the change", "2026-01-10T12:00:00Z", "2026-02-10T12:00:00Z", "2027-08-10T12:00:00Z", true},
		{"and no further", "2026-01-10T12:00:00Z", "2026-02-10T12:00:00Z", "2027-08-10T12:00:01Z", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := recurrence.Compile(recurrence.Spec{Created: at(tt.created), Now: at(tt.now), Start: at(tt.start)})
			if (err == nil) != tt.ok {
				t.Errorf("got %v, want ok %v", err, tt.ok)
			}
			field, _ := errors.AsType[*recurrence.FieldError](err)
			if err != nil && field.Field != "startTime" {
				t.Errorf("the error is about %s", field.Field)
			}
		})
	}
}

// A rule must fire within 100 years of its start or of Now, whichever is later. Earlier instants do not
// count, and its end does not matter.
func TestFiresWithin100Years(t *testing.T) {
	t.Parallel()
	rare := recurrence.Rule{
		Frequency: recurrence.Month, Interval: 5, MonthDays: []int{29}, Months: []int{2},
		MonthlyOccurrences: []recurrence.MonthlyOccurrence{{Day: time.Friday}},
	}
	for _, tt := range []struct {
		name, start, created, now string
		ok                        bool
	}{
		{"at the start itself", "2036-02-29T12:00:00Z", "2035-01-01T00:00:00Z", "", true},
		{"at the creation itself", "2036-02-29T12:00:00Z", "2036-02-29T12:00:00Z", "", true},
		{"only before the creation", "2036-02-29T12:00:00Z", "2036-02-29T12:00:01Z", "", false},
		{"only before the change", "2036-02-29T12:00:00Z", "2036-01-01T00:00:00Z", "2036-03-01T00:00:00Z", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := recurrence.Compile(recurrence.Spec{Created: at(tt.created), Start: at(tt.start), Now: at(tt.now), Rule: &rare})
			if (err == nil) != tt.ok {
				t.Errorf("got %v, want ok %v", err, tt.ok)
			}
		})
	}
	plan := compile(t, recurrence.Spec{
		Created: at("2026-01-01T00:00:00Z"), Start: at("2026-01-01T00:00:00Z"),
		Rule: &recurrence.Rule{Frequency: recurrence.Month, MonthDays: []int{29}, Months: []int{2}, End: at("2027-01-01T00:00:00Z")},
	})
	if due, ok := plan.First(); ok {
		t.Errorf("runs at %v, after its end", due)
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
