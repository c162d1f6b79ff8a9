package job_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
)

func TestTheStatusOfACalendarSaysThatItsHorizonIsNear(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 1, 23, 59, 0, 0, time.UTC)
	for until, want := range map[string]*job.CalendarStatus{
		"":           nil,
		"2027-03-02": nil,
		"2027-03-01": {DaysLeft: 90, Reason: "The days off are known until 2027-03-01, in 90 days. Behind that date the calendar applies as it is."},
		"2026-12-02": {DaysLeft: 1, Reason: "The days off are known until 2026-12-02, which is tomorrow. Behind that date the calendar applies as it is."},
		"2026-12-01": {DaysLeft: 0, Reason: "The days off are known until 2026-12-01, which is today. Behind that date the calendar applies as it is."},
		"2026-11-30": {DaysLeft: -1, Reason: "The days off are known until 2026-11-30, which was yesterday. Behind that date the calendar applies as it is."},
		"2025-12-01": {DaysLeft: -365, Reason: "The days off are known until 2025-12-01, which was 365 days ago. Behind that date the calendar applies as it is."},
	} {
		c := job.Calendar{CompleteUntil: until}
		require.Equal(t, want, c.Status(now), until)
	}
	require.Equal(t, "The days of calendar 'SE' of the subscription, which 2 jobs use, are known until 2026-12-31, in 30 days",
		job.SubscriptionScope("s").Calendar("SE").HorizonText("2026-12-31", 30, 2))
}
