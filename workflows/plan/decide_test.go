package plan

import (
	"fmt"
	"slices"
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

// Each Situation matches exactly one rule of the decision table.
func TestDecideFollowsTheDecisionTable(t *testing.T) {
	t.Parallel()
	const (
		buffer, skip, all = job.OverlapBufferOne, job.OverlapSkip, job.OverlapAllowAll
		anyPolicy         = job.OverlapPolicy("")
	)
	rules := []struct {
		name                                           string
		policy                                         job.OverlapPolicy
		draining, busy, caughtUp, cameDueBusy, another fact
		want                                           Decision
	}{
		{"nothing starts while the run drains", anyPolicy, yes, either, either, either, either, Wait},

		{"one that is caught up waits for the one before it", anyPolicy, no, yes, yes, either, either, Wait},
		{"one that is caught up runs, others behind it or not", anyPolicy, no, no, yes, either, either, Run},

		{"BufferOne waits for what runs", buffer, no, yes, no, either, either, Wait},
		{"BufferOne runs the first that came due meanwhile", buffer, no, no, no, yes, either, RunFirst},
		{"BufferOne runs one that is due", buffer, no, no, no, no, no, Run},
		{"BufferOne catches up several", buffer, no, no, no, no, yes, CatchUp},

		{"Skip decides when what runs has ended", skip, no, yes, no, either, either, Wait},
		{"Skip skips those that came due meanwhile", skip, no, no, no, yes, either, Skip},
		{"Skip runs one that is due", skip, no, no, no, no, no, Run},
		{"Skip catches up several", skip, no, no, no, no, yes, CatchUp},

		{"AllowAll runs one beside the other", all, no, yes, no, either, no, Run},
		{"AllowAll runs one that is due", all, no, no, no, either, no, Run},
		{"AllowAll catches up several, for nothing could run them", all, no, either, no, no, yes, CatchUp},
		{"AllowAll runs those that came due while others were caught up", all, no, either, no, yes, yes, Run},
	}
	used := map[string]bool{}
	for bits := range 1 << 5 {
		draining, busy, caughtUp, cameDueBusy, another := bits&1 > 0, bits&2 > 0, bits&4 > 0, bits&8 > 0, bits&16 > 0
		for _, policy := range []job.OverlapPolicy{buffer, skip, all} {
			s := Situation{Due: noon, Another: another, Busy: busy, Draining: draining, Overlap: policy}
			if caughtUp {
				s.CatchUp = noon // the last time that is caught up
			}
			if cameDueBusy {
				s.BusyUntil = noon
			}
			var found []string
			for _, r := range rules {
				if (r.policy == anyPolicy || r.policy == policy) && r.draining.allows(draining) && r.busy.allows(busy) &&
					r.caughtUp.allows(caughtUp) && r.cameDueBusy.allows(cameDueBusy) && r.another.allows(another) {
					found = append(found, r.name)
					require.Equal(t, r.want, Decide(s), "%s: %+v", r.name, s)
				}
			}
			require.Len(t, found, 1, "%+v", s)
			used[found[0]] = true
		}
	}
	require.Len(t, used, len(rules), "rules that hold for some situation")
}

func TestDecideComparesInstantsToTheSecond(t *testing.T) {
	t.Parallel()
	s := Situation{Due: noon, Overlap: job.OverlapSkip, BusyUntil: noon.Add(-time.Nanosecond)}
	require.Equal(t, Run, Decide(s), "the execution before it had ended")
	s.BusyUntil = noon
	require.Equal(t, Skip, Decide(s), "the execution before it ended in the same instant")

	s = Situation{Due: noon, Another: true, CatchUp: noon.Add(-time.Second)}
	require.Equal(t, CatchUp, Decide(s), "it came due after the last one that was caughtUp")
}

func TestAnOccurrenceIsMissedIfTheMaximumNumberIsRunning(t *testing.T) {
	t.Parallel()
	s := Situation{Due: noon, Busy: true, Crowded: true, Overlap: job.OverlapAllowAll}
	require.Equal(t, Miss, Decide(s))
	s.Another = true
	require.Equal(t, Miss, Decide(s), "each, as long as there are so many")
	s.Unknown = true
	require.Equal(t, Ask, Decide(s), "one that was not sent would leave a place")
	s.Draining = true
	require.Equal(t, Wait, Decide(s))
}

func TestOnlyAllowAllAsksWhetherTheOneBeforeWasSent(t *testing.T) {
	t.Parallel()
	for _, another := range []bool{false, true} {
		s := Situation{Due: noon, Busy: true, Unknown: true, Another: another, Overlap: job.OverlapAllowAll}
		require.Equal(t, Ask, Decide(s), "whether it came due while nothing could run it depends on that")
		s.Overlap = job.OverlapBufferOne
		require.Equal(t, Wait, Decide(s), "it waits for the end anyway")
	}
}

func TestADroppedListsOnlyTheNewestDueTimes(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, maxListed, maxListed + 1, 1000} {
		t.Run(fmt.Sprintf("of %d", n), func(t *testing.T) {
			t.Parallel()
			var d Dropped
			for i := range n {
				d.Add(noon.Add(time.Duration(i) * time.Minute))
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

func TestTheDueTimesThatADroppedDoesNotListAreSpreadOverTheTimeBefore(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, maxListed, maxListed + 1, 1000} {
		var d Dropped
		var want []time.Time
		for i := range n {
			want = append(want, noon.Add(time.Duration(i)*time.Minute))
			d.Add(want[i])
		}
		require.Equal(t, want, slices.Collect(d.All()))
	}
}
