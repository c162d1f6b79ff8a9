package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/lab/bench/systems"
	"almanac/lab/report"
)

func TestABreakingPointIsFoundByDoublingAndBisecting(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		breaks int // the smallest number that does not hold
		tried  []int
		found  string
	}{
		{"in between", 2300, []int{500, 1000, 2000, 4000, 3000, 2500, 2250},
			"It breaks between 2,250 and 2,500 jobs in one second."},
		{"below the first step", 300, []int{500, 250, 375, 312, 281},
			"It breaks between 281 and 312 jobs in one second."},
		{"beyond the last step", 5000, []int{500, 1000, 2000, 4000},
			"4,000 jobs in one second held at every tick; more were not tried."},
		{"at once", 1, []int{500, 250, 125, 62, 31, 15, 7, 3, 1}, "Even 1 job in one second did not hold."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := search{first: 500, most: 4000}
			var tried []int
			for n := s.next(); n > 0; n = s.next() {
				tried = append(tried, n)
				s.note(n, n < tt.breaks)
			}
			require.Equal(t, tt.tried, tried)
			require.Equal(t, tt.found, s.String())
		})
	}
}

func TestATickHoldsIfAllComeAndNearlyAllInTime(t *testing.T) {
	t.Parallel()
	tick := func(n, missing int, p99 time.Duration) systems.Tick {
		return systems.Tick{Lateness: report.Spread{N: n, P99: p99}, Missing: missing}
	}
	require.Empty(t, broken(tick(2000, 0, time.Second), 2000))
	require.Equal(t, "p99 1.2 s", broken(tick(2000, 0, 1200*time.Millisecond), 2000))
	require.Equal(t, "1,505 of 2,000 requests within 50 s", broken(tick(1505, 495, time.Minute), 2000))
}
