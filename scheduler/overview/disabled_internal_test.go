package overview

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/timetable"
)

func TestAListKnowsWhetherSomethingCameDueSinceAJobWasDisabled(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	d := job.Definition{StartTime: job.NewTime(start), Recurrence: &job.Recurrence{Frequency: "hour", Interval: 1}}
	hourly, err := timetable.Of(&d, start)
	require.NoError(t, err)
	for after, want := range map[time.Duration]bool{59 * time.Minute: false, time.Hour: true} {
		o := &outline{timetable: hourly, Outline: job.Outline{DisabledBy: &job.Disabling{At: start.Add(time.Second)}}}
		require.Equal(t, want, o.dueSinceDisabled(job.StateDisabled, start.Add(after)))
		require.False(t, o.dueSinceDisabled(job.StateEnabled, start.Add(after)))
		o.DisabledBy = nil
		require.True(t, o.dueSinceDisabled(job.StateDisabled, start.Add(after)), "when it was disabled is not known")
	}
}
