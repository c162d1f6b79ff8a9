package job_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
)

var eight = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

func TestTheLast20OutcomesOfAJobAreKeptWithTheirLateness(t *testing.T) {
	t.Parallel()
	outcomes := []job.Outcome{job.OutcomeCompleted, job.OutcomeFailed, job.OutcomeMissed, job.OutcomeSkipped, job.OutcomeCancelled}
	var r job.Recent
	var want []job.Mark
	for i := range 57 {
		m := job.Mark{Due: eight.Add(time.Duration(i) * time.Minute), Outcome: outcomes[i%5], Manual: i%3 == 0, Late: -1}
		if i%5 < 2 && i%7 > 0 {
			m.Late = (time.Duration(1) << (i % 45) * time.Microsecond).Truncate(time.Millisecond)
		}
		r.Add(m, m.Due.Add(time.Second))
		want = append(want, m)
	}
	got := slices.Collect(r.All())
	require.Len(t, got, 20)
	for i, m := range want[37:] {
		require.InDelta(t, float64(m.Late), float64(got[i].Late), 0.02*max(0, float64(m.Late)), "%v", m)
		got[i].Late = m.Late
		require.Equal(t, m, got[i])
	}
}

func TestLatenessIsExactForAnEighthOfASecondAndThenWithin2Percent(t *testing.T) {
	t.Parallel()
	for _, late := range []time.Duration{0, 1, 127, 128, 999, 4999, 60_000, 86_400_000, 30 * 86_400_000} {
		late *= time.Millisecond
		var r job.Recent
		r.Add(job.Mark{Due: eight, Outcome: job.OutcomeCompleted, Late: late}, eight)
		for m := range r.All() {
			require.InDelta(t, float64(late), float64(m.Late), float64(late)*0.02)
			require.True(t, late >= 128*time.Millisecond || m.Late == late)
		}
	}
}

func TestEachOccurrenceCountsInTheHourInWhichItWasDue(t *testing.T) {
	t.Parallel()
	var r job.Recent
	add := func(due time.Time, o job.Outcome, manual bool, late time.Duration) {
		r.Add(job.Mark{Due: due, Outcome: o, Manual: manual, Late: late}, eight.Add(5*time.Hour))
	}
	nine := eight.Add(time.Hour)
	add(nine, job.OutcomeCompleted, false, 99*time.Millisecond)
	add(nine, job.OutcomeCompleted, false, 100*time.Millisecond)
	add(nine, job.OutcomeFailed, false, time.Minute)
	add(nine, job.OutcomeCompleted, false, -1)
	add(eight.Add(59*time.Minute), job.OutcomeFailed, true, 0) // it ended after those that were due later
	add(eight.Add(59*time.Minute+time.Second), job.OutcomeMissed, false, -1)
	add(nine.Add(time.Minute), job.OutcomeSkipped, false, -1)
	add(eight.Add(300*time.Hour), job.OutcomeCancelled, false, -1) // a request skipped it
	add(eight.Add(-43*time.Hour), job.OutcomeCompleted, false, 0)  // too old
	require.Equal(t, []job.Hour{
		{Start: eight, Manual: 1, Failed: 1, Missed: 1},
		{Start: nine, Late: [5]int{1, 1, 0, 0, 2}, Failed: 1, Skipped: 1},
		{Start: eight.Add(5 * time.Hour), Cancelled: 1},
	}, slices.Collect(r.AllHours()))
}

func TestAnExecutionOfWhichAnAttemptWasCancelledCountsOnce(t *testing.T) {
	t.Parallel()
	var r job.Recent
	r.Add(job.Mark{Due: eight, Outcome: job.OutcomeCancelled, Late: -1}, eight)
	r.Add(job.Mark{Due: eight, Outcome: job.OutcomeFailed, Late: 0}, eight.Add(time.Minute))
	require.Equal(t, []job.Mark{{Due: eight, Outcome: job.OutcomeFailed}}, slices.Collect(r.All()))
	require.Equal(t, []job.Hour{{Start: eight, Late: [5]int{1}, Failed: 1}}, slices.Collect(r.AllHours()))
}

func TestACancelledManualRunIsKeptBesideAnotherOfTheSameSecond(t *testing.T) {
	t.Parallel()
	var r job.Recent
	r.Add(job.Mark{Due: eight, Manual: true, Outcome: job.OutcomeCancelled, Late: -1}, eight)
	r.Add(job.Mark{Due: eight, Manual: true, Outcome: job.OutcomeCompleted, Late: 0}, eight)
	require.Len(t, slices.Collect(r.All()), 2)
	require.Equal(t, []job.Hour{{Start: eight.Truncate(time.Hour), Manual: 1, Cancelled: 1}}, slices.Collect(r.AllHours()))
}

func TestAnOutlineHasTheHoursThatWereOutOfTheOrdinaryAlone(t *testing.T) {
	t.Parallel()
	var r job.Recent
	for i := range 47 {
		m := job.Mark{Due: eight.Add(time.Duration(i) * time.Hour), Outcome: job.OutcomeCompleted, Late: time.Second}
		if i == 40 {
			m.Outcome = job.OutcomeFailed
		}
		r.Add(m, m.Due)
	}
	few := r.Irregular()
	require.Equal(t, []job.Hour{{Start: eight.Add(40 * time.Hour), Late: [5]int{0, 0, 1}, Failed: 1}}, slices.Collect(few.AllHours()))
	require.Len(t, slices.Collect(few.All()), 20)
}

func TestWhatIsRememberedOfAJobIsBounded(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	outcomes := []job.Outcome{job.OutcomeCompleted, job.OutcomeFailed, job.OutcomeMissed, job.OutcomeSkipped, job.OutcomeCancelled, "another"}
	var r job.Recent
	longest := 0
	for i := range 80_000 { // one hour has more than a counter holds
		now := eight.Add(time.Duration(max(0, i-70_000)) * 5 * time.Minute)
		due := now.Add(-time.Duration(random.IntN(100)) * time.Minute)
		if i < 70_000 {
			due = now
		}
		r.Add(job.Mark{Due: due, Outcome: outcomes[random.IntN(len(outcomes))], Manual: i%2 == 0, Late: time.Duration(random.Int64N(1e18))}, now)
		if i%1000 == 0 || i > 79_000 {
			text, err := json.Marshal(r)
			require.NoError(t, err)
			marks, err := json.Marshal(r.Marks)
			require.NoError(t, err)
			require.LessOrEqual(t, len(marks), 160+len(`""`))
			longest = max(longest, len(text))
		}
	}
	require.LessOrEqual(t, longest, 1720+len(`{"marks":"","hours":""}`))
	require.Greater(t, longest, 1500, "these are all hours")
	var again job.Recent
	text, err := json.Marshal(r)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &again))
	require.Equal(t, r, again)
}

func TestWhatCannotBeUnpackedIsLeftOut(t *testing.T) {
	t.Parallel()
	r := job.Recent{Marks: []byte{1, 2, 3}, Hours: make([]byte, 30)}
	require.Empty(t, slices.Collect(r.All()))
	require.Len(t, slices.Collect(r.AllHours()), 1)
	r.Add(job.Mark{Due: eight, Outcome: job.OutcomeCompleted}, eight)
	require.Len(t, slices.Collect(r.All()), 1)
	require.Len(t, slices.Collect(r.AllHours()), 1)
}

// What it costs an execution, and a query.
func BenchmarkRecent(b *testing.B) {
	var r job.Recent
	now := eight
	add := func() {
		now = now.Add(time.Minute)
		r.Add(job.Mark{Due: now, Outcome: job.OutcomeFailed, Late: time.Second}, now)
	}
	for range 4000 {
		add()
	}
	b.Run("add", func(b *testing.B) {
		for b.Loop() {
			add()
		}
	})
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			_, err := json.Marshal(r)
			require.NoError(b, err)
		}
	})
}
