package jobloop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/workflows"
)

// retried is a minutely job that is disabled after one failure. A failed attempt is retried 20 s later.
func retried(path string) string {
	return `"action":{"type":"Http","request":{"uri":"http://127.0.0.1` + path + `","method":"GET"},"retryPolicy":{"retryInterval":"PT20S","retryCount":1}},` +
		`"recurrence":{"frequency":"minute"},"disableAfter":1`
}

func TestAnExecutionThatAChangeEndedDoesNotCountForDisableAfter(t *testing.T) {
	t.Parallel()
	old := func(s sentAttempt) bool { return s.Action.Request.URI == "http://127.0.0.1/old" }
	disableAndEnableCollection := func(w *jobEnv, after time.Duration) {
		w.update(after, workflows.UpdateCollection, collectionIs(false))
		w.update(after+5*time.Second, workflows.UpdateCollection, collectionIs(true))
		w.replace(after+6*time.Second, retried("/new"))
	}
	for _, tt := range []struct {
		name   string
		change func(*jobEnv, time.Duration)
		after  time.Duration
		took   time.Duration // duration of an attempt
	}{
		{"when a PATCH repairs the job while a retry waits", func(w *jobEnv, after time.Duration) { w.replace(after, retried("/new")) }, 10 * time.Second, 0},
		{"when the collection is disabled while a retry waits", disableAndEnableCollection, 10 * time.Second, 0},
		{"when a PATCH repairs the job while an attempt is made", func(w *jobEnv, after time.Duration) { w.replace(after, retried("/new")) }, 5 * time.Second, 15 * time.Second},
		{"when the collection is disabled while an attempt is made", disableAndEnableCollection, 5 * time.Second, 15 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, retried("/old"))
			w.fails(old)
			w.takes(tt.took)
			tt.change(w, tt.after)
			failed, end := w.snapshot(50*time.Second), w.snapshot(3*time.Minute-time.Second)
			w.run(3*time.Minute - 500*time.Millisecond)
			require.Equal(t, job.StateEnabled, failed.Definition.State)
			require.Equal(t, 1, failed.Status.ConsecutiveFailures, "the history has it as failed")
			require.Equal(t, []string{"00:00:00", "00:01:00", "00:02:00"}, w.dues())
			require.Equal(t, job.StateEnabled, end.Definition.State)
			require.Empty(t, w.halted)
			w.requireSound()
		})
	}
}

func TestFailuresAfterAChangeCountForDisableAfter(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, retried("/old"))
	w.fails(always)
	w.replace(10*time.Second, retried("/new"))
	end := w.snapshot(3 * time.Minute)
	w.run(3*time.Minute + time.Second)
	require.Equal(t, []string{"00:00:00", "00:01:00"}, w.dues())
	require.Equal(t, job.StateDisabled, end.Definition.State)
	require.Contains(t, end.Status.Reason, "because an execution failed")
	w.requireSound()
}

// The last attempt fails by itself while the change looks up what was sent, before it cancels anything.
func TestADisableThatWaitsForAChangeOfTheDefinitionIsNotMade(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, `"action":{`+get+noRetry+`},"recurrence":{"frequency":"minute"},"disableAfter":1`)
	w.fails(func(s sentAttempt) bool { return s.Execution.Due.Equal(newYear) })
	w.takes(10 * time.Second)
	w.lookTakes = time.Second
	changed := w.replace(9500*time.Millisecond, `"action":{`+get+noRetry+`},"recurrence":{"frequency":"minute","catchUpWindow":"PT1M"},"disableAfter":1`)
	end := w.snapshot(3 * time.Minute)
	w.run(3*time.Minute + time.Second)
	require.Equal(t, job.StateEnabled, changed.ok(t).Definition.State)
	require.Equal(t, job.StateEnabled, end.Definition.State)
	require.Empty(t, w.halted)
	w.requireSound()
}

func TestExecutionsHaveNumbersOfTheirOwnAlthoughOneReturnsToThePlan(t *testing.T) {
	t.Parallel()
	w := newHoldEnv(t, callEveryMinute("/old"))
	w.update(30*time.Second, workflows.UpdateRun)      // while the next occurrence is held
	w.replace(40*time.Second, callEveryMinute("/new")) // takes that back
	w.update(50*time.Second, workflows.UpdateRun)      // another number
	end := w.snapshot(3*time.Minute + 30*time.Second)
	w.run(3*time.Minute + 40*time.Second)
	numbers := map[int]bool{}
	for _, s := range w.executions() {
		require.False(t, numbers[s.Execution.Repeat], "number %d is given twice", s.Execution.Repeat)
		numbers[s.Execution.Repeat] = true
	}
	require.Len(t, numbers, 6)
	at := end.At(newYear.Add(3*time.Minute + 30*time.Second))
	require.Equal(t, 6, at.Status.ExecutionCount, "the count is what the history has")
	w.requireSound()
}
