package plan_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/workflows/plan"
)

// A pause was to end at 6:00, nothing ran until 7:00, and what it held ran until 7:10.
func TestWhatCameDueAroundARecovery(t *testing.T) {
	t.Parallel()
	at := func(hour, minute int) time.Time { return time.Date(2026, 1, 1, hour, minute, 0, 0, time.UTC) }
	decide := func(due time.Time, policy job.OverlapPolicy, change func(*plan.Situation)) plan.Decision {
		s := plan.Situation{Due: due, Another: true, Overlap: policy, BusyUntil: at(7, 10), Down: at(7, 0), Recovered: at(7, 10)}
		change(&s)
		return plan.Decide(s)
	}
	same := func(*plan.Situation) {}
	for _, policy := range []job.OverlapPolicy{job.OverlapBufferOne, job.OverlapSkip, job.OverlapAllowAll} {
		require.Equal(t, plan.CatchUp, decide(at(6, 0), policy, same), "it came due while nothing could run it: %s", policy)
		require.Equal(t, plan.Run, decide(at(6, 0), policy, func(s *plan.Situation) { s.Another = false }))
		require.Equal(t, plan.Wait, decide(at(6, 0), policy, func(s *plan.Situation) { s.Behind = true }))
		want := plan.RunFirst
		if policy == job.OverlapAllowAll {
			want = plan.Run
		}
		require.Equal(t, want, decide(at(7, 5), policy, same), "it waited behind those that were held: %s", policy)
		recovers := func(change func(*plan.Situation)) plan.Decision {
			return decide(at(5, 0), policy, func(s *plan.Situation) { s.Recovers = true; change(s) })
		}
		require.Equal(t, plan.Run, recovers(same))
		require.Equal(t, plan.Wait, recovers(func(s *plan.Situation) { s.Full = true }))
		require.Equal(t, policy == job.OverlapAllowAll, recovers(func(s *plan.Situation) { s.Beside = true }) == plan.Run)
	}
}
