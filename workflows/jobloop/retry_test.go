package jobloop_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/temporal"

	"almanac/activities"
	"almanac/job"
	"almanac/job/template"
)

// withErrorAction returns a one-time job; retry and errorRetry are added to the JSON of its action and
// of the error action.
func withErrorAction(retry, errorRetry string) string {
	return `"action":{` + get + retry + `,"errorAction":{"type":"Http","request":{"uri":"http://127.0.0.1/sorry","method":"POST"}` + errorRetry + `}}`
}

const (
	noRetry    = `,"retryPolicy":{"retryType":"none"}`
	twoRetries = `,"retryPolicy":{"retryType":"fixed","retryInterval":"PT1M","retryCount":2}`
)

func TestRetriesAndTheErrorAction(t *testing.T) {
	t.Parallel()
	mainFails := func(s sentAttempt) bool { return s.Execution.ActionName == job.MainAction }
	for _, tt := range []struct {
		name, properties string
		fails            func(sentAttempt) bool
		want             []string
		failed, faulted  int
	}{
		{"without a policy there are 4 retries 30 s apart", once, always, []string{
			"00:00:00 MainAction#1", "00:00:30 MainAction#2", "00:01:00 MainAction#3", "00:01:30 MainAction#4", "00:02:00 MainAction#5",
		}, 1, 1},
		{"a policy says how many retries and how far apart", `"action":{` + get + twoRetries + `}`, always, []string{
			"00:00:00 MainAction#1", "00:01:00 MainAction#2", "00:02:00 MainAction#3",
		}, 1, 1},
		{"retryType none is one attempt", `"action":{` + get + noRetry + `}`, always, []string{"00:00:00 MainAction#1"}, 1, 1},
		{"a success ends the retries", once, func(s sentAttempt) bool { return s.attempt() < 3 }, []string{
			"00:00:00 MainAction#1", "00:00:30 MainAction#2", "00:01:00 MainAction#3",
		}, 0, 0},
		{"no error action runs after a success", withErrorAction(twoRetries, ""), func(s sentAttempt) bool { return s.attempt() < 3 }, []string{
			"00:00:00 MainAction#1", "00:01:00 MainAction#2", "00:02:00 MainAction#3",
		}, 0, 0},
		{"the error action runs once after the last failure", withErrorAction(twoRetries, ""), mainFails, []string{
			"00:00:00 MainAction#1", "00:01:00 MainAction#2", "00:02:00 MainAction#3", "00:02:00 ErrorAction#1",
		}, 1, 1},
		{"the error action inherits the retry policy", withErrorAction(twoRetries, ""), always, []string{
			"00:00:00 MainAction#1", "00:01:00 MainAction#2", "00:02:00 MainAction#3",
			"00:02:00 ErrorAction#1", "00:03:00 ErrorAction#2", "00:04:00 ErrorAction#3",
		}, 1, 1},
		{"the error action inherits the default retry policy too", withErrorAction("", ""),
			func(s sentAttempt) bool { return s.Execution.ActionName == job.MainAction || s.attempt() == 1 }, []string{
				"00:00:00 MainAction#1", "00:00:30 MainAction#2", "00:01:00 MainAction#3", "00:01:30 MainAction#4", "00:02:00 MainAction#5",
				"00:02:00 ErrorAction#1", "00:02:30 ErrorAction#2",
			}, 1, 1},
		{"the error action may have its own retry policy", withErrorAction(noRetry, twoRetries), always, []string{
			"00:00:00 MainAction#1", "00:00:00 ErrorAction#1", "00:01:00 ErrorAction#2", "00:02:00 ErrorAction#3",
		}, 1, 1},
		{"the error action may have no retries where the action has", withErrorAction(twoRetries, noRetry), always, []string{
			"00:00:00 MainAction#1", "00:01:00 MainAction#2", "00:02:00 MainAction#3", "00:02:00 ErrorAction#1",
		}, 1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, tt.properties)
			w.fails(tt.fails)
			got := w.snapshot(time.Hour)
			w.run(2 * time.Hour)
			require.Equal(t, tt.want, w.lines())
			require.Equal(t, 1, got.Status.ExecutionCount, "neither retries nor error actions count")
			require.Equal(t, tt.failed, got.Status.FailureCount)
			require.Equal(t, tt.faulted, got.Status.FaultedCount)
			w.requireSound()
		})
	}
}

func TestAllAttemptsOfAnExecutionCarryItsID(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, withErrorAction(twoRetries, "")+`,"recurrence":{"frequency":"hour","count":2}`)
	w.fails(always)
	w.run(3 * time.Hour)
	require.Len(t, w.sent, 12)
	first, second := w.sent[0].Execution, w.sent[6].Execution
	require.NotEqual(t, first.ID, second.ID)
	for i, s := range w.sent {
		want := first
		if i >= 6 {
			want = second
		}
		want.ActionName = s.Execution.ActionName
		require.Equal(t, want, s.Execution)
		require.Equal(t, 3, s.MaxAttempts)
		require.Nil(t, s.Action.ErrorAction, "the activity gets one action")
	}
	require.Equal(t, []int{1, 2}, []int{first.Repeat, second.Repeat})
	require.Equal(t, "GET", w.sent[2].Action.Request.Method)
	require.Equal(t, job.ErrorAction, w.sent[3].Execution.ActionName)
	require.Equal(t, "POST", w.sent[3].Action.Request.Method)
}

func TestAPermanentFailureIsNotRetried(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, withErrorAction(twoRetries, ""))
	w.result = func(s sentAttempt) error {
		if s.Execution.ActionName == job.MainAction {
			return temporal.NewNonRetryableApplicationError("it is no use", activities.ErrTypeFailed, errors.New("404"))
		}
		return nil
	}
	got := w.snapshot(time.Hour)
	w.run(2 * time.Hour)
	require.Equal(t, []string{"00:00:00 MainAction#1", "00:00:00 ErrorAction#1"}, w.lines())
	require.Equal(t, 1, got.Status.FaultedCount)
	require.Equal(t, job.StateFaulted, got.Definition.State)
}

// explained is an error action with placeholders for what failed.
const explained = `"errorAction":{"type":"Http","request":{"uri":"http://127.0.0.1/","body":"{{.Failure.Error}}","template":true}}`

func TestAnErrorActionWithPlaceholdersGetsWhatFailed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, retry string
		suggest     time.Duration
		fate        workerFate
		want        template.Failure
	}{
		{"after one attempt", noRetry, 0, sent, template.Failure{Error: "it failed", Attempts: 1}},
		{"after retries", twoRetries, 0, sent, template.Failure{Error: "it failed", Attempts: 3}},
		{"after retries in several runs", twoRetries, 30 * time.Second, sent, template.Failure{Error: "it failed", Attempts: 3}},
		{"after its worker was lost", noRetry, 0, killedSent, template.Failure{Error: "lost", Attempts: 1}},
		{"after its worker was lost before it reported", noRetry, 0, killedUnreported, template.Failure{Error: "it failed", Attempts: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, `"action":{`+get+tt.retry+`,`+explained+`}`)
			w.suggest = tt.suggest
			mainAction := func(s sentAttempt) bool { return s.Execution.ActionName == job.MainAction }
			w.fails(func(s sentAttempt) bool { return mainAction(s) || s.attempt() < 3 })
			w.workerFate = func(s sentAttempt) workerFate {
				if mainAction(s) {
					return tt.fate
				}
				return sent
			}
			w.run(2 * time.Hour)
			told := 0
			for _, s := range w.sent {
				require.Equal(t, mainAction(s), s.Explain)
				if mainAction(s) {
					require.Nil(t, s.Failure)
					continue
				}
				told++
				require.Equal(t, &tt.want, s.Failure)
			}
			require.Positive(t, told)
			require.Equal(t, tt.suggest > 0, len(w.runs) > 1)
			w.requireSound()
		})
	}
}

func TestActionsWithPlaceholdersGetTheTimeOfTheLastSuccess(t *testing.T) {
	t.Parallel()
	const body = `"body":"{{.LastSuccess}}","template":true}`
	w := newJobEnv(t, `"action":{"type":"Http","request":{"uri":"http://127.0.0.1/",`+body+noRetry+`,"errorAction":{"type":"Http","request":{"uri":"http://127.0.0.1/",`+body+`}},"recurrence":{"frequency":"minute"}`)
	w.fails(func(s sentAttempt) bool {
		return s.Execution.ActionName == job.MainAction && (s.Execution.Repeat == 1 || s.Execution.Repeat == 3)
	})
	w.suggest = 90 * time.Second
	w.run(3*time.Minute + 30*time.Second)
	var got []string
	for _, s := range w.sent {
		last := "never"
		if !s.LastSuccess.IsZero() {
			last = clock(s.LastSuccess)
		}
		got = append(got, fmt.Sprint(s.Execution.Repeat, s.Execution.ActionName, " ", last))
	}
	require.Equal(t, []string{"1MainAction never", "1ErrorAction never", "2MainAction never", "3MainAction 00:01:00", "3ErrorAction 00:01:00", "4MainAction 00:01:00"}, got)
	require.Greater(t, len(w.runs), 1, "the next run knows it")
	w.requireSound()
}

func TestActionsWithoutPlaceholdersGetNoTimeOfTheLastSuccess(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, watched(``))
	w.run(2*time.Minute + 30*time.Second)
	require.Len(t, w.sent, 3)
	for _, s := range w.sent {
		require.Zero(t, s.LastSuccess)
	}
}

func TestOtherErrorActionsGetNothing(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, withErrorAction(noRetry, ""))
	w.fails(always)
	w.run(2 * time.Hour)
	require.NotEmpty(t, w.sent)
	for _, s := range w.sent {
		require.False(t, s.Explain)
		require.Nil(t, s.Failure)
	}
}

func TestANewJobOfAnOldNameHasOtherExecutionIDs(t *testing.T) {
	t.Parallel()
	old, anew := newJobEnv(t, once), newJobEnv(t, once)
	anew.next.Created = anew.next.Created.Add(time.Second)
	old.run(time.Hour)
	anew.run(time.Hour)
	require.NotEqual(t, old.sent[0].Execution.ID, anew.sent[0].Execution.ID)
}

func TestTheSummaryOfAnActivityNamesTheAttemptsThatItMayMake(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		retry string
		want  []string
	}{
		"of retries that follow soon":           {`,"retryPolicy":{"retryType":"fixed","retryInterval":"PT15S","retryCount":2}`, []string{" (attempts 1 to 3)"}},
		"of retries of activities of their own": {`,"retryPolicy":{"retryType":"fixed","retryInterval":"PT1H","retryCount":2}`, []string{" (attempts 1 to 3)", " (attempts 2 to 3)", " (attempt 3 of 3)"}},
		"and says nothing of a single one":      {noRetry, []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, `"action":{`+get+tt.retry+`}`)
			w.fails(always)
			w.run(5 * time.Hour)
			var got []string
			for _, s := range w.sent {
				before, after, found := strings.Cut(s.options.Summary, ": GET ")
				require.True(t, found, s.options.Summary)
				require.NotEmpty(t, after)
				_, attempts, _ := strings.Cut(before, "Z")
				if n := len(got); n == 0 || got[n-1] != attempts {
					got = append(got, attempts)
				}
			}
			require.Equal(t, tt.want, got)
		})
	}
}

func TestTheDetailsSayWhatFailedBeforeTheNextAttempt(t *testing.T) {
	t.Parallel()
	const slow = `,"retryPolicy":{"retryType":"fixed","retryInterval":"PT10M","retryCount":4}`
	w := newJobEnv(t, `"action":{`+get+slow+`},"recurrence":{"frequency":"hour"}`)
	w.fails(func(s sentAttempt) bool { return s.at.Before(newYear.Add(5 * time.Minute)) })
	var waiting, over string
	w.at(5*time.Minute, func() { waiting = w.details() })
	w.at(15*time.Minute, func() { over = w.details() })
	w.run(30 * time.Minute)
	require.Regexp(t, `^\*\*.+\*\* \(enabled\), waits for attempt 2 of 5 at 2026-01-01T00:10:0.*Z\n\n.+\n\nGET `, waiting)
	require.Contains(t, waiting, "executions: 1, failures: 1, faulted: 0")
	require.Regexp(t, `^\*\*.+\*\* \(enabled\)\n\nGET `, over)
	require.Contains(t, over, "executions: 1, failures: 0, faulted: 0")
	w.requireSound()
}

// details returns what Temporal's Web UI and CLI show as the current details of the job.
func (w *jobEnv) details() string {
	w.t.Helper()
	answer, err := w.env.QueryWorkflow("__temporal_workflow_metadata")
	require.NoError(w.t, err)
	var m sdk.WorkflowMetadata
	require.NoError(w.t, answer.Get(&m))
	return m.CurrentDetails
}
