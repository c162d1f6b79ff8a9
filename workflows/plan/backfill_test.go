package plan_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/workflows/plan"
)

// The occurrences of a backfill are those that the timetable has one after another, however many are looked at together.
func TestABackfillOfAJobWithBlackoutsHasAllThatAreDue(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		frequency, onMatch string
		days               int
		total              int
	}{
		{"minute", "skip", 3, 3 * 16 * 60},
		{"minute", "runAtEnd", 3, 3 * 16 * 60},
		{"hour", "skip", 30, 30 * 16},
		{"day", "nextAllowedDay", 30, 30},
		{"minute", "skip", 30, job.MaxBackfill + 1},
	} {
		t.Run(fmt.Sprint(tt.frequency, " ", tt.onMatch, " ", tt.days), func(t *testing.T) {
			t.Parallel()
			r := asked(tt.frequency, day(1, 0))
			r.StartTime = job.NewTime(time.Date(2025, 1, 1, 9, 0, 0, 0, time.UTC))
			r.Blackouts = []job.Blackout{{Name: "night", OnMatch: tt.onMatch, From: "22:00", Until: "06:00"}}
			from := time.Date(2025, 6, 1, 6, 0, 0, 0, time.UTC)
			until := from.AddDate(0, 0, tt.days)
			q := plan.BackfillQuestion{After: from.Add(-time.Second), Until: until, Count: true}
			a, err := r.Backfill(q, new(plan.Calendars))
			require.NoError(t, err)
			require.Equal(t, tt.total, a.Total)
			all := 0
			for q.Count = false; ; q.After, q.Zone = a.Ahead[len(a.Ahead)-1].Due, a.Zone {
				a, err = r.Backfill(q, new(plan.Calendars))
				require.NoError(t, err)
				if len(a.Ahead) == 0 || all > job.MaxBackfill {
					break
				}
				for i, one := range a.Ahead {
					require.True(t, one.Due.After(q.After) && one.Due.Before(until))
					require.True(t, i == 0 || one.Due.After(a.Ahead[i-1].Due))
				}
				all += len(a.Ahead)
			}
			require.Equal(t, tt.total, min(all, job.MaxBackfill+1))
		})
	}
}
