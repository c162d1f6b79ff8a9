package jobloop_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/notification"
	"almanac/workflows"
	"almanac/workflows/jobloop"
)

// watched returns the properties of a job that runs each minute and makes one attempt, with more properties.
func watched(more string) string {
	return `"action":{` + get + `,"retryPolicy":{"retryType":"none"}},"recurrence":{"frequency":"minute"}` + more
}

// notified returns the property with a notification of its own.
func notified(conditions string) string {
	return `,"notifications":[{"name":"ops",` + conditions + `,"target":{"type":"Https","request":{"uri":"https://example.com/"}}}]`
}

// failing fails the executions with these numbers.
func (w *jobEnv) failing(repeats ...int) {
	w.fails(func(s sentAttempt) bool { return slices.Contains(repeats, s.Execution.Repeat) })
}

func TestAJobRaisesThatItFailedSoOftenAndRecovered(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, watched(notified(`"on":["failed","recovered"],"after":2`)))
	w.failing(1, 3, 4, 5, 7)
	w.run(9*time.Minute + 30*time.Second)
	require.Equal(t, []string{
		"00:03:00 own ops: Job 'Nightly' failed 2 times in a row: it failed",
		"00:05:00 own ops: Job 'Nightly' succeeded after it had failed 3 times in a row",
	}, w.alerts)
	w.requireSound()
}

func TestAnAlertSaysWhenTheJobSucceededLast(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, watched(notified(`"on":["failed","recovered"]`)))
	w.failing(1, 3)
	w.run(3*time.Minute + 30*time.Second)
	var got []string
	for _, a := range w.raised {
		last := "never"
		if !a.LastSuccess.IsZero() {
			last = clock(a.LastSuccess)
		}
		got = append(got, string(a.Event)+" "+last)
	}
	require.Equal(t, []string{"failed never", "recovered 00:01:00", "failed 00:01:00", "recovered 00:03:00"}, got)
}

func TestAnAlertSaysWhichExecutionItIsAboutAndHowManyAttemptsThatHad(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, withErrorAction(twoRetries, noRetry)+`,"recurrence":{"frequency":"hour"}`+notified(`"on":["failed","recovered","late","disabled","quiet"],"lateBy":"PT1S","within":"PT20M"`)+`,"disableAfter":3`)
	w.fails(func(s sentAttempt) bool {
		return s.Execution.Repeat != 3 && s.Execution.ActionName == job.MainAction || s.Execution.Repeat == 3 && s.attempt() == 1
	})
	w.queued = 2 * time.Second
	w.run(8 * time.Hour)
	var got []string
	for _, a := range w.raised {
		due := "never"
		if require.Equal(t, a.Due.IsZero(), a.Execution == ""); !a.Due.IsZero() {
			due = clock(a.Due)
		}
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %d %s", a.Event, due, a.Attempts, a.Error)))
	}
	require.Equal(t, []string{
		"late 00:00:00 3", "failed 00:00:00 3 it failed", "quiet 00:00:00 3 it failed",
		"late 01:00:00 3",
		"late 02:00:00 2", "recovered 02:00:00 2", "quiet never 0",
		"late 03:00:00 3", "failed 03:00:00 3 it failed",
		"late 04:00:00 3",
		"late 05:00:00 3", "disabled 05:00:00 3 it failed",
	}, got)
}

func TestAJobWithoutNotificationsRaisesNothing(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, watched(``))
	w.fails(always)
	w.run(5 * time.Minute)
	require.Empty(t, w.alerts)
}

func TestAJobRaisesByTheRulesOfItsCollectionUnlessItHasItsOwn(t *testing.T) {
	t.Parallel()
	rules := []notification.Rule{{Key: "all", On: []job.Event{job.EventFailed}}}
	for _, tt := range []struct {
		name, own string
		want      []string
	}{
		{"without notifications of its own", ``, []string{"00:00:00 all: Job 'Nightly' failed: it failed"}},
		{"with its own", notified(`"on":["failed"]`), []string{"00:00:00 own ops: Job 'Nightly' failed: it failed"}},
		{"with an empty list", `,"notifications":[]`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, watched(tt.own))
			w.next.Alerts.Inherited = rules
			w.fails(always)
			w.run(3 * time.Minute)
			require.Equal(t, tt.want, w.alerts)
		})
	}
	t.Run("from when the collection sends them", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, watched(``))
		w.fails(always)
		a := w.update(90*time.Second, workflows.UpdateCollection, collectionIs(true, rules...))
		w.update(200*time.Second, workflows.UpdateCollection, collectionIs(true))
		w.run(5 * time.Minute)
		a.ok(t)
		require.Equal(t, []string{"00:02:00 all: Job 'Nightly' failed 3 times in a row: it failed"}, w.alerts)
	})
}

func TestAJobRaisesOccurrencesThatDidNotRun(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, `"action":{`+get+`},"recurrence":{"frequency":"minute","overlapPolicy":"Skip"}`+notified(`"on":["missed"]`))
	w.took = func(n int) time.Duration {
		if n == 1 {
			return 150 * time.Second
		}
		return time.Second
	}
	w.replace(270*time.Second, watched(notified(`"on":["missed"]`))) // cancels nothing that is due
	w.run(5 * time.Minute)
	require.Equal(t, []string{"00:02:30 own ops: Job 'Nightly' did not run 2 times from 2026-01-01T00:01:00Z to 2026-01-01T00:02:00Z: the execution before it was still running"}, w.alerts)
}

func TestAJobRaisesThatAnExecutionBeganLate(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, watched(notified(`"on":["late"],"lateBy":"PT10S"`)))
	w.queued = 15 * time.Second
	w.run(70 * time.Second)
	require.Equal(t, []string{"00:00:15 own ops: Job 'Nightly' began PT15S late; it was due at 2026-01-01T00:00:00Z"}, w.alerts)
}

func TestASilentJobIsRaisedOnceUntilItSucceeds(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, watched(notified(`"on":["quiet"],"within":"PT3M"`)))
	w.failing(2, 3, 4, 5, 6, 8, 9, 10, 11)
	w.run(11*time.Minute + 30*time.Second)
	require.Equal(t, []string{
		"00:03:00 own ops: Job 'Nightly' has had no success for PT3M: it failed",
		"00:09:00 own ops: Job 'Nightly' has had no success for PT3M: it failed",
	}, w.alerts)
	w.requireSound()
}

func TestASilenceThatSuccessesPutOffCostsFewTimers(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, watched(notified(`"on":["quiet"],"within":"PT10M"`)))
	w.nextHold = func(sentAttempt) int { return int(time.Minute.Milliseconds()) }
	w.failing(32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43)
	w.run(45*time.Minute + 30*time.Second)
	require.Len(t, w.starts(), 46)
	require.Equal(t, []string{"00:40:00 own ops: Job 'Nightly' has had no success for PT10M: it failed"}, w.alerts)
	require.Less(t, w.timers, 20, "one in ten minutes, and one after each failure")
}

func TestAJobThatWasSilentRecovers(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, watched(notified(`"on":["quiet","recovered"],"within":"PT3M"`)))
	w.queued = 4 * time.Minute
	w.run(4*time.Minute + 30*time.Second)
	require.Equal(t, []string{
		"00:03:00 own ops: Job 'Nightly' has had no success for PT3M",
		"00:04:00 own ops: Job 'Nightly' succeeded again",
	}, w.alerts)
}

func TestAJobIsNotSilentBeforeItIsDueNorWhileItIsDisabled(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, `"startTime":"2026-01-01T00:10:00Z",`+watched(notified(`"on":["quiet"],"within":"PT3M"`)))
	w.fails(always)
	w.update(11*time.Minute, workflows.UpdateDisable)
	w.update(30*time.Minute+30*time.Second, workflows.UpdateEnable)
	w.run(35 * time.Minute)
	require.Equal(t, []string{"00:34:00 own ops: Job 'Nightly' has had no success for PT3M: it failed"}, w.alerts)
}

func TestAJobWhoseWorkersAreGoneIsSilent(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, watched(notified(`"on":["quiet"],"within":"PT3M"`)))
	w.queued = 20 * time.Minute
	w.run(10 * time.Minute)
	require.Equal(t, []string{"00:03:00 own ops: Job 'Nightly' has had no success for PT3M"}, w.alerts)
}

func TestRaisingAnAlertDelaysNoExecution(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, watched(notified(`"on":["failed","recovered"]`)))
	w.courier.raising = 10 * time.Minute
	w.failing(1, 3)
	w.run(5*time.Minute + 30*time.Second)
	require.Equal(t, []string{
		"00:00:00 00:00:00", "00:01:00 00:01:00", "00:02:00 00:02:00", "00:03:00 00:03:00", "00:04:00 00:04:00", "00:05:00 00:05:00",
	}, w.starts())
}

func TestAJobIsDisabledAfterFailuresInARowAndResumesWhenItIsEnabled(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, watched(`,"disableAfter":3`+notified(`"on":["disabled"]`)))
	w.fails(func(s sentAttempt) bool { return s.Execution.Repeat != 2 })
	halted := w.snapshot(10 * time.Minute)
	w.update(20*time.Minute+30*time.Second, workflows.UpdateEnable)
	resumed := w.snapshot(21*time.Minute + 30*time.Second)
	w.run(30 * time.Minute)
	require.Equal(t, []string{
		"00:00:00 00:00:00", "00:01:00 00:01:00", "00:02:00 00:02:00", "00:03:00 00:03:00", "00:04:00 00:04:00",
		"00:21:00 00:21:00", "00:22:00 00:22:00", "00:23:00 00:23:00",
	}, w.starts())
	require.Equal(t, job.StateDisabled, halted.Definition.State)
	require.Equal(t, "The job was disabled at 2026-01-01T00:04:00Z, because 3 executions in a row failed and disableAfter is 3. To resume, enable it. The last error: it failed", halted.Status.Reason)
	require.Equal(t, 3, halted.Status.ConsecutiveFailures)
	require.Equal(t, job.StateEnabled, resumed.Definition.State)
	require.Equal(t, 4, resumed.Status.ConsecutiveFailures, "those before count, except for disableAfter")
	require.Equal(t, []string{
		"00:04:00 own ops: Job 'Nightly' was disabled, because it failed 3 times in a row: it failed",
		"00:23:00 own ops: Job 'Nightly' was disabled, because it failed 3 times in a row: it failed",
	}, w.alerts)
	require.NotEqual(t, w.alertIDs[0], w.alertIDs[1])
	require.Len(t, w.halted, 3)
	require.Equal(t, []any{halted.Status.Reason, nil}, w.halted[:2])
	w.requireSound()
}

func TestAJobThatWasEnabledAfterFailuresRecovers(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, watched(`,"disableAfter":2`+notified(`"on":["recovered"]`)))
	w.fails(func(s sentAttempt) bool { return s.Execution.Repeat <= 2 || s.Execution.Repeat == 5 })
	w.update(10*time.Minute+30*time.Second, workflows.UpdateEnable)
	rerun := w.update(10*time.Minute+40*time.Second, workflows.UpdateRerun, "")
	end := w.snapshot(14 * time.Minute)
	w.run(15 * time.Minute)
	require.NoError(t, rerun.err)
	require.Equal(t, job.RerunStarted, rerun.rerun)
	require.Equal(t, []string{
		"00:10:40 own ops: Job 'Nightly' succeeded after it had failed 2 times in a row",
		"00:13:00 own ops: Job 'Nightly' succeeded after it had failed",
	}, w.alerts)
	require.Equal(t, job.StateEnabled, end.Definition.State, "a success ends what does not count")
	w.requireSound()
}

func TestTheRunsOfAJobKeepWhatWasRaised(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, watched(notified(`"on":["failed","recovered"],"after":3`)))
	w.fails(func(s sentAttempt) bool { return s.Execution.Repeat < jobloop.ExecutionsPerRun+10 })
	w.run(time.Duration(jobloop.ExecutionsPerRun+12) * time.Minute)
	require.Len(t, w.runs, 2)
	require.Equal(t, []string{
		"00:02:00 own ops: Job 'Nightly' failed 3 times in a row: it failed",
		"00:59:00 own ops: Job 'Nightly' succeeded after it had failed 59 times in a row",
	}, w.alerts)
}

func TestAManualRunIsNeverLate(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, `"startTime":"2026-02-01T00:00:00Z",`+watched(notified(`"on":["late","failed"],"lateBy":"PT10S"`)))
	w.queued = 15 * time.Second
	w.update(time.Minute, workflows.UpdateRun)
	w.run(5 * time.Minute)
	require.Empty(t, w.alerts)
}
