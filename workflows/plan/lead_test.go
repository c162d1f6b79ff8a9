package plan_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/activities"
	"almanac/job"
	"almanac/workflows/plan"
)

// A dispatch costs the server three writes, and a small one makes 350 a second.
func TestTheLeadsOfAHerdAreSpreadOverMinutes(t *testing.T) {
	t.Parallel()
	const herd = 10_000
	for _, tt := range []struct {
		name        string
		hold        time.Duration
		least, most time.Duration
	}{
		{"by default", activities.DefaultMaxHold, 40 * time.Second, 5 * time.Minute},
		{"however long workers hold", 10 * time.Minute, 40 * time.Second, 5 * time.Minute},
		{"over seconds if workers hold nothing for long", activities.NoHold, 15 * time.Second, activities.ShortHold},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			parts := make([]int, 10)
			for i := range herd {
				lead := plan.Shorten(plan.Lead(job.Key{Name: fmt.Sprint("job-", i)}), tt.hold)
				require.GreaterOrEqual(t, lead, tt.least)
				require.Less(t, lead, tt.most)
				parts[10*(lead-tt.least)/(tt.most-tt.least)]++
			}
			for _, n := range parts {
				require.InDelta(t, herd/10, n, herd/40, "%v", parts)
			}
		})
	}
}

func TestALeadThatWorkersHoldIsNotShortened(t *testing.T) {
	t.Parallel()
	require.Equal(t, 50*time.Second, plan.Shorten(50*time.Second, time.Minute))
	require.Equal(t, time.Minute, plan.Shorten(time.Minute, time.Minute))
	require.Equal(t, 25*time.Second, plan.Shorten(70*time.Second, time.Minute))
	require.Equal(t, 20*time.Second, plan.Shorten(20*time.Second, activities.NoHold), "it is short already")
}
