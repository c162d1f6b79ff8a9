package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/internal/workflowtest"
	"almanac/job"
)

// eachMinute is a request of a job that is due each minute from noon on.
func eachMinute() *Request {
	return &Request{Created: noon, Step: StepAfter, From: noon, Recurrence: &job.Recurrence{Frequency: "minute", Interval: 1}}
}

func ask(t *testing.T, r *Request, q SkipQuestion) SkipAnswer {
	t.Helper()
	q.After = r.From
	a, err := r.Skip(q, nil)
	require.NoError(t, err)
	return a
}

func minutes(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }

func TestSkippedOccurrencesThatCameDueInAnOutageAreRecordedTogether(t *testing.T) {
	t.Parallel()
	const outage = 30 * 24 * 60
	r := eachMinute()
	r.SkipWindows = []job.SkipWindow{{From: minutes(10), Until: minutes(2 * outage)}}
	r.Step, r.From, r.SkipsNoted, r.Until = StepSkipped, minutes(9), noon, minutes(outage)
	var counts []int
	for {
		p, err := r.Answer()
		require.NoError(t, err)
		require.Equal(t, minutes(2*outage), p.Due[0], "nothing else is decided")
		counts = append(counts, p.Dropped.Count)
		require.Len(t, p.Dropped.Newest, maxListed)
		require.Len(t, p.Skipped, maxSkipped)
		require.Equal(t, p.Dropped.Last.Add(time.Minute), p.Skipped[0])
		if r.SkipsNoted = p.Dropped.Last; p.Skipped[0].After(r.Until) {
			break
		}
	}
	require.Equal(t, []int{maxSweep, maxSweep, outage - 9 - 2*maxSweep}, counts)
}

func TestUnskippingLeavesNoTimeInWhichNothingIsSkipped(t *testing.T) {
	t.Parallel()
	r := eachMinute()
	r.SkipWindows = []job.SkipWindow{{From: minutes(1), Until: minutes(24 * 60)}}
	next := ask(t, r, SkipQuestion{Undo: true, SkipRequest: job.SkipRequest{Next: 100}})
	require.Equal(t, []job.SkipWindow{{From: minutes(100).Add(time.Second), Until: minutes(24 * 60)}}, next.Windows)
	one := ask(t, r, SkipQuestion{Undo: true, SkipRequest: job.SkipRequest{Due: minutes(10)}})
	require.Equal(t, []job.SkipWindow{{From: minutes(1), Until: minutes(10)}, {From: minutes(10).Add(time.Second), Until: minutes(24 * 60)}}, one.Windows)
	many := ask(t, r, SkipQuestion{SkipRequest: job.SkipRequest{Next: 1_000_000_000}})
	require.Len(t, many.Skips, job.MaxSkips)
}

func TestAWindowThatIsSkippedHasWhatItOverlaps(t *testing.T) {
	t.Parallel()
	r := eachMinute()
	r.Skips = []time.Time{minutes(5), minutes(90)}
	r.SkipWindows = []job.SkipWindow{{From: minutes(10), Until: minutes(20)}}
	a := ask(t, r, SkipQuestion{SkipRequest: job.SkipRequest{From: minutes(15).Add(time.Millisecond), Until: minutes(95)}})
	require.Equal(t, []time.Time{minutes(5)}, a.Skips)
	require.Equal(t, []job.SkipWindow{{From: minutes(10), Until: minutes(95)}}, a.Windows)
	require.Equal(t, minutes(20), a.Occurrences[0])
	again := ask(t, r, SkipQuestion{SkipRequest: job.SkipRequest{From: minutes(12), Until: minutes(20)}})
	require.False(t, again.Changed || again.Refused, "it is so already")

	r.SkipWindows, r.Skips = nil, []time.Time{minutes(1), minutes(2)}
	kept := ask(t, r, SkipQuestion{SkipRequest: job.SkipRequest{From: minutes(1), Until: minutes(3)}})
	require.Equal(t, SkipAnswer{Skips: []time.Time{}, Windows: []job.SkipWindow{{From: minutes(1), Until: minutes(3)}}, Changed: true}, kept,
		"it is kept as one, although nothing else is skipped by it")
}

func TestTheNearestOccurrenceIsToCome(t *testing.T) {
	t.Parallel()
	r := eachMinute()
	r.Recurrence.EndTime = job.NewTime(minutes(3))
	r.From = minutes(2)
	require.Equal(t, SkipAnswer{Refused: true, Nearest: minutes(3)}, ask(t, r, SkipQuestion{SkipRequest: job.SkipRequest{Due: minutes(2)}}))
	r.From = minutes(3)
	require.Equal(t, SkipAnswer{Refused: true}, ask(t, r, SkipQuestion{}), "none is left")

	r = eachMinute()
	r.Skips, r.SkipWindows = []time.Time{minutes(30)}, []job.SkipWindow{{From: minutes(10), Until: minutes(20)}}
	for due, nearest := range map[int]int{1: 10, 22: 19, 26: 30, 99: 30} {
		a := ask(t, r, SkipQuestion{Undo: true, SkipRequest: job.SkipRequest{Due: minutes(due).Add(30 * time.Second)}})
		require.Equal(t, minutes(nearest), a.Nearest, "%d", due)
	}
}

// A schedule may have changed since.
func TestWhatIsListedAsSkippedCanBeUnskippedAlthoughItIsNoOccurrence(t *testing.T) {
	t.Parallel()
	r := eachMinute()
	stale := minutes(5).Add(30 * time.Second)
	r.Skips, r.SkipWindows = []time.Time{stale}, []job.SkipWindow{{From: stale.Add(time.Second), Until: stale.Add(10 * time.Second)}}
	one := ask(t, r, SkipQuestion{Undo: true, SkipRequest: job.SkipRequest{Due: stale}})
	require.True(t, one.Changed)
	require.Empty(t, one.Skips)
	window := ask(t, r, SkipQuestion{Undo: true, SkipRequest: job.SkipRequest{From: minutes(5), Until: minutes(6)}})
	require.True(t, window.Changed)
	require.Empty(t, window.Windows)
}

func TestASkippedTimeMovesWithTheTimeZone(t *testing.T) {
	const zone = "America/Vancouver"
	r := Request{
		Created: noon, Step: StepAfter, From: noon,
		Recurrence:  &job.Recurrence{Frequency: "day", Interval: 1, TimeZone: zone, Schedule: &job.Schedule{Hours: []int{0}, Minutes: []int{0}}},
		SkipWindows: []job.SkipWindow{{From: at(t, "01-03 08:00:00"), Until: at(t, "01-05 08:00:00")}}, // midnight there
	}
	workflowtest.UseZones(t, "2026a", map[string]string{zone: "PST8"})
	first, err := r.Answer()
	require.NoError(t, err)
	require.Equal(t, []string{"01-03 08:00:00", "01-04 08:00:00"}, shown(first.Skipped)[:2])
	r.Zone = first.Zone

	workflowtest.UseZones(t, "2026b", map[string]string{zone: "MST7"})
	require.Equal(t, SkipAnswer{Replan: true}, ask(t, &r, SkipQuestion{}), "it is planned first")
	newer, err := r.Answer()
	require.NoError(t, err)
	require.Equal(t, []string{"01-03 07:00:00", "01-04 07:00:00"}, shown(newer.Skipped))
	require.Equal(t, []string{"01-02 07:00:00", "01-05 07:00:00"}, shown(newer.Due)[:2])

	r.Zone = newer.Zone
	workflowtest.UseZones(t, "2026a", map[string]string{zone: "PST8"})
	require.Equal(t, SkipAnswer{Behind: "2026a"}, ask(t, &r, SkipQuestion{}))
}

// The most that a job has skipped, and most of it no occurrence: it is asked within a workflow task.
func BenchmarkUnskipOfNone(b *testing.B) {
	r := eachMinute()
	for i := range 50 {
		r.Skips = append(r.Skips, minutes(2000+i).Add(time.Second))
		r.SkipWindows = append(r.SkipWindows, job.SkipWindow{From: minutes(200 * i), Until: minutes(200*i + 180)})
	}
	q := SkipQuestion{Undo: true, After: noon, SkipRequest: job.SkipRequest{Due: minutes(1_000_000)}}
	for b.Loop() {
		_, _ = r.Skip(q, nil)
	}
}

// The schedule was changed since they were skipped.
func TestUnskippingTheNextOnesForgetsWhatIsNoOccurrenceAnyMore(t *testing.T) {
	t.Parallel()
	between := func(n int) time.Time { return minutes(n).Add(30 * time.Second) }
	r := eachMinute()
	r.Skips = []time.Time{between(2), between(1), between(-1)}
	one := ask(t, r, SkipQuestion{Undo: true})
	require.True(t, one.Changed)
	require.Equal(t, []time.Time{between(2), between(-1)}, one.Skips)
	all := ask(t, r, SkipQuestion{Undo: true, SkipRequest: job.SkipRequest{Next: 5}})
	require.Equal(t, []time.Time{between(-1)}, all.Skips, "what has passed is no matter")
	r.Skips = all.Skips
	require.True(t, ask(t, r, SkipQuestion{Undo: true}).Refused)
	require.False(t, ask(t, r, SkipQuestion{}).Refused)
}
