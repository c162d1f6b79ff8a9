package jobloop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/workflows"
)

const day = 24 * time.Hour

// A completed or faulted job is treated as an enabled one without occurrences.
func TestAFinalJobIsRevivedByAScheduleThatHasAFuture(t *testing.T) {
	t.Parallel()
	const neverRan = "one that never had an occurrence"
	for _, tt := range []struct {
		name, properties string
		change           string // after 10 minutes and 10 seconds
		want             []string
	}{
		{"a one-time job by a later start time", once, once + `,"startTime":"2026-01-01T00:20:00Z"`, []string{"00:00:00", "00:20:00"}},
		{"a one-time job by a recurrence", once, every(`"frequency":"minute","interval":7`), []string{"00:00:00", "00:14:00", "00:21:00", "00:28:00"}},
		{"a one-time job by a recurrence with a count, of which it has used up one", once, every(minutely + `,"count":3`),
			[]string{"00:00:00", "00:11:00", "00:12:00"}},
		{"a series by a higher count", every(minutely + `,"count":1`), every(minutely + `,"count":3`), []string{"00:00:00", "00:11:00", "00:12:00"}},
		{"a series by a later end time", every(`"frequency":"minute","interval":5,"endTime":"2026-01-01T00:05:00Z"`),
			every(`"frequency":"minute","interval":5,"endTime":"2026-01-01T00:20:00Z"`), []string{"00:00:00", "00:05:00", "00:15:00", "00:20:00"}},
		{"a series by no end at all, however far the catch-up window reaches back", every(`"frequency":"minute","count":2`),
			every(`"frequency":"minute","interval":10,"catchUpWindow":"P1D"`), []string{"00:00:00", "00:01:00", "00:20:00", "00:30:00"}},
		{neverRan, every(`"frequency":"minute","endTime":"2025-06-01T00:00:00Z"`), every(`"frequency":"hour"`),
			[]string{"01:00:00"}},
	} {
		for _, state := range []job.State{job.StateCompleted, job.StateFaulted} {
			if state == job.StateFaulted && tt.name == neverRan { // a job that never ran did not fail
				continue
			}
			t.Run(tt.name+" when it is "+string(state), func(t *testing.T) {
				t.Parallel()
				w := newJobEnv(t, tt.properties)
				w.next.Definition.Action.RetryPolicy = &job.RetryPolicy{RetryType: job.RetryNone}
				changed := definition(t, tt.change)
				changed.Action = w.next.Definition.Action
				w.fails(func(s sentAttempt) bool { return state == job.StateFaulted && s.at.Before(newYear.Add(10*time.Minute)) })
				before := w.snapshot(10 * time.Minute)
				a := w.update(10*time.Minute+10*time.Second, workflows.UpdateReplace, workflows.ReplaceRequest{Definition: changed, Text: changed.Text()})
				after := w.snapshot(3 * time.Hour)
				w.run(3*time.Hour + time.Second)
				require.Equal(t, state, before.Definition.State)
				revived := a.ok(t)
				require.Equal(t, job.StateEnabled, revived.Definition.State)
				require.Equal(t, registration+1, revived.Generation)
				require.Equal(t, before.Status.ExecutionCount, revived.Status.ExecutionCount, "the counters go on")
				require.Equal(t, before.Status.FaultedCount, revived.Status.FaultedCount)
				require.NotNil(t, revived.Status.NextExecutionTime)
				require.Empty(t, revived.Status.Reason)
				got := w.dues()
				require.Equal(t, tt.want, got[:min(len(got), len(tt.want))], "nothing runs at once, or that was due while it was final")
				if after.Definition.State.Final() {
					require.Len(t, got, len(tt.want))
					require.Equal(t, job.StateCompleted, after.Definition.State, "its last occurrence succeeded")
				}
				require.Subset(t, w.shown, []string{"enabled", changed.Text()}, "people find it by them")
				require.Empty(t, w.dropped())
				w.requireSound()
			})
		}
	}
}

func TestAFinalJobWhoseScheduleHasNoFutureStaysFinal(t *testing.T) {
	t.Parallel()
	const other = `"action":{"type":"Http","request":{"uri":"http://127.0.0.1/other","method":"GET"}}`
	for _, tt := range []struct {
		name, properties, change string
		generation               int
		reason                   string
	}{
		{"the same definition again", once, once, 1, "The job was to run once, at 2026-01-01T00:00:00Z, which has passed."},
		{"the same definition of a series again", every(minutely + `,"count":2`), every(minutely + `,"count":2`), 1,
			"The job's count, 2, is used up."},
		{"another action of a one-time job", once, other, 2, "The job was to run once, at 2026-01-01T00:00:00Z, which has passed."},
		{"another action of a series", every(minutely + `,"count":2`), other + `,"recurrence":{` + minutely + `,"count":2}`, 2,
			"The job's count, 2, is used up."},
		{"a start time in the past", once, once + `,"startTime":"2026-01-01T00:05:00Z"`, 2, "The job was to run once, at 2026-01-01T00:05:00Z, which has passed."},
		{"a lower count, in another rhythm", every(minutely + `,"count":2`), every(`"frequency":"hour","count":1`), 2,
			"The job's count, 1, is used up."},
		{"an end time in the past", every(minutely + `,"count":2`), every(minutely + `,"endTime":"2025-01-01T00:05:00Z"`), 2,
			"No occurrence is left at or before the job's endTime, 2025-01-01T00:05:00Z."},
	} {
		for _, resting := range []bool{false, true} {
			t.Run(tt.name+map[bool]string{true: " while the collection is disabled"}[resting], func(t *testing.T) {
				t.Parallel()
				w := newJobEnv(t, tt.properties)
				if resting {
					w.update(5*time.Minute, workflows.UpdateCollection, collectionIs(false))
					w.update(time.Hour, workflows.UpdateCollection, collectionIs(true))
				}
				before := w.snapshot(9 * time.Minute)
				a := w.replace(10*time.Minute, tt.change)
				after := w.snapshot(2 * time.Hour)
				w.run(3 * time.Hour)
				require.Equal(t, job.StateCompleted, a.ok(t).Definition.State, "as the change answers")
				require.Equal(t, tt.reason, a.job.Status.Reason)
				require.Equal(t, registration+tt.generation-1, a.job.Generation)
				after.Recent = job.Recent{}        // queries alone answer with it
				after.CollectionDisabled = resting // until it is enabled later
				require.Equal(t, a.job, *after)
				require.Equal(t, before.Status.ExecutionCount, after.Status.ExecutionCount)
				require.Len(t, w.sent, after.Status.ExecutionCount, "nothing runs again")
				require.NotContains(t, w.shown, "enabled")
			})
		}
	}
}

func TestAFinalJobThatIsDisabledByAChange(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, properties, change string
		want                     []string
	}{
		{"does not run again when it is enabled, if its time was over before", once, once, []string{"00:00:00"}},
		{"does not run for a start time that was past then", once, once + `,"startTime":"2026-01-01T00:05:00Z"`, []string{"00:00:00"}},
		{"runs when it is enabled, if its time passed since", once, once + `,"startTime":"2026-01-01T00:25:00Z"`, []string{"00:00:00", "00:25:00"}},
		{"goes on with its recurrence when it is enabled", every(minutely + `,"count":1`), every(minutely + `,"count":2`), []string{"00:00:00", "00:30:00"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, tt.properties)
			a := w.replace(10*time.Minute, tt.change+`,"state":"disabled"`)
			enabled := w.update(30*time.Minute, workflows.UpdateEnable)
			end := w.snapshot(time.Hour)
			w.run(2 * time.Hour)
			require.Equal(t, job.StateDisabled, a.ok(t).Definition.State)
			require.Equal(t, tt.want, w.dues())
			require.Equal(t, len(tt.want) == 1, enabled.ok(t).Definition.State.Final(), "as the command answers")
			require.Equal(t, job.StateCompleted, end.Definition.State)
			require.Equal(t, []string{"completed", "disabled"}, w.shown[:2])
			w.requireSound()
		})
	}
}

func TestAFinalJobIsRevivedWhileItsCollectionIsDisabled(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(minutely+`,"count":1`))
	w.update(5*time.Minute, workflows.UpdateCollection, collectionIs(false))
	a := w.replace(10*time.Minute, every(minutely+`,"count":2`))
	w.update(30*time.Minute, workflows.UpdateCollection, collectionIs(true))
	w.run(time.Hour)
	require.Equal(t, job.StateEnabled, a.ok(t).Definition.State)
	require.Nil(t, a.job.Status.NextExecutionTime)
	require.Equal(t, []string{"00:00:00", "00:30:00"}, w.dues())
	w.requireSound()
}

func TestAChangeInTheSecondInWhichAJobBecameFinalRunsNothingAgain(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(minutely+`,"count":2`))
	w.replace(time.Minute+500*time.Millisecond, every(minutely+`,"count":3`))
	w.run(time.Hour)
	require.Equal(t, []string{"00:00:00", "00:01:00", "00:02:00"}, w.dues())
	w.requireSound()
}

func TestAFinalJobCanBeRunManually(t *testing.T) {
	t.Parallel()
	for _, state := range []job.State{job.StateCompleted, job.StateFaulted} {
		t.Run("and stays "+string(state), func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, `"action":{`+get+noRetry+`}`)
			w.fails(func(s sentAttempt) bool { return (state == job.StateFaulted) == (s.Execution.Repeat == 1) })
			a := w.update(time.Minute, workflows.UpdateRun)
			w.signal(2*time.Minute, workflows.UpdateRun, nil)
			read := w.snapshot(5 * time.Minute)
			w.run(time.Hour)
			a.ok(t)
			require.Equal(t, []string{"00:00:00", "00:01:00", "00:02:00"}, w.dues())
			require.Equal(t, state, read.Definition.State, "the last occurrence decides")
			require.Equal(t, 3, read.Status.ExecutionCount)
			require.Equal(t, job.NewTime(newYear.Add(2*time.Minute)), read.Status.LastExecutionTime)
			require.Nil(t, read.Status.NextExecutionTime)
			w.requireSound()
		})
	}
	t.Run("with its retries and its error action, through as many runs of its workflow as it takes", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, withErrorAction(twoRetries, noRetry))
		w.fails(func(s sentAttempt) bool { return s.Execution.Repeat > 1 })
		w.suggest = 10 * time.Second
		w.signal(time.Minute, workflows.UpdateRun, nil)
		end := w.snapshot(time.Hour)
		w.run(2 * time.Hour)
		require.Greater(t, len(w.runs), 2)
		require.Equal(t, []string{
			"00:00:00 MainAction#1", "00:01:00 MainAction#1", "00:02:00 MainAction#2", "00:03:00 MainAction#3", "00:03:00 ErrorAction#1",
		}, w.lines())
		require.Equal(t, job.StateCompleted, end.Definition.State)
		require.Equal(t, 1, end.Status.FaultedCount)
	})
	t.Run("a bounded number of times at once", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, once)
		w.takes(30 * time.Second)
		for range 50 {
			w.signal(time.Minute, workflows.UpdateRun, nil)
		}
		refused := w.update(70*time.Second, workflows.UpdateRun)
		w.run(time.Hour)
		refused.refused(t, workflows.ErrTypeConflict)
		require.Len(t, w.executions(), 51)
	})
	t.Run("until it is deleted", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, `"action":{`+get+twoRetries+`}`)
		w.fails(func(s sentAttempt) bool { return s.Execution.Repeat > 1 })
		w.signal(time.Minute, workflows.UpdateRun, nil)
		a := w.update(90*time.Second, workflows.UpdateDelete)
		w.run(time.Hour)
		a.ok(t)
		require.Equal(t, []string{"00:00:00 MainAction#1", "00:01:00 MainAction#1"}, w.lines())
		require.Equal(t, newYear.Add(90*time.Second), w.env.Now().UTC())
	})
	t.Run("until it is changed", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, `"action":{`+get+twoRetries+`}`)
		w.fails(func(s sentAttempt) bool { return s.Execution.Repeat > 1 })
		w.signal(time.Minute, workflows.UpdateRun, nil)
		a := w.replace(90*time.Second, `"action":{`+get+noRetry+`}`)
		end := w.snapshot(time.Hour)
		w.run(2 * time.Hour)
		require.Equal(t, job.StateCompleted, a.ok(t).Definition.State)
		require.Equal(t, []string{"00:00:00 MainAction#1", "00:01:00 MainAction#1"}, w.lines())
		require.Equal(t, 1, end.Status.FailureCount)
		require.Zero(t, end.Status.FaultedCount, "its retries were not exhausted")
	})
}

func TestAFinalJobIsNeitherEnabledNorDisabledByACommand(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, once)
	refused := []*answer{w.update(time.Minute, workflows.UpdateEnable), w.update(time.Minute, workflows.UpdateDisable)}
	for _, signal := range []string{workflows.UpdateEnable, workflows.UpdateDisable} {
		w.signal(2*time.Minute, signal, nil)
	}
	w.update(3*time.Minute, workflows.UpdateCollection, collectionIs(false))
	w.update(4*time.Minute, workflows.UpdateCollection, collectionIs(true))
	read := w.snapshot(5 * time.Minute)
	deleted := w.update(6*time.Minute, workflows.UpdateDelete)
	w.run(time.Hour)
	for _, a := range refused {
		a.refused(t, workflows.ErrTypeConflict)
		require.ErrorContains(t, a.err, "The job is completed: no occurrence is left. Change its schedule by PUT or PATCH, or run it.")
	}
	require.Equal(t, job.StateCompleted, read.Definition.State)
	require.Equal(t, 1, read.Status.ExecutionCount)
	deleted.ok(t)
	require.Equal(t, newYear.Add(6*time.Minute), w.env.Now().UTC())
}

func TestAFinalJobLeavesByItself60DaysAfterItsLastExecutionOrChange(t *testing.T) {
	t.Parallel()
	const retriesFor50Days = `,"retryPolicy":{"retryInterval":"P50D","retryCount":2}`
	for _, tt := range []struct {
		name    string
		arrange func(*jobEnv)
		leaves  time.Duration
	}{
		{"its occurrence", func(*jobEnv) {}, 60 * day},
		{"a manual run, though it takes longer than that", func(w *jobEnv) {
			w.fails(func(s sentAttempt) bool { return s.Execution.Repeat > 1 && s.attempt() < 3 })
			w.signal(10*day, workflows.UpdateRun, nil)
		}, 110*day + 60*day},
		{"a change that left it final", func(w *jobEnv) { w.replace(10*day, once) }, 70 * day},
		{"a change to the same", func(w *jobEnv) { w.replace(10*day, `"action":{`+get+retriesFor50Days+`}`) }, 60 * day},
		{"the occurrence of its second life", func(w *jobEnv) { w.replace(10*day, once+`,"startTime":"2026-03-31T00:00:00Z"`) }, 89*day + 60*day},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, `"action":{`+get+retriesFor50Days+`}`)
			tt.arrange(w)
			there := w.snapshot(tt.leaves - time.Second)
			w.run(300 * day)
			require.True(t, there.Definition.State.Final())
			require.Equal(t, newYear.Add(tt.leaves), w.env.Now().UTC())
			require.Equal(t, 1, w.removed, "the collection is notified")
		})
	}
}
