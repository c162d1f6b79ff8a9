package recurrence_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"almanac/recurrence"
)

func TestString(t *testing.T) {
	t.Parallel()
	const (
		minute, hour, day, week, month, year = recurrence.Minute, recurrence.Hour, recurrence.Day, recurrence.Week, recurrence.Month, recurrence.Year
		monday, friday                       = time.Monday, time.Friday
	)
	type (
		rule = recurrence.Rule
		nth  = recurrence.MonthlyOccurrence
	)
	stockholm := load(t, "Europe/Stockholm")
	span := func(from, to int) (all []int) {
		for n := from; n <= to; n++ {
			all = append(all, n)
		}
		return all
	}
	for _, tt := range []struct {
		rule   rule
		anchor string
		want   string
	}{
		{rule{Frequency: minute}, "", "every minute"},
		{rule{Frequency: minute, Interval: 15}, "", "every 15 minutes"},
		{rule{Frequency: minute, Interval: 15}, "2026-01-05T09:07:30Z", "every 15 minutes, from 2026-01-05 09:07:30"},
		{rule{Frequency: minute, Interval: 15, Location: stockholm}, "", "every 15 minutes"},
		{rule{Frequency: minute, Hours: span(9, 17)}, "", "every minute, only in hours 9 to 17"},
		{rule{Frequency: minute, Interval: 7, Minutes: []int{0, 30}}, "", "every 7 minutes, only at minutes 0 and 30"},
		{rule{Frequency: minute, Minutes: []int{7}, Hours: []int{3}, Location: stockholm}, "", "every minute, only at minute 7 of hour 3, Europe/Stockholm"},
		{rule{Frequency: hour}, "", "every hour"},
		{rule{Frequency: hour, Interval: 6}, "2026-01-05T00:00:00Z", "every 6 hours, from 2026-01-05"},
		{rule{Frequency: hour, Minutes: []int{45, 0, 15, 30, 15}}, "", "every hour at minutes 0, 15, 30 and 45"},
		{rule{Frequency: hour, Minutes: span(0, 59)}, "", "every minute"},
		{rule{Frequency: hour, Minutes: span(0, 59), Hours: []int{9}}, "", "every minute, only in hour 9"},
		{rule{Frequency: hour, Interval: 2, Minutes: span(0, 59)}, "", "every 2 hours at every minute"},
		{rule{Frequency: hour, Interval: 3, Minutes: []int{5}, Hours: []int{9, 12}}, "", "every 3 hours at minute 5, only in hours 9 and 12"},
		{rule{Frequency: day}, "", "every day"},
		{rule{Frequency: day}, "2026-01-05T09:00:00Z", "every day at 09:00, from 2026-01-05 09:00"},
		{rule{Frequency: day, Interval: 2, Location: stockholm}, "2026-01-05T09:00:30Z", "every 2 days at 10:00:30, from 2026-01-05 10:00:30, Europe/Stockholm"},
		{rule{Frequency: day, Hours: []int{17, 9}, Minutes: []int{0}}, "", "every day at 09:00 and 17:00"},
		{rule{Frequency: day, Hours: []int{9, 17}, Minutes: []int{0, 30}}, "", "every day at 09:00, 09:30, 17:00 and 17:30"},
		{rule{Frequency: day, Hours: span(9, 17), Minutes: []int{0, 30}}, "", "every day at minutes 0 and 30 of hours 9 to 17"},
		{rule{Frequency: day, Hours: []int{9, 17}}, "", "every day once in each of the hours 9 and 17"},
		{rule{Frequency: day, Hours: []int{9}}, "", "every day once in hour 9"},
		{rule{Frequency: day, Hours: []int{9, 17}}, "2026-01-05T08:15:00Z", "every day at 09:15 and 17:15, from 2026-01-05 08:15"},
		{rule{Frequency: day, Hours: span(0, 11)}, "2026-01-05T08:15:20Z", "every day at minute 15 and second 20 of hours 0 to 11, from 2026-01-05 08:15:20"},
		{rule{Frequency: day, Minutes: []int{0}}, "", "every day at minute 0 of every hour"},
		{rule{Frequency: day, Hours: []int{9}, Minutes: span(0, 59)}, "", "every day at every minute of hour 9"},
		{rule{Frequency: day, Count: 10}, "", "every day, 10 times"},
		{rule{Frequency: day, Count: 1}, "", "every day, once"},
		{rule{Frequency: day, End: at("2027-01-01T00:00:00Z")}, "", "every day, until 2027-01-01 00:00"},
		{rule{Frequency: day, End: at("2027-01-01T00:00:00Z"), Location: stockholm, Count: 3}, "2026-01-05T09:00:00Z",
			"every day at 10:00, from 2026-01-05 10:00 until 2027-01-01 01:00, Europe/Stockholm, 3 times"},
		{rule{Frequency: week}, "", "every week"},
		{rule{Frequency: week}, "2026-01-05T09:00:00Z", "every week on Monday at 09:00, from 2026-01-05 09:00"},
		{rule{Frequency: week, Interval: 2, WeekDays: []time.Weekday{friday, monday}, Hours: []int{9, 17}, Minutes: []int{0}, Location: stockholm}, "",
			"every 2 weeks on Monday and Friday at 09:00 and 17:00, Europe/Stockholm"},
		{rule{Frequency: week, WeekDays: []time.Weekday{1, 2, 3, 4, 5}}, "", "every week on Monday to Friday"},
		{rule{Frequency: week, WeekDays: []time.Weekday{0, 6, 1}}, "", "every week on Monday, Saturday and Sunday"},
		{rule{Frequency: month}, "", "every month"},
		{rule{Frequency: month, Interval: 2}, "", "every 2 months"},
		{rule{Frequency: month}, "2026-01-15T09:00:00Z", "the 15th of every month at 09:00, from 2026-01-15 09:00"},
		{rule{Frequency: month}, "2026-01-31T09:00:00Z", "the 31st of every month at 09:00, or on the last day of a shorter month, from 2026-01-31 09:00"},
		{rule{Frequency: month, Interval: 18, MonthDays: []int{1, 22, 13}}, "", "the 1st, the 13th and the 22nd of every 18th month"},
		{rule{Frequency: month, MonthDays: []int{-1, 3, 2, 1, -2}}, "", "the 1st to the 3rd, the second to last day and the last day of every month"},
		{rule{Frequency: month, MonthDays: []int{-31}}, "", "the 31st to last day of every month"},
		{rule{Frequency: month, MonthDays: span(1, 31), Months: []int{6}, Hours: []int{9}, Minutes: []int{0}}, "", "every day of every June at 09:00"},
		{rule{Frequency: month, MonthlyOccurrences: []nth{{friday, -1}}, Interval: 3, Hours: []int{17}, Minutes: []int{15}}, "", "the last Friday of every third month at 17:15"},
		{rule{Frequency: month, MonthlyOccurrences: []nth{{monday, 1}, {friday, -2}, {friday, 0}}}, "", "the first Monday, the second to last Friday and every Friday of every month"},
		{rule{Frequency: month, MonthDays: []int{13}, MonthlyOccurrences: []nth{{friday, 0}}}, "", "the 13th of every month, only if that day is a Friday"},
		{rule{Frequency: month, MonthDays: span(8, 14), MonthlyOccurrences: []nth{{friday, 0}, {monday, 2}}, Hours: []int{9}, Minutes: []int{0}}, "",
			"the 8th to the 14th of every month at 09:00, only if that day is a Friday or the second Monday"},
		{rule{Frequency: month, Months: []int{3, 6}}, "", "every March and June"},
		{rule{Frequency: month, MonthDays: []int{-1}, Months: []int{3, 6}}, "", "the last day of every March and June"},
		{rule{Frequency: month, Interval: 5, MonthDays: []int{1}, Months: []int{3, 6}}, "", "the 1st of every fifth month, only in March and June"},
		{rule{Frequency: month, MonthDays: []int{1}, Months: span(1, 12)}, "", "the 1st of every month"},
		{rule{Frequency: year}, "", "every year"},
		{rule{Frequency: year}, "2024-02-29T12:00:00Z", "the 29th of every February at 12:00, or on the last day of a shorter month, from 2024-02-29 12:00"},
		{rule{Frequency: year}, "2026-12-31T12:00:00Z", "the 31st of every December at 12:00, from 2026-12-31 12:00"},
		{rule{Frequency: year, Months: []int{1, 7}}, "", "every January and July"},
		{rule{Frequency: year, Interval: 2, Months: []int{1, 7}}, "2026-01-15T12:00:00Z", "the 15th of January and July of every second year at 12:00, from 2026-01-15 12:00"},
		{rule{Frequency: year, Interval: 20}, "", "every 20 years"},
		{rule{}, "", "never"},
	} {
		t.Run(tt.want, func(t *testing.T) {
			t.Parallel()
			if got := tt.rule.Describe(at(tt.anchor)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if tt.anchor == "" {
				if got := tt.rule.String(); got != tt.want {
					t.Errorf("String() = %s", got)
				}
			} else if got := compile(t, tt.rule, tt.anchor).String(); got != tt.want {
				t.Errorf("the schedule is %s", got)
			}
		})
	}
}

func TestBadFieldsAreShownAsTheyAre(t *testing.T) {
	t.Parallel()
	bad := recurrence.Rule{
		Frequency: recurrence.Month, Interval: -3, Minutes: []int{99, -1}, Hours: []int{-7}, MonthDays: []int{0, 99, -99}, Months: []int{13, -1},
		MonthlyOccurrences: []recurrence.MonthlyOccurrence{{Day: 9, Occurrence: 77}, {Day: -1, Occurrence: -77}}, WeekDays: []time.Weekday{-9, 12},
	}
	for f := recurrence.Frequency(-1); f < 8; f++ {
		bad.Frequency = f
		if bad.String() == "" || bad.Describe(at("2026-01-01T00:00:00Z")) == "" {
			t.Errorf("frequency %v is no text", f)
		}
	}
}

// Two schedules with the same text fire at the same instants.
func TestATextHasOneMeaning(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(12, 4))
	anchors := []string{"2026-01-31T09:00:00Z", "2026-02-03T10:30:15Z"}
	instants, shared := map[string][]string{}, 0
	pick := func(from ...int) []int {
		var list []int
		for range r.IntN(3) {
			list = append(list, from[r.IntN(len(from))])
		}
		return list
	}
	for range 20000 {
		rule := recurrence.Rule{
			Frequency: recurrence.Minute + recurrence.Frequency(r.IntN(6)), Interval: r.IntN(3),
			Minutes: pick(0, 30), Hours: pick(9, 10, 17),
		}
		switch rule.Frequency {
		case recurrence.Week:
			for _, day := range pick(0, 1, 5) {
				rule.WeekDays = append(rule.WeekDays, time.Weekday(day))
			}
		case recurrence.Month:
			rule.MonthDays = pick(1, 13, 31, -1, -2)
			for _, day := range pick(1, 5) {
				rule.MonthlyOccurrences = append(rule.MonthlyOccurrences, recurrence.MonthlyOccurrence{Day: time.Weekday(day), Occurrence: r.IntN(4) - 2})
			}
		}
		if rule.Frequency >= recurrence.Month {
			rule.Months = pick(1, 2, 6)
		}
		s, err := recurrence.New(rule, at(anchors[r.IntN(len(anchors))]))
		if err != nil {
			continue
		}
		got := first(s, 12)
		want, known := instants[s.String()]
		if known && !slices.Equal(got, want) {
			t.Fatalf("%s\nis %v\nor %v", s, got, want)
		}
		if known {
			shared++
		}
		instants[s.String()] = got
	}
	if shared < 1000 {
		t.Errorf("only %d texts were met twice", shared)
	}
}
