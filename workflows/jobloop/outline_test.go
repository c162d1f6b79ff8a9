package jobloop_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/timetable"
	"almanac/workflows"
)

// clocksDiffer is how far the clocks of a worker and of the server may differ.
const clocksDiffer = time.Second

// A shownOutline is an outline that the memo got at some time.
type shownOutline struct {
	job.Outline
	at time.Time
}

// explains reports whether a reader of the outline expects that an entry of the history may start at some time, one of
// an attempt that succeeded or another.
func (o *shownOutline) explains(t *testing.T, start time.Time, succeeded bool) bool {
	t.Helper()
	if start.Before(o.Irregular.Add(clocksDiffer)) || o.Inactive || !succeeded {
		return start.Before(o.Irregular.Add(clocksDiffer))
	}
	timetable, err := timetable.FromOutline(&o.Outline)
	require.NoError(t, err)
	due, ok := timetable.Last(start)
	return ok && !start.After(due.Add(job.RegularDelay))
}

// requireOutlined requires that the memo showed at any time an outline that explains all entries of the history, but
// for those of the last minutes.
func (w *jobEnv) requireOutlined() {
	w.t.Helper()
	end := w.env.Now()
	succeeded := map[time.Time]bool{} // by start
	for _, start := range w.recorded.droppedAt {
		succeeded[start] = false
	}
	for _, s := range w.sent {
		succeeded[s.at] = w.result == nil || w.result(s) == nil
	}
	for i, o := range w.outlines {
		until := end
		if i+1 < len(w.outlines) {
			until = w.outlines[i+1].at
		}
		for start, succeeded := range succeeded {
			if start.Add(job.SettledAfter).Before(until) {
				require.True(w.t, o.explains(w.t, start, succeeded), "an entry starts at %s, and the outline from %s to %s was %+v", clock(start), clock(o.at), clock(until), o.Outline)
			}
		}
	}
}

func TestARegularExecutionLeavesTheOutlineAsItIs(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, `"action":{`+get+`},"recurrence":{`+minutely+`}`)
	w.takes(5 * time.Second)
	w.run(3 * time.Hour)
	require.Greater(t, len(w.runs), 2)
	require.Len(t, w.outlines, 1, "that with which it was started")
	w.requireOutlined()

	w = newJobEnv(t, `"action":{`+get+`}`)
	w.run(time.Hour)
	require.Len(t, w.sent, 1)
	require.Len(t, w.outlines, 1, "nor does it when the job is completed")
}

func TestTheOutlineOfAJobCoversWhatIsOffItsTimetable(t *testing.T) {
	t.Parallel()
	const hourly = `"action":{` + get + `},"recurrence":{"frequency":"hour"}`
	outlines := map[string]int{"a manual run": 3} // at its beginning and its end
	for name, irregular := range map[string]func(*jobEnv){
		"a manual run": func(w *jobEnv) { w.update(10*time.Minute, workflows.UpdateRun) },
		"a retry":      func(w *jobEnv) { w.fails(func(s sentAttempt) bool { return s.attempt() == 1 }) },
		"a late one":   func(w *jobEnv) { w.queued = 11 * time.Second },
		"a change": func(w *jobEnv) {
			w.replace(10*time.Minute, `"action":{`+get+`},"recurrence":{"frequency":"hour","interval":2}`)
		},
		"skipping":                 func(w *jobEnv) { w.update(10*time.Minute, workflows.UpdateSkip, time.Time{}) },
		"disabling":                func(w *jobEnv) { w.update(10*time.Minute, workflows.UpdateDisable) },
		"disabling its collection": func(w *jobEnv) { w.update(10*time.Minute, workflows.UpdateCollection, collectionIs(false)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, hourly)
			irregular(w)
			w.run(30 * time.Minute)
			require.Len(t, w.outlines, cmp.Or(outlines[name], 2))
			require.False(t, w.outlines[1].Irregular.IsZero())
			w.requireOutlined()
		})
	}
}

func TestTheOutlineCoversTheAttemptsOfAManualRunFromItsBeginning(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, `"action":{`+get+`},"recurrence":{"frequency":"day"}`)
	w.fails(always)
	w.update(10*time.Minute, workflows.UpdateRun)
	w.run(10*time.Minute + 40*time.Second) // after the first retry, which the server makes
	last := w.outlines[len(w.outlines)-1]
	require.Equal(t, newYear.Add(10*time.Minute), last.at.UTC())
	require.True(t, last.explains(t, newYear.Add(12*time.Minute), false))
}

func TestTheOutlineSaysHowAManualRunEndedAtOnce(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, `"action":{`+get+noRetry+`},"startTime":"2027-01-01","recurrence":{"frequency":"day"}`)
	w.fails(always)
	w.update(10*time.Minute, workflows.UpdateRun)
	w.run(11 * time.Minute)
	marks := slices.Collect(w.outlines[len(w.outlines)-1].Recent.All())
	require.Len(t, marks, 1)
	require.Equal(t, job.OutcomeFailed, marks[0].Outcome)
}

func TestTheOutlineHasTheLastOfSeveralFailuresMinutesLater(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, `"action":{`+get+noRetry+`},"recurrence":{"frequency":"day"}`)
	w.fails(always)
	w.update(10*time.Minute, workflows.UpdateRun)
	w.update(10*time.Minute+time.Second, workflows.UpdateRun)
	w.update(10*time.Minute+2*time.Second, workflows.UpdateRun)
	w.run(20 * time.Minute)
	require.Len(t, slices.Collect(w.outlines[len(w.outlines)-1].Recent.All()), 4)
	require.Less(t, len(w.outlines), 7)
}

func TestTheOutlineCoversAFailureThatStartedInTime(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, `"action":{`+get+noRetry+`},"recurrence":{`+minutely+`}`)
	w.failsAt(4)
	w.run(20 * time.Minute)
	require.Len(t, w.outlines, 2)
	w.requireOutlined()
}

func TestTemporalsListsShowWhenAnOutlineWasWritten(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, started string
		want          []string
	}{
		{"of a job that was started with the search attributes", workflows.NoOutcome, []string{"00:03:00", "00:06:00", "00:09:00"}},
		{"and not of another, whose namespace may lack them", "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, `"action":{`+get+noRetry+`},"recurrence":{`+minutely+`,"count":11}`)
			w.listed, w.suggest = tt.started, 100*time.Second
			w.fails(func(s sentAttempt) bool { return s.Execution.Repeat > 3 })
			w.run(time.Hour)
			require.Greater(t, len(w.runs), 1)
			require.Equal(t, tt.want, w.outlined[:min(3, len(w.outlined))])
		})
	}
}

func TestAJobThatIsOftenIrregularUpdatesItsMemoEveryFewMinutes(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, `"action":{`+get+noRetry+`},"recurrence":{`+minutely+`}`)
	w.fails(always)
	w.run(time.Hour)
	require.GreaterOrEqual(t, len(w.sent), 60)
	require.LessOrEqual(t, len(w.outlines), 2+len(w.sent)/3)
	w.requireOutlined()

	w = newJobEnv(t, `"action":{`+get+`},"recurrence":{"frequency":"day"}`)
	for i := range 600 {
		w.update(time.Minute+time.Duration(i)*time.Second, workflows.UpdateRun)
	}
	w.run(time.Hour)
	require.Len(t, w.sent, 601)
	require.Less(t, len(w.outlines), 30, "manual runs of ten minutes, one each 30 s")
	w.requireOutlined()
}
