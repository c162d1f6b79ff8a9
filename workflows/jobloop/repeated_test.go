package jobloop_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/workflows"
)

// updateAs sends an update with an id.
func (w *jobEnv) updateAs(after time.Duration, id, name string, arguments ...any) *answer {
	a := &answer{w: w}
	w.at(after, func() { w.env.UpdateWorkflow(name, id, a, arguments...) })
	return a
}

func TestAnUpdateThatIsRepeatedInALaterRunIsAppliedOnce(t *testing.T) {
	t.Parallel()
	const first, again = 20 * time.Second, 3*time.Minute + 20*time.Second
	d := definition(t, every(minutely+`,"interval":3`))
	for _, tt := range []struct {
		update    string
		arguments []any
		between   func(*jobEnv) // undoes what the update did
		want      func(*testing.T, *jobEnv, *job.Job)
	}{
		{workflows.UpdateRun, nil, nil, func(t *testing.T, w *jobEnv, _ *job.Job) {
			require.Len(t, w.executions(), 6, "five occurrences and one manual run")
		}},
		{workflows.UpdateSkip, []any{time.Time{}}, nil, func(t *testing.T, w *jobEnv, _ *job.Job) {
			require.Equal(t, []string{"Cancelled 1: 00:01:00 to 00:01:00"}, w.dropped())
		}},
		{workflows.UpdateDisable, nil, func(w *jobEnv) { w.update(90*time.Second, workflows.UpdateEnable) }, func(t *testing.T, _ *jobEnv, end *job.Job) {
			require.Equal(t, job.StateEnabled, end.Definition.State)
		}},
		{workflows.UpdateReplace, []any{workflows.ReplaceRequest{Definition: d, Text: d.Text(), Generation: registration}}, func(w *jobEnv) { w.replace(90*time.Second, every(minutely)) },
			func(t *testing.T, _ *jobEnv, end *job.Job) {
				require.Equal(t, registration+2, end.Generation)
				require.Equal(t, 1, end.Definition.Recurrence.Interval)
			}},
	} {
		t.Run(tt.update, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, every(minutely))
			w.suggest = 30 * time.Second
			once, repeated := w.updateAs(first, "the id", tt.update, tt.arguments...), w.updateAs(again, "the id", tt.update, tt.arguments...)
			if tt.between != nil {
				tt.between(w)
			}
			end := w.snapshot(4*time.Minute + 20*time.Second)
			w.run(4*time.Minute + 30*time.Second)
			require.Greater(t, len(w.runs), 1)
			once.ok(t)
			repeated.ok(t)
			require.Equal(t, once.execution, repeated.execution)
			tt.want(t, w, end)
			w.requireSound()
		})
	}
}

func TestARepeatedUpdateIsAnsweredThoughAnotherWouldBeRefused(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(minutely+`,"count":2`))
	w.suggest = 30 * time.Second
	once := w.updateAs(20*time.Second, "the id", workflows.UpdateEnable)
	w.update(2*time.Minute, workflows.UpdateCollection, collectionIs(true)) // wakes the loop of a later run
	repeated := w.updateAs(5*time.Minute, "the id", workflows.UpdateEnable)
	other := w.updateAs(5*time.Minute+time.Second, "another id", workflows.UpdateEnable)
	w.run(6 * time.Minute)
	require.Greater(t, len(w.runs), 1)
	once.ok(t)
	require.Equal(t, job.StateCompleted, repeated.ok(t).Definition.State)
	other.refused(t, workflows.ErrTypeConflict)
}

func TestARepeatedRerunHasTheAnswerOfTheFirst(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, `"action":{`+get+noRetry+`},"recurrence":{"frequency":"hour"}`)
	w.fails(always)
	w.suggest = 5 * time.Minute
	once := w.updateAs(time.Minute, "the id", workflows.UpdateRerun, "")
	w.update(6*time.Minute, workflows.UpdateCollection, collectionIs(true)) // wakes the loop, which continues as new
	repeated := w.updateAs(7*time.Minute, "the id", workflows.UpdateRerun, "")
	w.run(30 * time.Minute)
	require.Greater(t, len(w.runs), 1)
	require.Equal(t, job.RerunStarted, once.rerun)
	require.Equal(t, job.RerunStarted, repeated.rerun)
	require.Equal(t, job.ExecutionName(registration, 2), once.execution)
	require.Equal(t, once.execution, repeated.execution)
	require.Len(t, w.executions(), 2)
}

func TestAllKeysOfReRunsAreRemembered(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, `"action":{`+get+noRetry+`},"recurrence":{"frequency":"day"}`)
	w.fails(always)
	w.suggest = 5 * time.Minute
	var asked, repeated []*answer
	for i := range 20 {
		asked = append(asked, w.update(time.Duration(i+1)*time.Minute, workflows.UpdateRerun, fmt.Sprint("key ", i)))
		repeated = append(repeated, w.update(time.Hour+time.Duration(i+1)*time.Minute, workflows.UpdateRerun, fmt.Sprint("key ", i)))
	}
	w.run(3 * time.Hour)
	require.Greater(t, len(w.runs), 5)
	for i := range asked {
		require.Equal(t, job.RerunStarted, asked[i].rerun)
		require.Equal(t, job.RerunUnderWay, repeated[i].rerun)
		require.Equal(t, job.ExecutionName(registration, i+2), asked[i].execution)
		require.Equal(t, asked[i].execution, repeated[i].execution)
	}
	require.Len(t, w.executions(), 21)
}

func TestRequestsThatAreRememberedAreBounded(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, `"startTime":"2026-03-01T00:00:00Z",`+once)
	w.suggest = time.Second
	for i := range 300 {
		w.at(10*time.Second+time.Duration(i)*100*time.Millisecond, func() {
			for n := range 10 {
				w.env.UpdateWorkflow(workflows.UpdateDisable, fmt.Sprintf("id %d of %d", n, i), &answer{w: w})
			}
		})
	}
	w.updateAs(15*time.Minute, "late", workflows.UpdateDisable)
	w.updateAs(16*time.Minute, "later", workflows.UpdateDisable)
	w.run(20 * time.Minute)
	most := 0
	for _, r := range w.runs {
		most = max(most, size(t, r.Input))
	}
	require.InDelta(t, 40_000, most, 25_000)
	require.Less(t, size(t, w.runs[len(w.runs)-1].Input), 2_000, "old ones are forgotten")
}

// A minutely job always has an occurrence that a worker holds.
func TestRequestsWithoutEndDoNotKeepARunFromContinuingAsNew(t *testing.T) {
	t.Parallel()
	for name, send := range map[string]func(*jobEnv){
		"updates": func(w *jobEnv) { w.env.UpdateWorkflow(workflows.UpdateEnable, "", &answer{w: w}) },
		"skips": func(w *jobEnv) { // refused, and updates of the run nevertheless
			w.env.UpdateWorkflow(workflows.UpdateSkip, "", &answer{w: w}, newYear.Add(24*time.Hour))
		},
		"signals": func(w *jobEnv) {
			for range 5 {
				w.env.SignalWorkflow(workflows.UpdateEnable, nil)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newHoldEnv(t, every(minutely))
			for i := range 200 {
				w.at(time.Second+time.Duration(i)*200*time.Millisecond, func() {
					for range 20 {
						send(w)
					}
				})
			}
			w.run(3*time.Minute - 500*time.Millisecond)
			require.GreaterOrEqual(t, len(w.runs), 4)
			require.True(t, w.runs[1].start.Before(newYear.Add(20*time.Second)), "the held occurrence is taken back: %s", w.runs[1].start)
			require.Equal(t, []string{"00:00:00 00:00:00", "00:01:00 00:01:00", "00:02:00 00:02:00"}, w.starts())
			require.Empty(t, w.dropped())
			w.requireSound()
		})
	}
}

func TestManualRunsWithoutEndDoNotKeepARunFromContinuingAsNew(t *testing.T) {
	t.Parallel()
	w := newHoldEnv(t, every(minutely))
	w.takes(2070 * time.Millisecond) // one is always being made, and none ends when an update comes
	for i := range 900 {
		w.at(1037*time.Millisecond+time.Duration(i)*100*time.Millisecond, func() { w.env.UpdateWorkflow(workflows.UpdateRun, "", &answer{w: w}) })
	}
	end := w.snapshot(4*time.Minute + 30*time.Second)
	w.run(4*time.Minute + 40*time.Second)
	require.Greater(t, len(w.runs), 2)
	require.Less(t, w.runs[1].start.Sub(newYear), 66*time.Second)
	require.Len(t, w.executions(), 900+5)
	require.Equal(t, 900+5, end.At(newYear.Add(4*time.Minute+30*time.Second)).Status.ExecutionCount)
	require.Subset(t, w.starts(), []string{"00:00:00 00:00:00", "00:03:00 00:03:00", "00:04:00 00:04:00"})
	w.requireSound()
}
