package workflows

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// A fact is true, false or, in a rule of the decision table, either.
type fact int

const (
	either fact = iota
	yes
	no
)

func (f fact) allows(b bool) bool { return f == either || b == (f == yes) }

// Each decisionInput matches exactly one rule of the decision table.
func TestJudgeFollowsTheDecisionTable(t *testing.T) {
	t.Parallel()
	const (
		buffer, skip, all = job.OverlapBufferOne, job.OverlapSkip, job.OverlapAllowAll
		anyPolicy         = job.OverlapPolicy("")
	)
	rules := []struct {
		name                                           string
		policy                                         job.OverlapPolicy
		draining, busy, admitted, cameDueBusy, another fact
		want                                           decision
	}{
		{"nothing starts while the run drains", anyPolicy, yes, either, either, either, either, decisionWait},

		{"one that is caught up waits for the one before it", anyPolicy, no, yes, yes, either, either, decisionWait},
		{"one that is caught up runs, others behind it or not", anyPolicy, no, no, yes, either, either, decisionRun},

		{"BufferOne waits for what runs", buffer, no, yes, no, either, either, decisionWait},
		{"BufferOne runs the first that came due meanwhile", buffer, no, no, no, yes, either, decisionRunFirst},
		{"BufferOne runs one that is due", buffer, no, no, no, no, no, decisionRun},
		{"BufferOne catches up several", buffer, no, no, no, no, yes, decisionCatchUp},

		{"Skip decides when what runs has ended", skip, no, yes, no, either, either, decisionWait},
		{"Skip skips those that came due meanwhile", skip, no, no, no, yes, either, decisionSkip},
		{"Skip runs one that is due", skip, no, no, no, no, no, decisionRun},
		{"Skip catches up several", skip, no, no, no, no, yes, decisionCatchUp},

		{"AllowAll runs one beside the other", all, no, yes, no, either, no, decisionRun},
		{"AllowAll runs one that is due", all, no, no, no, either, no, decisionRun},
		{"AllowAll catches up several, for nothing could run them", all, no, either, no, either, yes, decisionCatchUp},
	}
	used := map[string]bool{}
	for bits := range 1 << 5 {
		draining, busy, admitted, cameDueBusy, another := bits&1 > 0, bits&2 > 0, bits&4 > 0, bits&8 > 0, bits&16 > 0
		for _, policy := range []job.OverlapPolicy{buffer, skip, all} {
			s := decisionInput{Due: noon, Another: another, Busy: busy, Draining: draining, Overlap: policy}
			if admitted {
				s.CatchUp = noon // the last time that is caught up
			}
			if cameDueBusy {
				s.BusyUntil = noon
			}
			var found []string
			for _, r := range rules {
				if (r.policy == anyPolicy || r.policy == policy) && r.draining.allows(draining) && r.busy.allows(busy) &&
					r.admitted.allows(admitted) && r.cameDueBusy.allows(cameDueBusy) && r.another.allows(another) {
					found = append(found, r.name)
					require.Equal(t, r.want, decide(s), "%s: %+v", r.name, s)
				}
			}
			require.Len(t, found, 1, "%+v", s)
			used[found[0]] = true
		}
	}
	require.Len(t, used, len(rules), "rules that hold for some situation")
}

func TestJudgeComparesInstantsToTheSecond(t *testing.T) {
	t.Parallel()
	s := decisionInput{Due: noon, Overlap: job.OverlapSkip, BusyUntil: noon.Add(-time.Nanosecond)}
	require.Equal(t, decisionRun, decide(s), "the execution before it had ended")
	s.BusyUntil = noon
	require.Equal(t, decisionSkip, decide(s), "the execution before it ended in the same instant")

	s = decisionInput{Due: noon, Another: true, CatchUp: noon.Add(-time.Second)}
	require.Equal(t, decisionCatchUp, decide(s), "it came due after the last one that was admitted")
}

func TestAnOccurrenceIsMissedWhereAsManyAreUnderWayAsMayBe(t *testing.T) {
	t.Parallel()
	s := decisionInput{Due: noon, Busy: true, Crowded: true, Overlap: job.OverlapAllowAll}
	require.Equal(t, decisionMiss, decide(s))
	s.Another = true
	require.Equal(t, decisionMiss, decide(s), "each, as long as there are so many")
	s.Unknown = true
	require.Equal(t, decisionAsk, decide(s), "one that was not sent would leave a place")
	s.Draining = true
	require.Equal(t, decisionWait, decide(s))
}

func TestOnlyAllowAllAsksWhetherTheOneBeforeWasSent(t *testing.T) {
	t.Parallel()
	for _, another := range []bool{false, true} {
		s := decisionInput{Due: noon, Busy: true, Unknown: true, Another: another, Overlap: job.OverlapAllowAll}
		require.Equal(t, decisionAsk, decide(s), "whether it came due while nothing could run it depends on that")
		s.Overlap = job.OverlapBufferOne
		require.Equal(t, decisionWait, decide(s), "it waits for the end anyway")
	}
}

func TestFinalState(t *testing.T) {
	t.Parallel()
	require.Equal(t, job.StateFaulted, finalState(true))
	require.Equal(t, job.StateCompleted, finalState(false))
}

func TestADroppedStretchListsTheNewestOnly(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, maxListed, maxListed + 1, 1000} {
		t.Run(fmt.Sprintf("of %d", n), func(t *testing.T) {
			t.Parallel()
			var d Dropped
			for i := range n {
				d.add(noon.Add(time.Duration(i) * time.Minute))
			}
			last := noon.Add(time.Duration(n-1) * time.Minute)
			require.Equal(t, n, d.Count)
			require.Equal(t, noon, d.First)
			require.Equal(t, last, d.Last)
			require.Len(t, d.Newest, min(n, maxListed))
			require.Equal(t, last, d.Newest[len(d.Newest)-1])
			require.Equal(t, last.Add(-time.Duration(len(d.Newest)-1)*time.Minute), d.Newest[0])
		})
	}
}
