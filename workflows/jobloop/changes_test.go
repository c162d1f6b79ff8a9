package jobloop_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/workflows"
)

const minutely = `"frequency":"minute"`

func TestRunNow(t *testing.T) {
	t.Parallel()
	t.Run("runs an enabled job beside its occurrences", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, every(minutely+`,"count":3`))
		a := w.update(30*time.Second, workflows.UpdateRun)
		ran := w.snapshot(30*time.Second + time.Millisecond)
		end := w.snapshot(time.Hour)
		w.run(2 * time.Hour)
		a.ok(t)
		require.Equal(t, 2, ran.Status.ExecutionCount)
		require.Equal(t, []string{"00:00:00", "00:00:30", "00:01:00", "00:02:00"}, w.dues(), "it does not use up count")
		require.Equal(t, 4, end.Status.ExecutionCount)
		w.requireSound()
	})
	t.Run("runs a disabled job", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, every(minutely)+`,"state":"disabled"`)
		a := w.update(30*time.Second, workflows.UpdateRun)
		ran := w.snapshot(30*time.Second + time.Millisecond)
		w.run(time.Hour)
		a.ok(t)
		require.Equal(t, job.StateDisabled, ran.Definition.State)
		require.Equal(t, []string{"00:00:30"}, w.dues())
	})
	t.Run("runs a job whose collection is disabled", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, every(minutely))
		w.next.CollectionDisabled = true
		w.signal(30*time.Second, workflows.UpdateRun, nil)
		w.run(time.Hour)
		require.Equal(t, []string{"00:00:30"}, w.dues())
	})
	t.Run("runs a busy job beside what runs, and does not make an occurrence wait", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, every(minutely))
		w.takes(50 * time.Second)
		w.signal(20*time.Second, workflows.UpdateRun, nil)
		w.signal(30*time.Second, workflows.UpdateRun, nil)
		w.run(90 * time.Second)
		require.Equal(t, []string{"00:00:00 00:00:00", "00:00:20 00:00:20", "00:00:30 00:00:30", "00:01:00 00:01:00"}, w.starts())
		w.requireSound()
	})
	t.Run("has its own retries and counts as failed", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, `"action":{`+get+twoRetries+`},"state":"disabled"`)
		w.fails(always)
		w.signal(time.Minute, workflows.UpdateRun, nil)
		end := w.snapshot(time.Hour)
		w.run(2 * time.Hour)
		require.Equal(t, []string{"00:01:00 MainAction#1", "00:02:00 MainAction#2", "00:03:00 MainAction#3"}, w.lines())
		require.Equal(t, job.Status{
			LastExecutionTime: job.NewTime(newYear.Add(time.Minute)), ExecutionCount: 1, FailureCount: 1, FaultedCount: 1,
		}, counted(end.Status))
	})
	t.Run("does not decide whether the job is faulted", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, `"action":{`+get+noRetry+`},"recurrence":{"frequency":"minute","count":2}`)
		w.fails(func(s sentAttempt) bool { return s.Execution.Repeat == 3 })
		w.takes(10 * time.Second)
		w.signal(65*time.Second, workflows.UpdateRun, nil) // ends last
		end := w.snapshot(time.Hour)
		w.run(2 * time.Hour)
		require.Equal(t, []string{"00:00:00", "00:01:00", "00:01:05"}, w.dues())
		require.Equal(t, 1, end.Status.FaultedCount)
		require.Equal(t, job.StateCompleted, end.Definition.State)
	})
	t.Run("does not delay the end of the job", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, `"action":{`+get+twoRetries+`},"recurrence":{`+minutely+`,"count":2}`)
		w.fails(func(s sentAttempt) bool { return s.Execution.Repeat == 2 })
		w.signal(50*time.Second, workflows.UpdateRun, nil) // waits for a retry when the last occurrence ends
		read := w.snapshot(70 * time.Second)
		w.run(time.Hour)
		require.Equal(t, job.StateCompleted, read.Definition.State)
		require.Len(t, w.lines(), 5, "it goes on")
		w.requireSound()
	})
	t.Run("is refused while too many are running", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, every(`"frequency":"hour"`)+`,"state":"disabled"`)
		w.takes(time.Minute)
		for range 50 {
			w.signal(10*time.Second, workflows.UpdateRun, nil)
		}
		w.signal(20*time.Second, workflows.UpdateRun, nil)
		refused := w.update(30*time.Second, workflows.UpdateRun)
		again := w.update(2*time.Minute, workflows.UpdateRun)
		w.run(time.Hour)
		refused.refused(t, workflows.ErrTypeConflict)
		again.ok(t)
		require.Equal(t, job.ExecutionName(registration, 51), again.execution)
		require.Len(t, w.executions(), 51)
		w.requireSound()
	})
}

func TestDisable(t *testing.T) {
	t.Parallel()
	for name, disable := range map[string]func(*jobEnv, time.Duration){
		"by update": func(w *jobEnv, at time.Duration) { w.update(at, workflows.UpdateDisable) },
		"by signal": func(w *jobEnv, at time.Duration) { w.signal(at, workflows.UpdateDisable, nil) },
		"by a replace with state disabled": func(w *jobEnv, at time.Duration) {
			w.replace(at, `"action":{`+get+`,"retryPolicy":{"retryInterval":"PT10M"}},"recurrence":{`+minutely+`},"state":"disabled"`)
		},
		"by the collection": func(w *jobEnv, at time.Duration) { w.update(at, workflows.UpdateCollection, collectionIs(false)) },
	} {
		t.Run(name+" starts nothing more and stops the retries", func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, `"action":{`+get+`,"retryPolicy":{"retryInterval":"PT10M"}},"recurrence":{`+minutely+`}`)
			w.fails(always)
			disable(w, 150*time.Second) // 00:01 and 00:02 wait
			got := w.snapshot(time.Hour)
			w.run(2 * time.Hour)
			require.Equal(t, []string{"00:00:00 MainAction#1"}, w.lines())
			require.Equal(t, []string{"Cancelled 2: 00:01:00 to 00:02:00"}, w.dropped())
			require.Equal(t, 1, got.Status.FailureCount)
			require.Zero(t, got.Status.FaultedCount, "its retries were not exhausted")
			require.Nil(t, got.Status.NextExecutionTime)
		})
	}
	t.Run("does not run the error action of what it stopped", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, withErrorAction(twoRetries, ""))
		w.fails(always)
		w.signal(30*time.Second, workflows.UpdateDisable, nil)
		w.run(time.Hour)
		require.Equal(t, []string{"00:00:00 MainAction#1"}, w.lines())
	})
	t.Run("stops the retries of an error action and of a manual run", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, withErrorAction(noRetry, twoRetries)+`,"state":"disabled"`)
		w.fails(always)
		w.signal(10*time.Second, workflows.UpdateRun, nil)
		a := w.replace(30*time.Second, withErrorAction(noRetry, "")+`,"state":"disabled"`)
		w.run(time.Hour)
		a.ok(t)
		require.Equal(t, []string{"00:00:10 MainAction#1", "00:00:10 ErrorAction#1"}, w.lines())
	})
	for state, properties := range map[string]string{
		"enabled":   `"action":{` + get + twoRetries + `},"recurrence":{"frequency":"month"},"startTime":"2026-01-20T00:00:00Z"`,
		"disabled":  `"action":{` + get + twoRetries + `},"state":"disabled"`,
		"completed": `"action":{` + get + twoRetries + `},"recurrence":{` + minutely + `,"endTime":"2026-01-01T00:00:00Z"}`,
	} {
		t.Run("by the collection stops the retries of a manual run of a job that is "+state, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, properties)
			w.signal(90*time.Second, workflows.UpdateRun, nil)
			w.at(80*time.Second, func() { w.fails(always) })
			before := w.snapshot(91 * time.Second)
			w.update(100*time.Second, workflows.UpdateCollection, collectionIs(false))
			w.update(101*time.Second, workflows.UpdateCollection, collectionIs(true))
			w.run(time.Hour)
			require.EqualValues(t, state, before.Definition.State)
			require.Equal(t, "00:01:30 MainAction#1", w.lines()[len(w.lines())-1])
		})
	}
	t.Run("does nothing to a disabled job", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, every(minutely)+`,"state":"disabled"`)
		a := w.update(time.Minute, workflows.UpdateDisable)
		w.run(time.Hour)
		require.Equal(t, registration, a.ok(t).Generation)
		require.Empty(t, w.sent)
	})
}

func TestEnableContinuesFromNow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, properties string
		enable           time.Duration
		want             []string // in the next 3 minutes
	}{
		{"with the first instant of the grid", every(minutely), 5*time.Minute + 10*time.Second, []string{"00:06:00", "00:07:00", "00:08:00"}},
		{"with the instant that is now", every(minutely), 5*time.Minute + 900*time.Millisecond, []string{"00:05:00", "00:06:00", "00:07:00", "00:08:00"}},
		{"whatever the catch-up window", every(minutely + `,"catchUpWindow":"P1D"`), 5*time.Minute + 10*time.Second, []string{"00:06:00", "00:07:00", "00:08:00"}},
		{"with the whole count", every(minutely + `,"count":2`), 5*time.Minute + 10*time.Second, []string{"00:06:00", "00:07:00"}},
		{"with a start time to come", every(minutely) + `,"startTime":"2026-01-01T00:06:30Z"`, 5 * time.Minute, []string{"00:06:30", "00:07:30"}},
		{"with the run of a one-time job to come", once + `,"startTime":"2026-01-01T00:06:30Z"`, 5 * time.Minute, []string{"00:06:30"}},
		{"with the run of a one-time job whose time has passed", once + `,"startTime":"2026-01-01T00:00:30Z"`, 5 * time.Minute, []string{"00:00:30"}},
		{"with the run of a one-time job that has no start time", once, 5 * time.Minute, []string{"00:00:00"}},
		{"with nothing after the end time", every(minutely + `,"endTime":"2026-01-01T00:04:00Z"`), 5 * time.Minute, []string{}},
		{"and runs nothing at once in the second of the creation", every(`"frequency":"day","schedule":{"hours":[0],"minutes":[2]}`),
			300 * time.Millisecond, []string{"00:02:00"}},
	} {
		for by, enable := range map[string]func(*jobEnv){
			"by signal": func(w *jobEnv) {
				w.next.Definition.State = job.StateDisabled
				w.signal(tt.enable, workflows.UpdateEnable, nil)
			},
			"by the collection": func(w *jobEnv) {
				w.next.CollectionDisabled = true
				w.update(tt.enable, workflows.UpdateCollection, collectionIs(true))
			},
		} {
			t.Run(by+" "+tt.name, func(t *testing.T) {
				t.Parallel()
				w := newJobEnv(t, tt.properties)
				enable(w)
				before := w.snapshot(tt.enable - 100*time.Millisecond)
				after := w.snapshot(tt.enable + 3*time.Minute)
				w.run(tt.enable + 3*time.Minute + time.Second)
				require.Nil(t, before.Status.NextExecutionTime)
				require.Equal(t, tt.want, w.dues())
				require.Empty(t, w.dropped())
				if after.Status.NextExecutionTime == nil {
					require.Equal(t, job.StateCompleted, after.Definition.State)
				}
				w.requireSound()
			})
		}
	}
}

func TestAJobAppliesTheStateOfItsCollectionBeforeItAnswers(t *testing.T) {
	t.Parallel()
	t.Run("that it is disabled", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, `"action":{`+get+twoRetries+`},"recurrence":{`+minutely+`}`)
		w.fails(always)
		w.lookTakes = time.Second // before the waiting retry is cancelled
		a := w.update(30*time.Second, workflows.UpdateCollection, collectionIs(false))
		var early bool
		w.at(30*time.Second+900*time.Millisecond, func() { early = a.completed })
		b := w.update(40*time.Second, workflows.UpdateCollection, collectionIs(false)) // no change
		read := w.snapshot(10 * time.Minute)
		w.run(time.Hour)
		a.ok(t)
		b.ok(t)
		require.False(t, early)
		require.Equal(t, []string{"00:00:00 MainAction#1"}, w.lines())
		require.Equal(t, job.StateEnabled, read.Definition.State, "its own state stays")
		require.Equal(t, registration, read.Generation)
		require.Nil(t, read.Status.NextExecutionTime)
	})
	t.Run("that it is enabled", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, every(minutely))
		w.next.CollectionDisabled = true
		a := w.update(5*time.Minute+10*time.Second, workflows.UpdateCollection, collectionIs(true))
		read := w.snapshot(5*time.Minute + 11*time.Second)
		w.run(6*time.Minute + 10*time.Second)
		a.ok(t)
		require.Equal(t, "2026-01-01T00:06:00Z", read.Status.NextExecutionTime.String())
		require.Equal(t, []string{"00:06:00"}, w.dues())
	})
	t.Run("and stays disabled if it is so itself", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, every(minutely)+`,"state":"disabled"`)
		w.next.CollectionDisabled = true
		a := w.update(time.Minute, workflows.UpdateCollection, collectionIs(true))
		w.run(time.Hour)
		a.ok(t)
		require.Empty(t, w.sent)
	})
}

// The server forgets the attempts of an execution that is cancelled while it waits for a retry. So a
// retry that is about to begin is awaited.
func TestAChangeAwaitsARetryThatIsAboutToBegin(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		before time.Duration // between the change and the retry
		want   []string
	}{
		{2 * time.Second, []string{"00:00:00 MainAction#1"}},
		{300 * time.Millisecond, []string{"00:00:00 MainAction#1", "00:00:20 MainAction#2"}},
	} {
		t.Run(tt.before.String()+" before", func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, `"action":{`+get+`,"retryPolicy":{"retryInterval":"PT20S","retryCount":5}},"recurrence":{`+minutely+`}`)
			w.fails(always)
			a := w.update(20*time.Second-tt.before, workflows.UpdateDisable)
			read := w.snapshot(30 * time.Second)
			w.run(time.Hour)
			a.ok(t)
			require.Equal(t, tt.want, w.lines())
			require.LessOrEqual(t, a.at, 20*time.Second+2*time.Second)
			require.Equal(t, 1, read.Status.FailureCount)
		})
	}
}

// A retry that no worker takes up is not awaited for long. Once it is cancelled, the server does not tell an attempt
// that failed at once from none. The history lists it after the attempt that the job was told of, so the occurrence has no
// entry beside these.
func TestARetryThatWasDueWhenTheJobWasChangedHasOneEntry(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]time.Duration{
		"it is overdue": 25 * time.Second, "it is not due yet": 15 * time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, `"action":{`+get+`,"retryPolicy":{"retryInterval":"PT20S","retryCount":5}},"recurrence":{`+minutely+`}`)
			w.fails(always)
			w.retryQueued = 30 * time.Second
			a := w.update(change, workflows.UpdateDisable)
			read := w.snapshot(50 * time.Second)
			w.run(time.Hour)
			a.ok(t)
			require.LessOrEqual(t, a.at, change+3*time.Second)
			require.Equal(t, []string{"00:00:00 MainAction#1"}, w.lines())
			require.Empty(t, w.dropped())
			require.Equal(t, 1, read.Status.FailureCount)
		})
	}
}

func TestEnableKeepsTheRetriesOfAManualRun(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, withErrorAction(twoRetries, "")+`,"state":"disabled","startTime":"2026-01-02T00:00:00Z"`)
	w.fails(func(s sentAttempt) bool { return s.attempt() == 1 })
	w.signal(10*time.Second, workflows.UpdateRun, nil)
	w.signal(20*time.Second, workflows.UpdateEnable, nil)
	w.run(time.Hour)
	require.Len(t, w.lines(), 2, "the first attempt and its retry: %q", w.lines())
}

func TestAOneTimeJobRunsOnceHoweverOftenItIsEnabled(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, once+`,"startTime":"2026-01-01T01:00:00Z"`)
	w.takes(30 * time.Second)
	for _, at := range []time.Duration{30 * time.Minute, time.Hour + 10*time.Second} { // before it, and while it runs
		w.signal(at, workflows.UpdateDisable, nil)
		w.signal(at+time.Second, workflows.UpdateEnable, nil)
	}
	got := w.snapshot(2 * time.Hour)
	w.run(3 * time.Hour)
	require.Equal(t, []string{"01:00:00"}, w.dues())
	require.True(t, got.Definition.State.Final())
}

func TestAJobThatWasMadeAOneTimeJobRunsWhenItIsEnabledTooLate(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(`"frequency":"hour"`))
	w.replace(10*time.Minute, once+`,"startTime":"2026-01-01T02:00:00Z"`)
	w.signal(20*time.Minute, workflows.UpdateDisable, nil)
	w.signal(3*time.Hour, workflows.UpdateEnable, nil)
	w.run(4 * time.Hour)
	require.Equal(t, []string{"00:00:00 00:00:00", "02:00:00 03:00:00"}, w.starts())
	w.requireSound()
}

func TestReplace(t *testing.T) {
	t.Parallel()
	const post = `"action":{"type":"Http","request":{"uri":"http://127.0.0.1/new","method":"POST"}}`
	t.Run("of the schedule runs nothing at once and continues from now on", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, every(`"frequency":"hour"`))
		a := w.replace(5*time.Minute+10*time.Second, every(`"frequency":"minute","interval":2`))
		w.run(9 * time.Minute)
		require.Equal(t, "2026-01-01T00:06:00Z", a.ok(t).Status.NextExecutionTime.String())
		require.Equal(t, registration+1, a.job.Generation)
		require.Equal(t, []string{"00:00:00", "00:06:00", "00:08:00"}, w.dues())
		w.requireSound()
	})
	t.Run("of the schedule drops what waits", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, every(minutely))
		w.takes(150 * time.Second)
		w.replace(140*time.Second, every(`"frequency":"minute","interval":4`))
		w.run(5 * time.Minute)
		require.Equal(t, []string{"00:00:00 00:00:00", "00:04:00 00:04:00"}, w.starts())
		require.Equal(t, []string{"Cancelled 2: 00:01:00 to 00:02:00"}, w.dropped())
	})
	t.Run("with a start time in the past runs nothing at once", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, every(`"frequency":"hour"`))
		a := w.replace(5*time.Minute, once+`,"startTime":"2026-01-01T00:01:00Z"`)
		after := w.snapshot(6 * time.Minute)
		w.run(10 * time.Minute)
		require.Equal(t, job.StateCompleted, a.ok(t).Definition.State, "as the change answers")
		require.Equal(t, []string{"00:00:00"}, w.dues())
		require.Equal(t, job.StateCompleted, after.Definition.State)
	})
	t.Run("with an end time in the past completes the job, which says why", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, every(`"frequency":"hour"`))
		a := w.replace(5*time.Minute, every(`"frequency":"hour","endTime":"2026-01-01T00:02:00Z"`))
		after := w.snapshot(6 * time.Minute)
		w.run(10 * time.Minute)
		require.Equal(t, job.StateCompleted, a.ok(t).Definition.State, "as the change answers")
		require.Equal(t, job.StateCompleted, after.Definition.State)
		require.Equal(t, "No occurrence is left at or before the job's endTime, 2026-01-01T00:02:00Z.", after.Status.Reason)
	})
	t.Run("that takes the start time away in the second of the creation runs nothing at once", func(t *testing.T) {
		t.Parallel()
		const daily = `"frequency":"day","schedule":{"hours":[0],"minutes":[2]}`
		w := newJobEnv(t, every(daily)+`,"startTime":"2026-02-01T00:00:00Z"`)
		w.replace(300*time.Millisecond, every(daily))
		w.run(time.Hour)
		require.Equal(t, []string{"00:02:00"}, w.dues())
	})
	t.Run("of the action leaves the plan and runs nothing by the old one", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, `"action":{`+get+twoRetries+`},"recurrence":{`+minutely+`}`)
		w.fails(func(s sentAttempt) bool { return s.Action.Request.Method == "GET" })
		a := w.replace(90*time.Second, post+`,"recurrence":{`+minutely+`}`)
		w.run(3*time.Minute + 10*time.Second)
		a.ok(t)
		require.Equal(t, []string{
			"00:00:00 MainAction#1", "00:01:00 MainAction#2", "00:01:30 MainAction#1", "00:02:00 MainAction#1", "00:03:00 MainAction#1",
		}, w.lines())
		require.Equal(t, []string{"00:00:00", "00:01:00", "00:02:00", "00:03:00"}, w.dues())
		for _, s := range w.sent[2:] {
			require.Equal(t, "POST", s.Action.Request.Method)
		}
		require.Empty(t, w.dropped())
		w.requireSound()
	})
	t.Run("keeps what is not the schedule's business from touching it", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, every(minutely))
		w.replace(10*time.Second, every(minutely+`,"overlapPolicy":"Skip","catchUpWindow":"PT1H"`))
		w.run(150 * time.Second)
		require.Equal(t, []string{"00:00:00", "00:01:00", "00:02:00"}, w.dues())
	})
	t.Run("by the same definition changes nothing", func(t *testing.T) {
		t.Parallel()
		properties := `"action":{` + get + twoRetries + `},"recurrence":{` + minutely + `,"count":2}`
		w := newJobEnv(t, properties)
		w.fails(always)
		a := w.replace(30*time.Second, properties)
		b := w.update(40*time.Second, workflows.UpdateEnable)
		w.run(time.Hour)
		require.Equal(t, registration, a.ok(t).Generation)
		require.Equal(t, registration, b.ok(t).Generation)
		require.Equal(t, []string{"00:00:00 MainAction#1", "00:01:00 MainAction#2", "00:02:00 MainAction#3"}, w.lines()[:3])
		require.Len(t, w.sent, 6)
		require.Empty(t, w.dropped())
	})
	t.Run("of what was changed meanwhile is refused", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, every(minutely))
		request := func(interval string, generation int) workflows.ReplaceRequest {
			return workflows.ReplaceRequest{Definition: definition(t, every(minutely+`,"interval":`+interval)), Generation: generation}
		}
		first := w.update(10*time.Second, workflows.UpdateReplace, request("2", registration))
		stale := w.update(20*time.Second, workflows.UpdateReplace, request("3", registration))
		whichever := w.update(30*time.Second, workflows.UpdateReplace, request("4", 0))
		w.run(time.Minute)
		require.Equal(t, registration+1, first.ok(t).Generation)
		stale.refused(t, workflows.ErrTypeStale)
		require.Equal(t, 4, whichever.ok(t).Definition.Recurrence.Interval)
		require.Equal(t, registration+2, whichever.job.Generation)
	})
	t.Run("by what cannot be planned is refused", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, every(minutely))
		d := definition(t, every(minutely))
		d.Recurrence.TimeZone = "Europe/Atlantis"
		a := w.update(30*time.Second, workflows.UpdateReplace, workflows.ReplaceRequest{Definition: d})
		w.run(90 * time.Second)
		a.refused(t, workflows.ErrTypeInvalid)
		require.Equal(t, []string{"00:00:00", "00:01:00"}, w.dues(), "the job goes on as it was")
	})
	t.Run("by what the API would have stored differently is refused", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, every(minutely))
		d := definition(t, every(minutely))
		d.State = "Disabled"
		a := w.update(30*time.Second, workflows.UpdateReplace, workflows.ReplaceRequest{Definition: d})
		w.run(90 * time.Second)
		a.refused(t, workflows.ErrTypeInvalid)
		require.ErrorContains(t, a.err, `state: "Disabled" is not supported; allowed: disabled`)
		require.Equal(t, []string{"00:00:00", "00:01:00"}, w.dues(), "the job goes on as it was")
	})
	t.Run("in the second of an occurrence does not run it again", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, every(minutely))
		for i, recurrence := range []string{minutely + `,"interval":2`, minutely + `,"interval":3`, `"frequency":"hour"`, minutely} {
			w.replace(2*time.Minute+time.Duration(5+i)*100*time.Millisecond, every(recurrence))
		}
		w.signal(2*time.Minute+910*time.Millisecond, workflows.UpdateDisable, nil)
		w.signal(2*time.Minute+920*time.Millisecond, workflows.UpdateEnable, nil)
		w.update(2*time.Minute+930*time.Millisecond, workflows.UpdateCollection, collectionIs(false))
		w.update(2*time.Minute+940*time.Millisecond, workflows.UpdateCollection, collectionIs(true))
		w.run(3*time.Minute + 10*time.Second)
		require.Equal(t, []string{"00:00:00", "00:01:00", "00:02:00", "00:03:00"}, w.dues())
		require.Empty(t, w.dropped())
		w.requireSound()
	})
	t.Run("of a disabled job plans nothing before it is enabled", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, every(`"frequency":"hour"`)+`,"state":"disabled"`)
		a := w.replace(time.Minute, every(minutely)+`,"state":"disabled"`)
		w.signal(5*time.Minute+time.Second, workflows.UpdateEnable, nil)
		w.run(7*time.Minute + 10*time.Second)
		require.Nil(t, a.ok(t).Status.NextExecutionTime)
		require.Equal(t, []string{"00:06:00", "00:07:00"}, w.dues())
	})
}

func TestAChangeWhileManyOccurrencesAreDroppedDoesNotEndTheJob(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(minutely))
	const down = 60 * 24 * time.Hour
	w.now = newYear.Add(down)
	a := w.replace(down+1500*time.Microsecond, every(minutely+`,"overlapPolicy":"Skip"`))
	w.run(down + 90*time.Second)
	require.Equal(t, job.StateEnabled, a.ok(t).Definition.State)
	require.Equal(t, []string{"2026-03-02 00:00:00", "2026-03-02 00:01:00"}, w.dues())
	require.Equal(t, 60*24*60, w.missed())
}

func TestAChangeKeepsTheAttemptsThatFailedBefore(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, `"action":{`+get+twoRetries+`},"recurrence":{`+minutely+`}`)
	w.fails(func(s sentAttempt) bool { return s.Execution.Repeat == 1 })
	a := w.update(30*time.Second, workflows.UpdateDisable)
	w.suggest = time.Minute
	w.signal(2*time.Minute, workflows.UpdateEnable, nil)
	w.run(3*time.Minute + time.Second)
	a.ok(t)
	require.Equal(t, 2, w.looks, "they are recorded before they are forgotten, and once it is cancelled it is asked what was sent")
	require.Equal(t, w.runs[0].id, w.next.FailedRun, "the run holds a failure")
}

func TestSecretsStayWithTheirTarget(t *testing.T) {
	t.Parallel()
	at := func(host, password string) workflows.ReplaceRequest {
		d := definition(t, `"action":{"type":"Http","request":{"uri":"http://`+host+`/","method":"GET","authentication":{"type":"Basic","username":"ann","password":"`+
			password+`"}}},"recurrence":{`+minutely+`}`)
		if password == "left out" {
			d = d.Redacted()
		}
		return workflows.ReplaceRequest{Definition: d}
	}
	start := func(t *testing.T) *jobEnv {
		w := newJobEnv(t, every(minutely))
		w.next.Definition = at("old.example", "hunter2").Definition
		return w
	}
	sent := func(w *jobEnv) []string {
		var all []string
		for _, s := range w.sent {
			all = append(all, s.Action.Request.URI+" "+s.Action.Request.Authentication.Password)
		}
		return all
	}
	t.Run("when a change leaves them out", func(t *testing.T) {
		t.Parallel()
		w := start(t)
		a := w.update(30*time.Second, workflows.UpdateReplace, at("new.example", "left out"))
		w.run(90 * time.Second)
		a.refused(t, workflows.ErrTypeInvalid)
		require.ErrorContains(t, a.err, "properties.action.request.authentication.password: required; allowed: a password (\"\" is an empty one); send it again, because the target changed")
		require.Equal(t, []string{"http://old.example/ hunter2", "http://old.example/ hunter2"}, sent(w))
	})
	t.Run("when another change was applied before", func(t *testing.T) {
		t.Parallel()
		w := start(t)
		moved := w.update(30*time.Second, workflows.UpdateReplace, at("new.example", "hunter3"))
		// for an earlier version of the job, without a generation
		late := w.update(40*time.Second, workflows.UpdateReplace, at("old.example", "left out"))
		w.run(90 * time.Second)
		moved.ok(t)
		late.refused(t, workflows.ErrTypeInvalid)
		require.Equal(t, []string{"http://old.example/ hunter2", "http://new.example/ hunter3"}, sent(w))
	})
	t.Run("when another change is applied while it waits", func(t *testing.T) {
		t.Parallel()
		const changedAt = 59900 * time.Millisecond
		w := newLeadEnv(t, every(minutely))
		w.next.Definition = at("old.example", "hunter2").Definition
		w.takes(5 * time.Second) // so that the first change waits
		moved := w.update(changedAt, workflows.UpdateReplace, at("new.example", "hunter3"))
		late := w.update(changedAt+200*time.Millisecond, workflows.UpdateReplace, at("old.example", "left out"))
		w.run(150 * time.Second)
		moved.ok(t)
		require.True(t, late.accepted, "it was allowed until the other one was applied")
		requireType(t, late.err, workflows.ErrTypeInvalid)
		require.Equal(t, []string{"http://old.example/ hunter2", "http://old.example/ hunter2", "http://new.example/ hunter3"}, sent(w))
	})
	t.Run("unless the operator lets them follow it", func(t *testing.T) {
		t.Parallel()
		w := start(t)
		follows := at("new.example", "left out")
		follows.Retarget = true
		a := w.update(30*time.Second, workflows.UpdateReplace, follows)
		w.run(90 * time.Second)
		a.ok(t)
		require.Equal(t, []string{"http://old.example/ hunter2", "http://new.example/ hunter2"}, sent(w))
	})
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	basic := func(user, password string) string {
		return `"action":{"type":"Http","request":{"uri":"http://127.0.0.1/","method":"GET","authentication":{"type":"Basic","username":"` +
			user + `"` + password + `}}},"recurrence":{` + minutely + `}`
	}
	w := newJobEnv(t, basic("ann", `,"password":"hunter2"`))
	withoutPassword := definition(t, basic("ann", `,"password":"left out"`)).Redacted()
	withoutPassword.Action.Request.Method = "PUT"
	kept := w.update(30*time.Second, workflows.UpdateReplace, workflows.ReplaceRequest{Definition: withoutPassword})
	same := w.update(40*time.Second, workflows.UpdateReplace, workflows.ReplaceRequest{Definition: withoutPassword})
	changed := w.replace(90*time.Second, basic("ann", `,"password":"hunter3"`))
	read := w.snapshot(100 * time.Second)
	w.run(150 * time.Second)

	var passwords []string
	for _, s := range w.sent {
		passwords = append(passwords, s.Action.Request.Method+" "+s.Action.Request.Authentication.Password)
	}
	require.Equal(t, []string{"GET hunter2", "PUT hunter2", "GET hunter3"}, passwords)
	require.Equal(t, registration+1, same.ok(t).Generation, "a replace that leaves the secret out is no change")
	for _, j := range []job.Job{kept.ok(t), changed.ok(t), *read, w.next.Snapshot()} {
		text, err := json.Marshal(j)
		require.NoError(t, err)
		require.NotContains(t, string(text), "hunter")
		require.Contains(t, string(text), `"ann"`)
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	deletions := map[string]func(*jobEnv, time.Duration){
		"by update":                  func(w *jobEnv, at time.Duration) { w.update(at, workflows.UpdateDelete) },
		"by signal":                  func(w *jobEnv, at time.Duration) { w.signal(at, workflows.UpdateDelete, nil) },
		"by cancelling the workflow": func(w *jobEnv, at time.Duration) { w.at(at, func() { w.env.CancelWorkflow() }) },
	}
	for _, tt := range []struct {
		name    string
		arrange func(*jobEnv)
		at      time.Duration
		want    []string // requests
	}{
		{"while it sleeps", func(*jobEnv) {}, 90 * time.Second, []string{"00:00:00 MainAction#1", "00:01:00 MainAction#1"}},
		{"while it runs", func(w *jobEnv) { w.takes(30 * time.Second) }, 10 * time.Second, []string{"00:00:00 MainAction#1"}},
		{"while it waits for a retry", func(w *jobEnv) { w.fails(always) }, 10 * time.Second, []string{"00:00:00 MainAction#1"}},
		{"while another occurrence waits", func(w *jobEnv) { w.takes(90 * time.Second) }, 80 * time.Second, []string{"00:00:00 MainAction#1"}},
		{"while it is disabled", func(w *jobEnv) { w.signal(10*time.Second, workflows.UpdateDisable, nil) }, 90 * time.Second, []string{"00:00:00 MainAction#1"}},
	} {
		for by, remove := range deletions {
			t.Run(tt.name+" "+by, func(t *testing.T) {
				t.Parallel()
				w := newJobEnv(t, withErrorAction("", "")+`,"recurrence":{`+minutely+`}`)
				tt.arrange(w)
				remove(w, tt.at)
				w.run(time.Hour)
				require.Equal(t, tt.want, w.lines())
				require.Equal(t, newYear.Add(tt.at), w.env.Now().UTC().Truncate(time.Second), "the workflow ends at once")
				require.Equal(t, 1, w.removed, "the collection is notified")
			})
		}
	}
}

func TestAJobEndsWithItsCollection(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		arrange func(*jobEnv)
	}{
		{"while it sleeps", func(*jobEnv) {}},
		{"while it runs", func(w *jobEnv) { w.takes(45 * time.Second) }},
		{"while it waits for a retry", func(w *jobEnv) { w.fails(always) }},
		{"while its collection is disabled", func(w *jobEnv) { w.update(20*time.Second, workflows.UpdateCollection, collectionIs(false)) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, withErrorAction("", "")+`,"recurrence":{`+minutely+`}`)
			tt.arrange(w)
			a := w.update(25*time.Second, workflows.UpdateDismiss)
			w.run(time.Hour)
			a.ok(t)
			require.Equal(t, []string{"00:00:00 MainAction#1"}, w.lines())
			require.Equal(t, newYear.Add(25*time.Second), w.env.Now().UTC())
			require.Zero(t, w.removed, "the collection deletes it itself")
		})
	}
	t.Run("though it is being deleted already", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, every(minutely))
		w.removal = 10 * time.Second
		deleted := w.update(30*time.Second, workflows.UpdateDelete)
		dismissed := w.update(35*time.Second, workflows.UpdateDismiss)
		w.run(time.Hour)
		deleted.ok(t)
		dismissed.ok(t)
		require.Equal(t, 1, w.removed)
		require.Equal(t, newYear.Add(40*time.Second), w.env.Now().UTC())
	})
}

func TestNoErrorActionRunsAfterADeletion(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, withErrorAction(noRetry, ""))
	w.takes(10 * time.Second)
	w.fails(always)
	w.removal = 10 * time.Second
	w.signal(5*time.Second, workflows.UpdateDelete, nil)
	w.run(time.Hour)
	require.Equal(t, []string{"00:00:00 MainAction#1"}, w.lines())
	require.Equal(t, newYear.Add(15*time.Second), w.env.Now().UTC())
}

func TestNothingStartsOnceAJobIsBeingDeleted(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, once+`,"state":"disabled"`)
	w.at(time.Minute, func() { // both before the workflow handles either
		w.env.SignalWorkflowSkippingWorkflowTask(workflows.UpdateEnable, nil)
		w.env.SignalWorkflow(workflows.UpdateDelete, nil)
	})
	w.run(time.Hour)
	require.Empty(t, w.sent)
	require.Equal(t, 1, w.removed)
}

func TestASignalToAJobThatIsBeingDeletedDoesNotKeepIt(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(minutely))
	w.removal = 10 * time.Second
	a := w.update(30*time.Second, workflows.UpdateDelete)
	w.signal(35*time.Second, workflows.UpdateRun, nil)
	w.run(time.Hour)
	a.ok(t)
	require.Len(t, w.sent, 1)
	require.Equal(t, newYear.Add(40*time.Second), w.env.Now().UTC())
}

func TestTheEndOfADeletedJobWaitsForNoTestOfItsNotifications(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, watched(notified(`"on":["failed"]`)))
	w.sending = 5 * time.Minute
	test := w.update(20*time.Second, workflows.UpdateTest)
	deleted := w.update(30*time.Second, workflows.UpdateDelete)
	w.run(time.Hour)
	deleted.ok(t)
	require.Equal(t, 30*time.Second, deleted.at)
	require.Equal(t, newYear.Add(30*time.Second), w.env.Now().UTC(), "its name is free for another job")
	requireType(t, test.err, workflows.ErrTypeGone)
}

func TestADeletedJobIsNotShownWhateverItsWorkflowStillHasToDo(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(minutely))
	w.takes(30 * time.Second)
	w.removal = 10 * time.Second
	deleted := w.update(20*time.Second, workflows.UpdateDelete)
	var err error
	w.at(25*time.Second, func() { _, err = w.env.QueryWorkflow(workflows.QueryStatus) })
	w.run(time.Hour)
	deleted.ok(t)
	requireType(t, err, workflows.ErrTypeGone)
}

func TestAJobIsDeletedThoughItsCollectionIsGone(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(minutely))
	w.gone = true
	a := w.update(30*time.Second, workflows.UpdateDelete)
	w.run(time.Hour)
	a.ok(t)
	require.Len(t, w.sent, 1)
}

func TestRequestsToAJobThatIsBeingDeletedAreRefused(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(minutely))
	var late []*answer
	w.at(30*time.Second, func() {
		for _, name := range []string{workflows.UpdateDelete, workflows.UpdateRun, workflows.UpdateDisable} {
			a := &answer{w: w}
			late = append(late, a)
			w.env.UpdateWorkflow(name, "", a)
		}
	})
	w.run(time.Hour)
	late[0].ok(t)
	for _, a := range late[1:] {
		a.refused(t, workflows.ErrTypeGone)
	}
	require.Len(t, w.sent, 1)
}

func TestAJobShowsItsStateAndText(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(minutely+`,"count":3`))
	w.signal(30*time.Second, workflows.UpdateDisable, nil)
	w.signal(40*time.Second, workflows.UpdateEnable, nil)
	w.signal(45*time.Second, workflows.UpdateEnable, nil)
	w.replace(90*time.Second, every(minutely+`,"interval":5,"count":3`))
	w.replace(100*time.Second, every(minutely+`,"interval":5,"count":2`)) // both have run
	w.run(time.Hour)
	require.Equal(t, []string{"disabled", "enabled", "GET http://127.0.0.1/, every 5 minutes, 3 times", "completed", "GET http://127.0.0.1/, every 5 minutes, 2 times"}, w.shown)
}

func TestAnInvalidDefinitionIsRefused(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(minutely))
	garbage := w.update(30*time.Second, workflows.UpdateReplace, map[string]any{"garbage": 1})
	broken := definition(t, every(minutely))
	broken.Action.Request.URI = "nowhere"
	nowhere := w.update(40*time.Second, workflows.UpdateReplace, workflows.ReplaceRequest{Definition: broken})
	w.run(90 * time.Second)
	for _, a := range []*answer{garbage, nowhere} {
		a.refused(t, workflows.ErrTypeInvalid)
	}
	require.ErrorContains(t, nowhere.err, "action.request.uri")
	require.Equal(t, []string{"00:00:00", "00:01:00"}, w.dues(), "it goes on as it was")
}

// The temporal CLI can start a workflow with any input.
func TestAStartByHandIsRefusedUnlessItsWordsAreThoseOfTheAPI(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(minutely))
	w.next.Definition.State = "Enabled"
	err := w.runOnce(newYear.Add(time.Minute))
	requireType(t, err, workflows.ErrTypeInvalid)
	require.ErrorContains(t, err, `state: "Enabled" is not supported; allowed: enabled`)
	require.Empty(t, w.sent)
}

// The collection sends its state again if the job does not answer in time, and takes the answer to the last state
// for that of the job.
func TestTheLaterStateOfTheCollectionStays(t *testing.T) {
	t.Parallel()
	for _, enabled := range []bool{true, false} {
		t.Run(fmt.Sprint("enabled is ", enabled), func(t *testing.T) {
			t.Parallel()
			w := newLeadEnv(t, callEveryMinute("/a"))
			w.next.CollectionDisabled = !enabled
			w.lookTakes = 20 * time.Second
			w.takes(90 * time.Second)
			w.update(10*time.Second, workflows.UpdateRun) // a change looks it up, and the others wait
			first := w.replace(30*time.Second, callEveryMinute("/b"))
			w.update(31*time.Second, workflows.UpdateCollection, collectionIs(!enabled))
			w.update(32*time.Second, workflows.UpdateCollection, collectionIs(enabled))
			contrary := w.update(33*time.Second, workflows.UpdateCollection, collectionIs(!enabled))
			last := w.update(34*time.Second, workflows.UpdateCollection, collectionIs(enabled))
			end := w.snapshot(10 * time.Minute)
			w.run(11 * time.Minute)
			first.ok(t)
			contrary.ok(t)
			last.ok(t)
			require.Equal(t, enabled, end.Status.NextExecutionTime != nil)
		})
	}
}

// All attempts of the action have failed, and the error action is running, when the job is disabled.
func TestAnExecutionIsFaultedAlthoughTheJobIsChangedDuringItsErrorAction(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, withErrorAction(noRetry, twoRetries)+`,"recurrence":{"frequency":"hour"}`)
	w.fails(always)
	w.update(30*time.Second, workflows.UpdateDisable)
	end := w.snapshot(10 * time.Minute)
	w.run(11 * time.Minute)
	require.Equal(t, 1, end.Status.FailureCount)
	require.Equal(t, 1, end.Status.FaultedCount)
}

func TestACommandOfACallerWhoReadAnotherGenerationIsRefused(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(minutely))
	disabled := w.update(10*time.Second, workflows.UpdateDisable)
	stale := w.update(20*time.Second, workflows.UpdateDelete, registration)
	current := w.update(30*time.Second, workflows.UpdateDelete, registration+1)
	w.run(time.Hour)
	require.Equal(t, registration+1, disabled.ok(t).Generation)
	stale.refused(t, workflows.ErrTypeStale)
	current.ok(t)
}
