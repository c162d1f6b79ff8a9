package calendars_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"almanac/recurrence"
	"almanac/recurrence/calendars"
	"almanac/recurrence/cron"
)

func instant(text string) time.Time {
	t, err := recurrence.ParseTime(text, nil)
	if err != nil {
		panic(err) //nolint:forbidigo // a mistake in a test
	}
	return t
}

// rule returns the series of a rule from 2026-01-01T09:00 on.
func rule(t testing.TB, r recurrence.Rule) *recurrence.Series {
	t.Helper()
	anchor := instant("2026-01-01T09:00")
	s, err := recurrence.New(r, anchor)
	require.NoError(t, err)
	series, err := recurrence.NewSeries(anchor, nil, s)
	require.NoError(t, err)
	return series
}

// told writes what becomes of occurrences: their nominal times, and > and the due time if they run.
func told(all []calendars.Occurrence) string {
	var b strings.Builder
	for _, o := range all {
		b.WriteString(" " + o.Nominal.Format("02T15:04"))
		if o.Ran() {
			b.WriteString(">" + o.Due.Format("02T15:04"))
		}
	}
	return strings.TrimSpace(b.String())
}

func weekends(t testing.TB, days ...string) *calendars.Table {
	t.Helper()
	c := calendars.Calendar{WeekendDays: []time.Weekday{time.Saturday, time.Sunday}}
	for _, text := range days {
		d, err := calendars.ParseDate(text)
		require.NoError(t, err)
		c.Days = append(c.Days, calendars.Day{Date: d})
	}
	table, err := calendars.NewTable(c)
	require.NoError(t, err)
	return table
}

func nightly(policy calendars.BlackoutPolicy) calendars.Blackout {
	return calendars.Blackout{Name: "night", Clock: true, From: 22 * time.Hour, Until: 6 * time.Hour, OnMatch: policy}
}

// A job at 05:00 and 23:00 in June, with a blackout at night.
func lateJob(t testing.TB, blackouts ...calendars.Blackout) calendars.Input {
	t.Helper()
	return calendars.Input{
		Series:    rule(t, recurrence.Rule{Frequency: recurrence.Day, Hours: []int{23}, Minutes: []int{0}}),
		Blackouts: blackouts,
	}
}

func TestABlackoutThatIsLifted(t *testing.T) {
	t.Parallel()
	made, until := instant("2026-06-01"), instant("2026-06-04T12:00")
	for _, tt := range []struct {
		name     string
		old, new []calendars.Blackout
		at, want string
	}{
		{"holds until then", []calendars.Blackout{nightly(calendars.RunAtEnd)}, nil, "2026-06-03T01:00", "02T23:00>03T01:00 03T23:00>03T23:00"},
		{"becomes longer", []calendars.Blackout{nightly(calendars.RunAtEnd)}, []calendars.Blackout{{Name: "b", Clock: true, From: 22 * time.Hour, Until: 8 * time.Hour, OnMatch: calendars.RunAtEnd}},
			"2026-06-03T01:00", "02T23:00>03T08:00 03T23:00>04T08:00"},
		{"is lifted before it begins", []calendars.Blackout{nightly(calendars.RunAtEnd)}, nil, "2026-06-02T12:00", "02T23:00>02T23:00 03T23:00>03T23:00"},
		{"would skip, and does not hold", []calendars.Blackout{nightly(calendars.SkipInBlackout)}, nil, "2026-06-03T01:00", "03T23:00>03T23:00"},
		{"another day is back at its own time", []calendars.Blackout{{Name: "d", First: day("2026-06-02"), Last: day("2026-06-02"), OnMatch: calendars.NextAllowedDay}}, nil,
			"2026-06-02T12:00", "02T23:00>02T23:00 03T23:00>03T23:00"},
		{"another day, on which it was skipped already", []calendars.Blackout{{Name: "d", First: day("2026-06-02"), Last: day("2026-06-03"), OnMatch: calendars.NextAllowedDay}}, nil,
			"2026-06-03T01:00", "03T23:00>03T23:00"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			at := instant(tt.at)
			plan := calendars.NewPlan(lateJob(t, tt.old...), made).Change(lateJob(t, tt.new...), at)
			assert.Equal(t, tt.want, told(plan.Occurrences(at, until)))
		})
	}
}

func day(text string) *calendars.Date {
	d, err := calendars.ParseDate(text)
	if err != nil {
		panic(err) //nolint:forbidigo // a mistake in a test
	}
	return &d
}

func TestAChangedScheduleRunsNothingAtOnceAndNothingTwice(t *testing.T) {
	t.Parallel()
	table := weekends(t)
	in := func(hour int) calendars.Input {
		return calendars.Input{
			Series:    rule(t, recurrence.Rule{Frequency: recurrence.Day, Hours: []int{hour}, Minutes: []int{0}}),
			Calendars: []calendars.Use{{Name: "SE", OnMatch: calendars.PreviousWorkingDay, Table: table}},
		}
	}
	at := instant("2026-01-10T12:00") // a Saturday: what was due on Friday ran
	plan := calendars.NewPlan(in(9), instant("2026-01-05"))
	assert.Equal(t, "11T09:00 12T09:00>12T09:00", told(plan.Change(in(9), at).Occurrences(at, instant("2026-01-12T10:00"))))
	assert.Equal(t, "10T15:00 11T15:00 12T15:00>12T15:00", told(plan.Change(in(15), at).Occurrences(at, instant("2026-01-12T23:00"))))
	assert.Equal(t, "11T08:00 12T08:00>12T08:00", told(plan.Change(in(8), at).Occurrences(at, instant("2026-01-12T23:00"))))
}

func TestThePositiveNumberNamesAWorkingDay(t *testing.T) {
	t.Parallel()
	uses := []calendars.Use{{Name: "SE", Table: weekends(t)}}
	anchor := instant("2026-01-01T09:00")
	all := recurrence.Rule{Frequency: recurrence.Month}
	for n := 1; n <= 31; n++ {
		all.MonthDays = append(all.MonthDays, n)
	}
	s, err := recurrence.New(all, anchor)
	require.NoError(t, err)
	numbers := []int{-1, 22, -22, 1} // January 2026 has 22 working days
	s, err = calendars.WorkingDays(s, numbers, uses)
	require.NoError(t, err)
	series, err := recurrence.NewSeries(anchor, nil, s)
	require.NoError(t, err)
	plan := calendars.NewPlan(calendars.Input{Series: series, Calendars: uses, Numbered: []calendars.Numbered{{Schedule: s, Numbers: numbers}}}, anchor)
	var got []string
	for _, o := range plan.Occurrences(anchor, instant("2026-03-01")) {
		got = append(got, fmt.Sprint(o.Nominal.Format("01-02"), " ", o.WorkingDay))
	}
	assert.Equal(t, []string{"01-01 1", "01-30 22", "02-02 1", "02-27 -1"}, got)
}

func TestTheReachOfAHundredDays(t *testing.T) {
	t.Parallel()
	for length, want := range map[int]string{100: "2026-05-12T09:00:00Z", 101: ""} {
		first := calendars.DateOf(2026, time.February, 1)
		table, err := calendars.NewTable(calendars.Calendar{
			WeekendDays: []time.Weekday{}, Periods: []calendars.Period{{First: first, Last: first + calendars.Date(length-1), Name: "shut"}},
		})
		require.NoError(t, err)
		plan := calendars.NewPlan(calendars.Input{
			Series:    rule(t, recurrence.Rule{Frequency: recurrence.Month, MonthDays: []int{1}, Months: []int{2}}),
			Calendars: []calendars.Use{{Name: "x", OnMatch: calendars.NextWorkingDay, Table: table}},
		}, instant("2026-01-01"))
		o, ok := plan.Next(instant("2026-01-02"))
		require.True(t, ok)
		if want == "" {
			assert.Equal(t, 2027, o.Due.Year(), "%d days", length)
		} else {
			assert.Equal(t, want, o.Due.Format(time.RFC3339), "%d days", length)
		}
	}
}

func TestOneHundredAreHeldAndARegularOneBesides(t *testing.T) {
	t.Parallel()
	in := calendars.Input{
		Series: rule(t, recurrence.Rule{Frequency: recurrence.Minute}),
		Blackouts: []calendars.Blackout{{
			Name: "b", OnMatch: calendars.RunAtEnd, KeepAll: true, Start: instant("2026-01-01T10:00"), End: instant("2026-01-01T12:00"),
		}},
	}
	end := instant("2026-01-01T12:00")
	due := 0
	for _, o := range calendars.NewPlan(in, instant("2026-01-01T09:30")).Occurrences(end, end) {
		if o.Ran() && o.Due.Equal(end) {
			due++
		}
	}
	assert.Equal(t, 101, due)
}

func TestTheWeekdayNearestTheFirst(t *testing.T) {
	t.Parallel()
	r, err := cron.Parse("0 9 1W * *")
	require.NoError(t, err)
	s, err := recurrence.New(r, instant("2026-08-01"))
	require.NoError(t, err)
	next, _ := s.Next(instant("2026-08-01"))
	assert.Equal(t, instant("2026-08-03T09:00"), next, "1 August is a Saturday")
}

func TestRefusedInputs(t *testing.T) {
	t.Parallel()
	table := weekends(t)
	err := calendars.CheckUses([]calendars.Use{{Name: "a", Table: table}, {Name: "a", OnMatch: calendars.NextWorkingDay, Table: table}}, true)
	require.ErrorContains(t, err, "Calendars[1].Name")
	require.ErrorContains(t, err, "Calendars[1].OnMatch")
	err = calendars.CheckBlackouts([]calendars.Blackout{{Name: "b", OnMatch: calendars.NextAllowedDay, WeekDays: []time.Weekday{0}}}, false, true)
	require.ErrorContains(t, err, "Blackouts[0].OnMatch")
	require.ErrorContains(t, err, "Blackouts[0].TimeZone")
}
