package preview_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/preview"
	"almanac/recurrence/calendars"
)

func TestTheUsageOfACalendarIsWhatItMovesAndSkips(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC) // a Thursday
	j := &job.Job{Created: now, Key: job.CollectionKey{Subscription: "s", ResourceGroup: "g", Name: "c"}.Job("j")}
	of := func(frequency, onMatch string, weekends ...string) preview.Usage {
		t.Helper()
		j.Definition = job.Definition{
			State: job.StateEnabled, StartTime: job.NewTime(now.Add(time.Hour)),
			Recurrence: &job.Recurrence{Frequency: frequency, Interval: 1, Calendars: []job.CalendarUse{{Name: "se", OnMatch: onMatch}, {Name: "other"}}},
		}
		var uses []calendars.Use
		for _, c := range []job.Calendar{{WeekendDays: weekends}, {WeekendDays: []string{}, Days: []job.NamedDay{{Date: "2026-01-02"}}}} {
			table, err := c.Table(3)
			require.NoError(t, err)
			policy, _ := calendars.ParsePolicy(onMatch)
			uses = append(uses, calendars.Use{Name: map[int]string{0: "se", 1: "other"}[len(uses)], OnMatch: policy, Table: table})
		}
		u, err := preview.UsageOf(j, uses, "SE", now)
		require.NoError(t, err)
		return u
	}
	u := of("day", "skip", "saturday")
	require.Equal(t, "skip", u.OnMatch)
	require.Len(t, u.Adjustments, 13, "the Saturdays of 90 days, and no day of the other calendar")
	require.Equal(t, now.AddDate(0, 0, 90), u.Until)
	u = of("week", "nextWorkingDay", "thursday")
	require.Len(t, u.Adjustments, 13)
	require.Equal(t, time.Date(2026, 1, 3, 13, 0, 0, 0, time.UTC), u.Adjustments[0].Due, "Friday is off in the other one")
	u = of("day", "only", "saturday")
	require.Less(t, len(u.Adjustments), 101)
	require.True(t, u.Until.Before(now.AddDate(0, 0, 91)))
	j.CollectionDisabled = true
	require.Empty(t, of("day", "skip", "saturday").Adjustments)
}

func TestTheUsageOfAJobEndsWithItsCountWhateverBlackoutsLeaveOut(t *testing.T) {
	t.Parallel()
	friday := time.Date(2026, 11, 27, 23, 58, 0, 0, time.UTC)
	table, err := new(job.Calendar{WeekendDays: []string{"saturday", "sunday"}}).Table(1)
	require.NoError(t, err)
	for count, weekends := range map[int]int{
		2:      0, // 23:58 and 23:59
		3:      1, // and Monday 00:00
		20_000: 2, // 20,000 minutes are looked at, which are less than 14 days
	} {
		j := &job.Job{Created: friday, Key: job.CollectionKey{Subscription: "s", ResourceGroup: "g", Name: "c"}.Job("j")}
		j.Definition = job.Definition{
			State: job.StateEnabled, StartTime: job.NewTime(friday),
			Recurrence: &job.Recurrence{Frequency: "minute", Interval: 1, Count: count, Calendars: []job.CalendarUse{{Name: "se"}}},
			Blackouts:  []job.Blackout{{Name: "night", From: "02:00", Until: "04:00", OnMatch: "skip"}},
		}
		u, err := preview.UsageOf(j, []calendars.Use{{Name: "se", OnMatch: calendars.Skip, Table: table}}, "se", friday)
		require.NoError(t, err)
		require.Len(t, u.Adjustments, 2*weekends, "a count of %d", count)
	}
}
