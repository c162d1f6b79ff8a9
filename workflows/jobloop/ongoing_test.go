package jobloop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"almanac/activities"
	"almanac/job"
	"almanac/workflows"
	"almanac/workflows/jobloop/state"
)

func TestAManualRunIsNamedByItsAnswerAndAsLongAsItLasts(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(`"frequency":"month"`))
	w.takes(25 * time.Second)
	first, second := w.update(30*time.Second, workflows.UpdateRun), w.update(40*time.Second, workflows.UpdateRun)
	rerun := w.update(45*time.Second, workflows.UpdateRerun, "")
	during, after := w.snapshot(50*time.Second), w.snapshot(2*time.Minute)
	w.run(3 * time.Minute)

	require.Equal(t, job.ExecutionName(registration, 2), first.execution, "the occurrence is the first")
	require.Equal(t, job.ExecutionName(registration, 3), second.execution)
	require.Equal(t, job.RerunUnderWay, rerun.rerun)
	require.Equal(t, second.execution, rerun.execution, "the newest")
	require.NotNil(t, during.Running)
	require.Equal(t, []int{2, 3}, numbers(during.Running.Executions))
	for _, o := range during.Running.Executions {
		require.NotEmpty(t, o.Activity)
		require.Zero(t, o.Tried)
		require.False(t, o.Failed())
	}
	require.Nil(t, after.Running)
	require.Equal(t, 3, after.Numbered)
	require.Equal(t, registration, after.Registration)
}

func numbers(all []job.Ongoing) []int {
	found := make([]int, len(all))
	for i, o := range all {
		found[i] = o.Repeat
	}
	return found
}

func TestAnExecutionThatWaitsForARetrySaysWhyAndWhen(t *testing.T) {
	t.Parallel()
	const policy = `,"retryPolicy":{"retryType":"fixed","retryInterval":"PT10M","retryCount":2}`
	for name, suggest := range map[string]time.Duration{"in the run that made the attempt": 0, "in a later run": time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, `"action":{`+get+policy+`},"recurrence":{"frequency":"month"}`)
			w.fails(always)
			w.suggest = suggest
			w.takes(3 * time.Second)
			waits, ended := w.snapshot(5*time.Minute), w.snapshot(time.Hour)
			w.run(2 * time.Hour)

			require.Equal(t, suggest > 0, len(w.runs) > 1)
			require.Len(t, waits.Running.Executions, 1)
			o := waits.Running.Executions[0]
			require.True(t, o.Failed())
			require.Empty(t, o.Activity)
			require.Equal(t, []int{1, 1, 3}, []int{o.Repeat, o.Tried, o.MaxAttempts})
			require.Equal(t, "it failed", o.Error)
			require.Equal(t, newYear.Add(3*time.Second), o.ErrorEnd)
			require.WithinRange(t, o.Next, newYear.Add(10*time.Minute), newYear.Add(10*time.Minute+5*time.Second))
			require.Zero(t, waits.Status.FailureCount, "the reader adds those that have not ended")
			require.Nil(t, ended.Running)
			require.Equal(t, 1, ended.Status.FailureCount)
		})
	}
}

func TestAnExecutionWhoseErrorActionRunsHasFailed(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, `"action":{`+get+noRetry+`,"errorAction":{`+get+`}},"recurrence":{"frequency":"month"}`)
	w.fails(func(s sentAttempt) bool { return s.Execution.ActionName == job.MainAction })
	w.takes(10 * time.Second)
	during := w.snapshot(15 * time.Second)
	w.run(time.Minute)

	o := during.Running.Executions[0]
	require.True(t, o.Failed())
	require.Equal(t, job.ErrorAction, o.ActionName)
	require.Equal(t, []int{0, 1}, []int{o.Tried, o.MaxAttempts}, "by the policy of the action")
	require.Equal(t, "it failed", o.Error)
	require.Equal(t, newYear.Add(10*time.Second), o.ErrorEnd)
}

func TestAnErrorActionThatWaitsForARetrySaysWhyItFailedItself(t *testing.T) {
	t.Parallel()
	const policy = `,"retryPolicy":{"retryType":"fixed","retryInterval":"PT10M","retryCount":2}`
	for name, suggest := range map[string]time.Duration{"in the run that made the attempt": 0, "in a later run": time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, withErrorAction(noRetry, policy)+`,"recurrence":{"frequency":"month"}`)
			w.result = func(s sentAttempt) error {
				return temporal.NewApplicationError("no "+string(s.Execution.ActionName), activities.ErrTypeFailed)
			}
			w.suggest = suggest
			w.takes(3 * time.Second)
			waits := w.snapshot(5 * time.Minute)
			w.run(2 * time.Hour)

			require.Equal(t, suggest > 0, len(w.runs) > 1)
			o := waits.Running.Executions[0]
			require.Equal(t, job.ErrorAction, o.ActionName)
			require.Equal(t, []int{1, 3}, []int{o.Tried, o.MaxAttempts})
			require.Equal(t, "no MainAction", o.Error, "the execution failed since its action did")
			require.Equal(t, newYear.Add(3*time.Second), o.ErrorEnd)
			require.Equal(t, &job.LastError{Message: "no ErrorAction", EndTime: job.NewTime(newYear.Add(6 * time.Second))}, o.Compensation)
		})
	}
}

func TestAManualRunThatWaitsForTheNextRunOfTheWorkflowKeepsItsNumber(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(`"frequency":"month"`))
	w.takes(25 * time.Second)
	const manual = drainAfter + 3
	answers := make([]*answer, manual)
	for i := range answers {
		answers[i] = w.update(time.Duration(10*i+1)*time.Second, workflows.UpdateRun)
	}
	waiting := w.snapshot((10*drainAfter + 3) * time.Second)
	w.run(6 * time.Hour)

	require.Len(t, w.runs, 2)
	require.NotEmpty(t, w.runs[1].Deferred)
	deferred := 0
	for _, o := range waiting.Running.Executions {
		if o.Deferred {
			deferred++
		}
	}
	require.Positive(t, deferred, "what came while the first run drained")
	began := map[int]bool{}
	for _, s := range w.executions() {
		began[s.Execution.Repeat] = true
	}
	for i, a := range answers {
		require.Equal(t, job.ExecutionName(registration, i+2), a.execution)
		require.True(t, began[i+2], "execution %d", i+2)
	}
}

func TestAManualRunThatWaitedForTheNextRunOfTheWorkflowHasItsCaller(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(`"frequency":"month"`)+`,"state":"disabled"`)
	w.next.Numbered, w.next.Deferred = 9, []state.ManualRun{{Repeat: 8, Caller: "alice"}, {Repeat: 9}}
	w.run(time.Minute)
	sent := w.executions()
	require.Len(t, sent, 2)
	require.Equal(t, []any{8, "alice", 9, ""}, []any{sent[0].Execution.Repeat, sent[0].Execution.Caller, sent[1].Execution.Repeat, sent[1].Execution.Caller})
}
