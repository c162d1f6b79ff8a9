package timetable_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/timetable"
)

func TestAJobWithCalendarsHasNoTimetableWithoutThem(t *testing.T) {
	t.Parallel()
	d := job.Definition{Recurrence: &job.Recurrence{Frequency: "day", Interval: 1, Calendars: []job.CalendarUse{{Name: "SE"}}}}
	_, err := timetable.Of(&d, created)
	require.ErrorIs(t, err, timetable.ErrCalendars)
	_, err = timetable.New(&d, created, created)
	require.ErrorIs(t, err, timetable.ErrCalendars)
}

// The job is created on Saturday, 10 January 2026, at 12:00.
func TestWorkingDaysAreCountedByTheCalendars(t *testing.T) {
	t.Parallel()
	kept := []job.KeptCalendar{{Version: 3, Calendar: job.Calendar{
		WeekendDays: []string{"saturday", "sunday"}, Days: []job.NamedDay{{Date: "2026-01-13"}, {Date: "2026-01-30"}},
	}}}
	for _, tt := range []struct {
		name, recurrence string
		want             []string
	}{
		{"the last one", `{"schedule":{"workingDays":[-1],"hours":[9],"minutes":[0]}}`, []string{"01-29T09:00", "02-27T09:00", "03-31T09:00"}},
		{"whatever the day of the start is", `{"schedule":{"workingDays":[1]}}`, []string{"02-02T12:00", "03-02T12:00", "04-01T12:00"}},
		{"beside other days", `{"schedule":{"workingDays":[1],"monthDays":[1]}}`, []string{"04-01T12:00", "05-01T12:00", "06-01T12:00"}},
		{"of a further rule", `{"schedule":{"workingDays":[-1]},"also":[{"frequency":"month","schedule":{"workingDays":[1]}}]}`, []string{"01-29T12:00", "02-02T12:00", "02-27T12:00"}},
	} {
		r := job.Recurrence{Frequency: "month", Interval: 1, Calendars: []job.CalendarUse{{Name: "SE"}}}
		require.NoError(t, json.Unmarshal([]byte(tt.recurrence), &r))
		uses, err := r.Uses(kept)
		require.NoError(t, err)
		d := job.Definition{StartTime: job.NewTime(created), Recurrence: &r}
		p, err := timetable.NominalTimes(&d, created, uses)
		require.NoError(t, err)
		require.Equal(t, tt.want, some(p.By(uses, created, nil), 3), tt.name)
	}
}
