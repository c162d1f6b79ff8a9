package jobloop_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/workflows/plan"
)

// Of many days off in a row a plan says only of the first ones what is dropped.
func TestAJobOfMinutesGoesOnAfterFourDaysOff(t *testing.T) {
	t.Parallel()
	s := &shelf{off: []string{"2026-01-02", "2026-01-05"}}
	w := byCalendar(t, s, `"startTime":"2026-01-01T23:00:00Z",`+every(`"frequency":"minute"`), "skip")
	asked := 0
	w.calendars = func(ctx context.Context, r *plan.Request) (*plan.Calendars, error) {
		asked++
		return s.read(ctx, r)
	}
	w.run(5*dayLong + 30*time.Minute)
	require.Len(t, w.executions(), 60+31)
	require.Less(t, asked, 40)
	count := 0
	for _, d := range w.recorded.dropped {
		count += d.Count
	}
	require.Equal(t, 4*24*60, count)
	w.requireSound()
}
