package jobloop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
)

func TestTheFirstRunOfAJob(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, properties string
		until            time.Duration
		want             []string
	}{
		{"one without a start time runs once at once", once, time.Hour, []string{"00:00:00"}},
		{"one that should have started before runs once at once",
			once + `,"startTime":"2025-12-01T00:00:00Z"`, time.Hour, []string{"00:00:00"}},
		{"one that starts at its creation runs once then",
			once + `,"startTime":"2026-01-01T00:00:00Z"`, time.Hour, []string{"00:00:00"}},
		{"one that starts later runs once then",
			once + `,"startTime":"2026-03-01T12:30:15Z"`, 100 * 24 * time.Hour, []string{"2026-03-01 12:30:15"}},
		{"a fraction of a second of the start time is dropped",
			once + `,"startTime":"2026-01-01T00:00:07.9Z"`, time.Hour, []string{"00:00:07"}},
		{"one that recurs runs at once and then on the grid",
			every(`"frequency":"hour"`), 150 * time.Minute, []string{"00:00:00", "01:00:00", "02:00:00"}},
		{"one with a schedule runs at once as well",
			every(`"frequency":"day","schedule":{"hours":[9],"minutes":[15,45]}`), 24 * time.Hour,
			[]string{"00:00:00", "09:15:00", "09:45:00"}},
		{"a start time to come is the first run",
			every(`"frequency":"hour"`) + `,"startTime":"2026-01-01T00:10:00Z"`, 150 * time.Minute,
			[]string{"00:10:00", "01:10:00", "02:10:00"}},
		{"with a schedule the first run may come after the start time",
			every(`"frequency":"day","schedule":{"hours":[9],"minutes":[15]}`) + `,"startTime":"2026-01-01T09:30:00Z"`, 48 * time.Hour,
			[]string{"2026-01-02 09:15:00"}},
		{"a past start time only sets the phase",
			every(`"frequency":"day","interval":2`) + `,"startTime":"2025-12-30T14:00:00Z"`, 5 * 24 * time.Hour,
			[]string{"14:00:00", "2026-01-03 14:00:00", "2026-01-05 14:00:00"}},
		{"an instant of a past phase that is now runs now",
			every(`"frequency":"day"`) + `,"startTime":"2025-12-30T00:00:00Z"`, 30 * time.Hour,
			[]string{"00:00:00", "2026-01-02 00:00:00"}},
		{"count ends the job",
			every(`"frequency":"minute","count":3`), time.Hour, []string{"00:00:00", "00:01:00", "00:02:00"}},
		{"occurrences before the creation do not use up count",
			every(`"frequency":"minute","count":2`) + `,"startTime":"2025-12-31T23:00:30Z"`, time.Hour,
			[]string{"00:00:30", "00:01:30"}},
		{"the last run is the one at the end time",
			every(`"frequency":"minute","endTime":"2026-01-01T00:02:00Z"`), time.Hour,
			[]string{"00:00:00", "00:01:00", "00:02:00"}},
		{"whichever of count and end time comes first ends the job",
			every(`"frequency":"minute","count":9,"endTime":"2026-01-01T00:01:59Z"`), time.Hour,
			[]string{"00:00:00", "00:01:00"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, tt.properties)
			w.run(tt.until)
			require.Equal(t, tt.want, w.dues())
			for _, s := range w.executions() {
				require.Equal(t, s.Execution.Due.UTC(), s.at, "an idle job runs on time")
			}
			require.Empty(t, w.dropped())
			require.Equal(t, 1, w.removed)
			w.requireSound()
		})
	}
}

func TestAJobWithNothingToRunIsCompletedFromTheStartAndSaysWhy(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ properties, reason string }{
		"the end time is past": {every(`"frequency":"minute","endTime":"2025-06-01T00:00:00Z"`),
			"The job never runs: its endTime, 2025-06-01T00:00:00Z, was past when it was created."},
		"the end time is before the start": {every(`"frequency":"minute","endTime":"2026-01-01T01:00:00Z"`) + `,"startTime":"2026-01-01T02:00:00Z"`,
			"No occurrence is left at or before the job's endTime, 2026-01-01T01:00:00Z."},
		"the end time is before any minute": {every(`"frequency":"hour","endTime":"2026-01-01T00:20:00Z","schedule":{"minutes":[30]}`) + `,"startTime":"2026-01-01T00:00:00Z"`,
			"No occurrence is left at or before the job's endTime, 2026-01-01T00:20:00Z."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, tt.properties)
			require.Equal(t, job.StateCompleted, w.next.Snapshot().Definition.State, "as the creation answers")
			require.Equal(t, job.Status{Reason: tt.reason}, w.next.Snapshot().Status, "as the creation answers")
			got := w.snapshot(time.Second)
			w.run(time.Hour)
			require.Empty(t, w.sent)
			require.Equal(t, job.StateCompleted, got.Definition.State)
			require.Equal(t, job.Status{Reason: tt.reason}, got.Status)
		})
	}
}

func TestAJobThatItsEndTimeEndedSaysSoOnceItsLastExecutionIsOver(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(`"frequency":"minute","endTime":"2026-01-01T00:01:30Z"`))
	w.takes(10 * time.Second)
	running := w.snapshot(65 * time.Second)
	over := w.snapshot(75 * time.Second)
	w.run(2 * time.Minute)
	require.Nil(t, running.At(newYear.Add(65*time.Second)).Status.NextExecutionTime)
	require.Empty(t, running.Status.Reason)
	require.Equal(t, job.StateCompleted, over.Definition.State)
	require.Equal(t, "No occurrence is left at or before the job's endTime, 2026-01-01T00:01:30Z.", over.Status.Reason)
}

func TestTheStatusOfAJob(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(`"frequency":"minute","count":4`))
	w.result = func(s sentAttempt) error { // the second occurrence fails permanently, the third once
		if n := s.Execution.Repeat; n == 2 || n == 3 && s.attempt() == 1 {
			return errFailed
		}
		return nil
	}
	first := w.next.Snapshot()
	afterOne := w.snapshot(30 * time.Second)
	retrying := w.snapshot(90 * time.Second)
	end := w.snapshot(time.Hour)
	w.run(2 * time.Hour)

	require.Equal(t, job.Status{NextExecutionTime: job.NewTime(newYear)}, first.Status, "as the creation answers")
	require.Equal(t, job.Status{
		LastExecutionTime: job.NewTime(newYear), NextExecutionTime: job.NewTime(newYear.Add(time.Minute)), ExecutionCount: 1,
	}, counted(afterOne.Status))
	require.Equal(t, job.Status{
		LastExecutionTime: job.NewTime(newYear.Add(time.Minute)), NextExecutionTime: job.NewTime(newYear.Add(2 * time.Minute)), ExecutionCount: 2,
	}, counted(retrying.At(newYear.Add(90*time.Second)).Status), "an attempt that failed is no execution that failed")
	require.Equal(t, job.StateEnabled, retrying.Definition.State)
	require.Equal(t, 4, end.Status.ExecutionCount)
	require.Equal(t, 1, end.Status.FailureCount)
	require.Equal(t, 1, end.Status.FaultedCount)
	require.Nil(t, end.Status.NextExecutionTime)
	require.Equal(t, w.executions()[3].at, end.Status.LastExecutionTime.UTC())
	require.Equal(t, job.StateCompleted, end.Definition.State, "a failure amid the series does not fault the job")
}

func TestTheLastOccurrenceDecidesWhetherAJobIsFaulted(t *testing.T) {
	t.Parallel()
	const noRetry = `"action":{` + get + `,"retryPolicy":{"retryType":"none"}}`
	for _, tt := range []struct {
		name, properties string
		failing          int // number of the failing execution
		want             job.State
	}{
		{"a job that runs once and fails is faulted", noRetry, 1, job.StateFaulted},
		{"a job that runs once and succeeds is completed", noRetry, 0, job.StateCompleted},
		{"a series that fails in the end is faulted", noRetry + `,"recurrence":{"frequency":"minute","count":3}`, 3, job.StateFaulted},
		{"a series that fails in between is completed", noRetry + `,"recurrence":{"frequency":"minute","count":3}`, 2, job.StateCompleted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, tt.properties)
			w.fails(func(s sentAttempt) bool { return s.Execution.Repeat == tt.failing })
			got := w.snapshot(time.Hour)
			w.run(2 * time.Hour)
			require.Equal(t, tt.want, got.Definition.State)
			require.Nil(t, got.Status.NextExecutionTime)
		})
	}
}
