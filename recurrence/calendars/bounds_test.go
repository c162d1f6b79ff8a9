package calendars_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/recurrence"
	"almanac/recurrence/calendars"
)

// minutely returns a series of minutes.
func minutely(t testing.TB, anchor time.Time) *recurrence.Series {
	t.Helper()
	s, err := recurrence.New(recurrence.Rule{Frequency: recurrence.Minute}, anchor)
	require.NoError(t, err)
	series, err := recurrence.NewSeries(anchor, nil, s)
	require.NoError(t, err)
	return series
}

func on(year int, month time.Month, d int) *calendars.Date {
	return new(calendars.DateOf(year, month, d))
}

// The figures are counts of allocations: one for each occurrence that is looked at, at least.
func TestABlackoutIsPassedAtOnceAndNotMinuteByMinute(t *testing.T) { //nolint:paralleltest // AllocsPerRun must not run beside others
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	series := minutely(t, start)
	every := []time.Weekday{0, 1, 2, 3, 4, 5, 6}
	for _, tt := range []struct {
		name  string
		out   []calendars.Blackout
		next  string
		never bool
	}{
		{name: "two months", out: []calendars.Blackout{{First: on(2026, 1, 1), Last: on(2026, 2, 28)}}, next: "2026-03-01T00:00:00Z"},
		{name: "until the end of time", out: []calendars.Blackout{{First: on(2026, 1, 1), Last: on(9999, 12, 31)}}, never: true},
		{name: "every day", out: []calendars.Blackout{{WeekDays: every}}, never: true},
		{name: "two months, at their end", out: []calendars.Blackout{{First: on(2026, 1, 1), Last: on(2026, 2, 28), OnMatch: calendars.RunAtEnd}}, next: "2026-03-01T00:00:00Z"},
	} {
		p := calendars.NewPlan(calendars.Input{Series: series, Blackouts: tt.out}, start)
		var next calendars.Occurrence
		var ok bool
		allocated := testing.AllocsPerRun(1, func() { next, ok = p.Next(start) })
		require.Equal(t, !tt.never, ok, tt.name)
		require.Less(t, allocated, 400_000.0, tt.name)
		if ok {
			require.Equal(t, tt.next, next.Due.Format(time.RFC3339), tt.name)
		}
	}
}

func TestARuleOfMinutesThatACalendarOnlySkipsLooksAtNoMonthsOfMinutes(t *testing.T) { //nolint:paralleltest // AllocsPerRun must not run beside others
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	table, err := calendars.NewTable(calendars.Calendar{WeekendDays: []time.Weekday{time.Saturday, time.Sunday}})
	require.NoError(t, err)
	in := calendars.Input{Series: minutely(t, start), Calendars: []calendars.Use{{Name: "SE", Table: table}}}
	p := calendars.NewPlan(in, start)
	changed := p.Change(in, time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))
	for _, plan := range []*calendars.Plan{p, changed} {
		friday := time.Date(2026, 1, 2, 23, 59, 0, 0, time.UTC)
		require.Less(t, testing.AllocsPerRun(1, func() {
			_, due, ok := plan.Due(friday)
			require.True(t, ok)
			require.Equal(t, "2026-01-05T00:00:00Z", due.Format(time.RFC3339))
		}), 100.0)
	}
	_, due, ok := changed.Due(time.Date(2026, 1, 2, 11, 0, 0, 0, time.UTC))
	require.True(t, ok)
	require.Equal(t, "2026-01-02T12:01:00Z", due.Format(time.RFC3339), "what is due at the change was decided")
}

func TestUsesAndBlackoutsThatMeanTwoThingsAreRefused(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, calendars.CheckUses([]calendars.Use{{Name: "SE"}, {Name: "se"}}, false), "Calendars[1].Name")
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for field, b := range map[string]calendars.Blackout{
		"Blackouts[0].From":  {End: at},
		"Blackouts[0].Until": {Start: at, End: at},
		"times of day":       {Start: at, End: at.Add(time.Hour), WeekDays: []time.Weekday{1}},
	} {
		require.ErrorContains(t, calendars.CheckBlackouts([]calendars.Blackout{b}, false, false), field)
	}
	require.NoError(t, calendars.CheckBlackouts([]calendars.Blackout{{Start: at, End: at.Add(time.Hour)}}, false, false))
}

func TestAMemoryIsAsLongAsWhatIsMovedPastItsTime(t *testing.T) {
	t.Parallel()
	monthly := rule(t, recurrence.Rule{Frequency: recurrence.Week, WeekDays: []time.Weekday{time.Saturday, time.Monday, time.Wednesday}})
	in := calendars.Input{Series: monthly, Calendars: []calendars.Use{{Name: "SE", OnMatch: calendars.PreviousWorkingDay, Table: weekends(t, "2026-01-19")}}}
	p := calendars.NewPlan(in, instant("2026-01-01T09:00"))
	m := p.Memory(instant("2026-01-16T12:00")) // a Friday; Saturday's run was due on it, and Monday is a holiday
	require.Equal(t, calendars.Memory{Until: instant("2026-01-16T12:00"), Early: []calendars.Identity{
		{Nominal: instant("2026-01-17T09:00")},
	}}, m, "Monday's would have been due then, too, but it is decided when it is nominally due, since it is skipped")
	require.Empty(t, p.Memory(instant("2026-01-14T12:00")).Early)

	in.Calendars[0].OnMatch = calendars.NextWorkingDay
	p = calendars.NewPlan(in, instant("2026-01-01T09:00"))
	require.Equal(t, []calendars.Identity{{Nominal: instant("2026-01-19T09:00")}}, p.Memory(instant("2026-01-19T12:00")).Late)
	plain := in
	plain.Calendars = nil
	require.Equal(t, "19T09:00>20T09:00 21T09:00>21T09:00", told(calendars.Continue(plain, instant("2026-01-19T12:00"),
		p.Memory(instant("2026-01-19T12:00"))).Occurrences(instant("2026-01-19T12:00"), instant("2026-01-22T00:00"))), "it is not lost")
}
