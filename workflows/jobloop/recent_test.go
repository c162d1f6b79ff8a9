package jobloop_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/workflows"
)

// marks returns what a job remembers of its occurrences, as text.
func marks(r *job.Recent) (all []string) {
	for m := range r.All() {
		text := clock(m.Due) + " " + string(m.Outcome)
		if m.Manual {
			text += ", run manually"
		}
		if m.Late >= 0 {
			text += ", after " + m.Late.Round(500*time.Millisecond).String()
		}
		all = append(all, text)
	}
	return all
}

func TestAJobRemembersWhatBecameOfItsLastOccurrences(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, `"action":{`+get+noRetry+`},"recurrence":{`+minutely+`}`)
	w.failsAt(2)
	w.queued = 1600 * time.Millisecond
	w.suggest = 100 * time.Second // it continues as new
	w.update(150*time.Second, workflows.UpdateRun)
	w.update(170*time.Second, workflows.UpdateSkip, time.Time{})
	disabled := w.update(250*time.Second, workflows.UpdateDisable)
	got := w.snapshot(270 * time.Second)
	w.run(5 * time.Minute)
	require.Greater(t, len(w.runs), 1)
	require.Equal(t, []string{
		"00:00:00 Completed, after 1.5s", "00:01:00 Failed, after 1.5s", "00:02:00 Completed, after 1.5s", "00:02:30 Completed, run manually, after 1.5s",
		"00:03:00 Cancelled", "00:04:00 Completed, after 1.5s",
	}, marks(&got.Recent))
	require.Equal(t, []job.Hour{{Start: newYear, Late: [5]int{0, 0, 4}, Manual: 1, Failed: 1, Cancelled: 1}}, slices.Collect(got.Recent.AllHours()))
	require.Zero(t, disabled.ok(t).Recent, "the answer to a change has none")
	last := w.outlines[len(w.outlines)-1]
	require.Equal(t, got.Recent, last.Recent, "the outline has it, which is written since the job was changed")
}

func TestAJobCountsTheOccurrencesThatItMissedInTheirHours(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, `"action":{`+get+`},"recurrence":{`+minutely+`}`)
	w.now = newYear.Add(150*time.Minute + 30*time.Second)
	got := w.snapshot(152 * time.Minute)
	w.run(153 * time.Minute)
	hours := slices.Collect(got.Recent.AllHours())
	require.Len(t, hours, 3)
	missed := 0
	for i, h := range hours {
		require.Equal(t, newYear.Add(time.Duration(i)*time.Hour), h.Start)
		missed += h.Missed
	}
	require.InDelta(t, 60, hours[0].Missed, 1, "the due times of those that are long past are estimated")
	require.InDelta(t, 60, hours[1].Missed, 1)
	require.Equal(t, 150, missed, "all but the last")
}
