package overview_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/kind"
	"almanac/job/listing"
	"almanac/recurrence/calendars"
	"almanac/scheduler/overview"
)

// A jobWithCalendar is one that runs at noon each day but where a calendar has a day off.
func jobWithCalendar(w *town) job.Key {
	k := w.add("c", "daily", nil)
	w.outline(k, job.Outline{
		Created: noon.Add(-48 * time.Hour), StartTime: job.NewTime(noon.Add(-time.Hour)), State: job.StateEnabled,
		Recurrence: &job.Recurrence{
			Frequency: "day", Interval: 1, Calendars: []job.CalendarUse{{Name: "SE", OnMatch: "nextWorkingDay"}},
		},
		Generation: 1, Type: kind.HTTPS, Host: "example.com",
	}, noon.Add(-time.Hour))
	return k
}

// off returns what reads a calendar with days off, beginning with the day after today.
func off(t *testing.T, days int) func(*job.Recurrence) ([]calendars.Use, error) {
	t.Helper()
	c := job.Calendar{WeekendDays: []string{}}
	for i := range days {
		c.Days = append(c.Days, job.NamedDay{Date: noon.AddDate(0, 0, i+1).Format(time.DateOnly)})
	}
	table, err := c.Table(1)
	require.NoError(t, err)
	return func(r *job.Recurrence) ([]calendars.Use, error) {
		policy, _ := r.Calendars[0].Policy()
		return []calendars.Use{{Name: "SE", OnMatch: policy, Table: table}}, nil
	}
}

func TestListsShowJobsWithCalendarsByThese(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	jobWithCalendar(w)
	w.uses = off(t, 2)
	v := w.overview(noon)
	one := func() listing.Summary {
		all := list(t, v, listing.SummaryQuery{Page: listing.Page{Top: 5}}, nil)
		require.Len(t, all, 1)
		return all[0]
	}
	three := noon.AddDate(0, 0, 3).Add(-time.Hour)
	require.Equal(t, three, one().Next)
	f := forecastOf(t, v, 100*time.Hour)
	require.Equal(t, 2, f.Due, "on the third day, and on the fourth")

	w.uses = off(t, 0)
	require.Equal(t, noon.AddDate(0, 0, 1).Add(-time.Hour), one().Next, "a changed calendar is taken up")

	w.uses = func(*job.Recurrence) ([]calendars.Use, error) { return nil, errors.New("it does not answer") }
	require.NotEmpty(t, one().Unread, "nothing goes by the bare rule")
	require.Equal(t, 1, forecastOf(t, v, 100*time.Hour).Unread)
}

func forecastOf(t *testing.T, v *overview.Overview, window time.Duration) listing.Forecast {
	t.Helper()
	f, err := v.ForecastAcross(t.Context(), everything, listing.ForecastQuery{From: noon, Until: noon.Add(window), Step: time.Hour})
	require.NoError(t, err)
	return f
}
