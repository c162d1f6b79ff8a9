package timetable_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/timetable"
	"almanac/recurrence/calendars"
)

// swedish is a calendar with free weekends and these days off.
func swedish(t *testing.T, onMatch calendars.Policy, off ...string) []calendars.Use {
	t.Helper()
	c := job.Calendar{WeekendDays: []string{"saturday", "sunday"}}
	for _, day := range off {
		c.Days = append(c.Days, job.NamedDay{Date: day, Name: "off"})
	}
	table, err := c.Table(3)
	require.NoError(t, err)
	return []calendars.Use{{Name: "SE", OnMatch: onMatch, Table: table}}
}

func some(p *timetable.Timetable, n int) (all []string) {
	for due := range p.All() {
		if len(all) == n {
			break
		}
		all = append(all, due.Format("01-02T15:04"))
	}
	return all
}

// The jobs are created on Saturday, 10 January 2026, at 12:00.
func TestATimetableByCalendarsHasTheOccurrencesThatRunWhenTheyAreDue(t *testing.T) {
	t.Parallel()
	const daily, monthly = `{"frequency":"day"}`, `{"frequency":"month"}`
	for _, tt := range []struct {
		name, start, recurrence string
		onMatch                 calendars.Policy
		off                     []string
		want                    []string
	}{
		{"weekends are skipped", "2026-01-01T09:00", daily, calendars.Skip, []string{"2026-01-13"}, []string{"01-12T09:00", "01-14T09:00", "01-15T09:00"}},
		{"or are all there is", "2026-01-01T09:00", daily, calendars.Only, nil, []string{"01-11T09:00", "01-17T09:00", "01-18T09:00"}},
		{"a run moves on", "2026-01-31T09:00", monthly, calendars.NextWorkingDay, nil, []string{"02-02T09:00", "03-02T09:00", "03-31T09:00"}},
		{"and back", "2026-01-31T09:00", monthly, calendars.PreviousWorkingDay, nil, []string{"01-30T09:00", "02-27T09:00", "03-31T09:00"}},
		{"the run at once, too", "", daily, calendars.Skip, nil, []string{"01-12T12:00", "01-13T12:00", "01-14T12:00"}},
		{"the end is one of nominal times", "2026-01-31T09:00", `{"frequency":"month","endTime":"2026-01-31T12:00"}`, calendars.NextWorkingDay, nil, []string{"02-02T09:00"}},
		{"what is skipped uses up no count", "2026-01-10T09:00", `{"frequency":"day","count":2}`, calendars.Skip, nil, []string{"01-12T09:00", "01-13T09:00"}},
		{"nothing moves into the past", "2026-01-11T09:00", `{"frequency":"week","count":1}`, calendars.PreviousWorkingDay, nil, []string{"01-12T09:00"}},
	} {
		p := compiled(t, tt.start, tt.recurrence).By(swedish(t, tt.onMatch, tt.off...), created, nil)
		require.Equal(t, tt.want, some(p, 3), tt.name)
	}
}

func TestATimetableByCalendarsIsAskedFromAnyTime(t *testing.T) {
	t.Parallel()
	p := compiled(t, "2026-01-31T09:00", `{"frequency":"month"}`).By(swedish(t, calendars.PreviousWorkingDay), created, nil)
	at := func(text string) time.Time {
		parsed, err := time.Parse(time.RFC3339, text)
		require.NoError(t, err)
		return parsed
	}
	for _, tt := range []struct {
		name, at, want string
		ask            func(time.Time) (time.Time, bool)
	}{
		{"after", "2026-01-30T09:00:00Z", "2026-02-27T09:00:00Z", p.After},
		{"just before", "2026-01-30T08:59:59Z", "2026-01-30T09:00:00Z", p.After},
		{"from", "2026-01-30T09:00:00Z", "2026-01-30T09:00:00Z", p.From},
		{"last", "2026-03-01T00:00:00Z", "2026-02-27T09:00:00Z", p.Last},
		{"long ago", "2026-06-29T00:00:00Z", "2026-05-29T09:00:00Z", p.Last},
		{"none", "2026-01-30T08:59:59Z", "", p.Last},
		{"skipped by its nominal time", "2026-01-10T12:00:00Z", "2026-02-27T09:00:00Z", p.Without([]time.Time{at("2026-01-31T09:00:00Z")}).After},
		{"which is not its due time", "2026-01-10T12:00:00Z", "2026-01-30T09:00:00Z", p.Without([]time.Time{at("2026-01-30T09:00:00Z")}).After},
		{"or by a window", "2026-01-10T12:00:00Z", "2026-03-31T09:00:00Z",
			p.Without(nil, job.SkipWindow{From: at("2026-01-31T00:00:00Z"), Until: at("2026-03-01T00:00:00Z")}).After},
		{"and listed when it is due", "2026-01-10T12:00:00Z", "2026-01-30T09:00:00Z", p.Without([]time.Time{at("2026-01-31T09:00:00Z")}).SkippedAfter},
		{"last that is not skipped", "2026-03-01T00:00:00Z", "2026-01-30T09:00:00Z", p.Without([]time.Time{at("2026-02-28T09:00:00Z")}).Last},
	} {
		got, ok := tt.ask(at(tt.at))
		require.Equal(t, tt.want != "", ok, tt.name)
		if ok {
			require.Equal(t, tt.want, got.Format(time.RFC3339), tt.name)
		}
	}
	require.Equal(t, at("2026-01-31T09:00:00Z"), p.NominalOf(at("2026-01-30T09:00:00Z")))
	all := p.Occurrences(at("2026-01-10T12:00:00Z"), at("2026-02-01T00:00:00Z"))
	require.Len(t, all, 1)
	require.Equal(t, calendars.Objection{Name: "SE", Version: 3, Day: "Saturday"}, all[0].Objection)
}

func TestAChangedCalendarLosesNothingAndFiresNothing(t *testing.T) {
	t.Parallel()
	monday, noon := time.Date(2026, 1, 12, 9, 0, 0, 0, time.UTC), time.Date(2026, 1, 12, 12, 0, 0, 0, time.UTC)
	bare := compiled(t, "2026-01-01T09:00", `{"frequency":"day"}`)
	p := bare.By(swedish(t, calendars.NextWorkingDay), created, nil)
	first, _ := p.First()
	require.Equal(t, monday, first)
	changed := bare.By(swedish(t, calendars.NextWorkingDay, "2026-01-12", "2026-01-13"), noon, p.Memory(noon))
	next, ok := changed.After(noon)
	require.True(t, ok)
	require.Equal(t, "2026-01-14T09:00:00Z", next.Format(time.RFC3339), "Monday's run was, and is not made again")
	before := monday.Add(-24 * time.Hour)
	changed = bare.By(swedish(t, calendars.NextWorkingDay, "2026-01-12", "2026-01-13"), before, p.Memory(before))
	next, _ = changed.After(before)
	require.Equal(t, "2026-01-14T09:00:00Z", next.Format(time.RFC3339), "and Monday's moves with it, if it was not")
}
