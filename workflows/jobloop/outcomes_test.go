package jobloop_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"almanac/activities"
	"almanac/job"
	"almanac/workflows"
)

// failsAt makes the executions with the given numbers fail.
func (w *jobEnv) failsAt(repeats ...int) {
	w.fails(func(s sentAttempt) bool { return slices.Contains(repeats, s.Execution.Repeat) })
}

func after(d time.Duration) *job.Time { return job.NewTime(newYear.Add(d)) }

func TestAStatusSaysHowTheLastExecutionsEnded(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, `"action":{`+get+noRetry+`},"recurrence":{`+minutely+`}`)
	w.takes(5 * time.Second)
	w.failsAt(2, 3)
	before, one := w.snapshot(time.Second), w.snapshot(30*time.Second)
	two, three := w.snapshot(90*time.Second), w.snapshot(150*time.Second)
	four := w.snapshot(210 * time.Second)
	w.run(4 * time.Minute)

	outcome := func(s job.Outcome, due time.Duration) *job.LastOutcome {
		return &job.LastOutcome{Status: s, ExpectedExecutionTime: after(due), EndTime: after(due + 5*time.Second)}
	}
	failed := func(due time.Duration) *job.LastError {
		return &job.LastError{Message: "it failed", EndTime: after(due + 5*time.Second)}
	}
	require.Zero(t, before.Status.Outcomes, "none has ended")
	require.Equal(t, job.Outcomes{LastOutcome: outcome(job.OutcomeCompleted, 0), LastSuccessTime: after(5 * time.Second)}, one.Status.Outcomes)
	require.Equal(t, job.Outcomes{
		LastOutcome: outcome(job.OutcomeFailed, time.Minute), LastError: failed(time.Minute), ConsecutiveFailures: 1, LastSuccessTime: after(5 * time.Second),
		FailingSince: after(65 * time.Second),
	}, two.Status.Outcomes)
	require.Equal(t, 2, three.Status.ConsecutiveFailures)
	require.Equal(t, failed(2*time.Minute), three.Status.LastError)
	require.Equal(t, job.Outcomes{
		LastOutcome: outcome(job.OutcomeCompleted, 3*time.Minute), LastError: failed(2 * time.Minute), LastSuccessTime: after(185 * time.Second),
	}, four.Status.Outcomes, "it has recovered, and shows its last error")
}

func TestOutcomesAreKeptWhileAJobIsDisabledAndByAChange(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, `"action":{`+get+noRetry+`},"recurrence":{`+minutely+`}`)
	w.failsAt(2, 3, 4)
	w.suggest = 100 * time.Second
	w.update(150*time.Second, workflows.UpdateDisable)
	disabled := w.snapshot(10 * time.Minute)
	w.replace(11*time.Minute, `"action":{`+get+noRetry+`},"recurrence":{"frequency":"hour"}`)
	changed := w.snapshot(12 * time.Minute)
	w.run(13 * time.Minute)
	require.Greater(t, len(w.runs), 1)
	require.Equal(t, job.StateDisabled, disabled.Definition.State)
	require.Equal(t, "The job is disabled.", disabled.Status.Reason)
	require.Equal(t, 2, disabled.Status.ConsecutiveFailures)
	require.Equal(t, disabled.Status.Outcomes, changed.Status.Outcomes)
	require.Empty(t, changed.Status.Reason)
}

func TestManualRunsCountAmongTheOutcomesOfAJob(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, `"action":{`+get+noRetry+`},"recurrence":{"frequency":"hour"}`)
	w.failsAt(1, 2)
	run := func(at time.Duration) *job.Job {
		w.update(at, workflows.UpdateRun)
		return w.snapshot(at + time.Minute)
	}
	failed, recovered := run(10*time.Minute), run(20*time.Minute)
	w.run(30 * time.Minute)
	require.Equal(t, 2, failed.Status.ConsecutiveFailures, "an occurrence and a manual run")
	require.Zero(t, recovered.Status.ConsecutiveFailures)
	require.Equal(t, after(20*time.Minute), recovered.Status.LastSuccessTime)
}

func TestOccurrencesThatWereNotRunAreNoOutcomes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, overlap string
		change        string
		want          job.Outcome
	}{
		{"skipped ones", `,"overlapPolicy":"Skip"`, "", job.OutcomeSkipped},
		{"missed ones", "", "", job.OutcomeMissed},
		{"cancelled ones", "", workflows.UpdateDisable, job.OutcomeCancelled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, `"action":{`+get+noRetry+`},"recurrence":{`+minutely+tt.overlap+`}`)
			w.failsAt(1)
			w.took = func(n int) time.Duration {
				if n == 2 {
					return 3*time.Minute + 10*time.Second
				}
				return 0
			}
			busy := w.snapshot(4 * time.Minute)
			if tt.change != "" {
				w.update(3*time.Minute+30*time.Second, tt.change)
			}
			end := w.snapshot(4*time.Minute + 30*time.Second)
			w.run(5 * time.Minute)
			require.Contains(t, strings.Join(w.dropped(), "\n"), string(tt.want))
			require.Equal(t, 1, busy.Status.ConsecutiveFailures)
			require.Equal(t, job.OutcomeFailed, busy.Status.LastOutcome.Status)
			require.Zero(t, end.Status.ConsecutiveFailures, "what ran has succeeded since")
			require.Equal(t, job.OutcomeCompleted, end.Status.LastOutcome.Status)
		})
	}
}

func TestTheLastErrorIsWhyTheActionFailed(t *testing.T) {
	t.Parallel()
	attempt := func(message string) error { return temporal.NewApplicationError(message, activities.ErrTypeFailed) }
	for _, tt := range []struct {
		name    string
		suggest time.Duration
		err     error
		want    string
	}{
		{"and not the error action", 0, attempt("the answer was 500"), "the answer was 500"},
		{"at most 500 bytes of it", 0, attempt(strings.Repeat("ä", 300)), strings.Repeat("ä", 248) + "…"},
		{"in an earlier run", 30 * time.Second, attempt("the answer was 500"), "the answer was 500"},
		{"or that nothing is known", 0, temporal.NewHeartbeatTimeoutError(activities.Progress{Sent: 1}),
			"The worker stopped before it recorded the outcome; the request may have been sent."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, withErrorAction(noRetry, twoRetries))
			w.suggest = tt.suggest
			w.result = func(s sentAttempt) error {
				if s.Execution.ActionName == job.MainAction {
					return tt.err
				}
				return attempt("the error action failed")
			}
			end := w.snapshot(time.Hour)
			w.run(2 * time.Hour)
			require.Equal(t, tt.suggest > 0, len(w.runs) > 1)
			require.Equal(t, tt.want, end.Status.LastError.Message)
			require.Equal(t, end.Status.LastError.EndTime, end.Status.LastOutcome.EndTime)
		})
	}
}

func TestAJobIsRunAgainIfItsLastExecutionFailed(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, `"action":{`+get+noRetry+`},"recurrence":{"frequency":"hour"}`)
	w.failsAt(1, 2)
	w.takes(10 * time.Second)
	w.suggest = 5 * time.Minute // the same holds in the next run
	ask := func(at time.Duration, key string) *answer { return w.update(at, workflows.UpdateRerun, key) }
	first, besides := ask(time.Minute, "a"), ask(time.Minute+5*time.Second, "b")
	repeated, again := ask(10*time.Minute, "a"), ask(11*time.Minute, "c")
	over := ask(12*time.Minute, "d")
	end := w.snapshot(20 * time.Minute)
	w.run(30 * time.Minute)
	require.Greater(t, len(w.runs), 1)
	for _, tt := range []struct {
		why  string
		got  *answer
		want job.RerunStatus
	}{
		{"it failed", first, job.RerunStarted},
		{"a manual run runs", besides, job.RerunUnderWay},
		{"it failed again, and this request has started that run", repeated, job.RerunUnderWay},
		{"it failed again", again, job.RerunStarted},
		{"it has succeeded", over, job.RerunNotFailed},
	} {
		require.NoError(t, tt.got.err, tt.why)
		require.Equal(t, tt.want, tt.got.rerun, tt.why)
	}
	require.Equal(t, 3, end.Status.ExecutionCount)
}

func TestTemporalsListsShowTheLastOutcomeWhenItChanges(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, started string
		want          []string
	}{
		{"of a job that was started with the search attribute", workflows.NoOutcome, []string{"Completed", "Failed", "Completed"}},
		{"and not of another, whose namespace may lack it", "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, `"action":{`+get+noRetry+`},"recurrence":{`+minutely+`,"count":9}`)
			w.listed = tt.started
			w.suggest = 100 * time.Second
			w.failsAt(3, 4, 5)
			w.run(time.Hour)
			require.Greater(t, len(w.runs), 1)
			require.Len(t, w.executions(), 9)
			require.Equal(t, tt.want, w.outcomes)
			require.Equal(t, []string{"completed"}, w.shown)
		})
	}
}

func TestTemporalsListsShowTheNextRunOfAJobThatIsAskedTo(t *testing.T) {
	t.Parallel()
	const minutely3 = `"action":{` + get + noRetry + `},"recurrence":{` + minutely + `,"count":3}`
	for _, tt := range []struct {
		name   string
		change func(*jobEnv)
		want   []string
	}{
		{"once it has run, or never will again", func(w *jobEnv) { w.takes(5 * time.Second) },
			[]string{"00:00:00 00:01:00", "00:01:05 00:02:00", "00:02:05 none"}},
		{"it stays while an execution goes on", func(w *jobEnv) { w.takes(70 * time.Second) },
			[]string{"00:00:00 00:01:00", "00:01:10 00:02:00", "00:02:20 none"}},
		{"no manual run changes it", func(w *jobEnv) { w.update(30*time.Second, workflows.UpdateRun) },
			[]string{"00:00:00 00:01:00", "00:01:00 00:02:00", "00:02:00 none"}},
		{"none while it is disabled", func(w *jobEnv) {
			w.update(30*time.Second, workflows.UpdateDisable)
			w.update(10*time.Minute+30*time.Second, workflows.UpdateEnable)
		}, []string{"00:00:00 00:01:00", "00:00:30 none", "00:10:30 00:11:00", "00:11:00 00:12:00", "00:12:00 none"}},
		{"another one as soon as it is changed", func(w *jobEnv) { w.replace(30*time.Second, `"action":{`+get+`},"recurrence":{"frequency":"day"}`) },
			[]string{"00:00:00 00:01:00", "00:00:30 2026-01-02 00:00:00"}},
		{"from a change on that asks for it", func(w *jobEnv) {
			w.next.ShowNext, w.next.ListedNext = false, time.Time{}
			w.showNext(70*time.Second, minutely3, true)
		}, []string{"00:01:10 00:02:00", "00:02:00 none"}},
		{"until a change that ends it", func(w *jobEnv) { w.showNext(70*time.Second, minutely3, false) },
			[]string{"00:00:00 00:01:00", "00:01:00 00:02:00", "00:01:10 none"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, minutely3)
			w.next.ShowNext, w.next.ListedNext = true, newYear
			w.suggest = 100 * time.Second
			tt.change(w)
			w.run(time.Hour)
			require.Equal(t, tt.want, w.nextRuns)
		})
	}
}

// showNext replaces the definition, and says whether Temporal's lists are to show the next run.
func (w *jobEnv) showNext(after time.Duration, properties string, shows bool) {
	d := definition(w.t, properties)
	w.update(after, workflows.UpdateReplace, workflows.ReplaceRequest{Definition: d, Text: d.Text(), ShowNext: &shows})
}

func TestAnExecutionThatSucceedsWritesNoSearchAttributeUnlessItIsAskedTo(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, `"action":{`+get+`},"recurrence":{`+minutely+`}`)
	w.listed = workflows.NoOutcome
	w.run(time.Hour)
	require.Empty(t, w.nextRuns)
	require.Equal(t, []string{"Completed"}, w.outcomes)
}
