package jobloop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/workflows"
	"almanac/workflows/jobloop"
)

// newHerdEnv returns the jobEnv of a job in a large herd: its occurrences pass their fences 30 s before they are due.
func newHerdEnv(t *testing.T, properties string) *jobEnv {
	t.Helper()
	w := newHoldEnv(t, properties)
	w.fences = 30 * time.Second
	return w
}

// The occurrence at 00:01 has passed its fence at 00:00:30.
func TestAChangeInAHerdsWindowIsAnsweredOnceTheWorkerReleasesTheOccurrence(t *testing.T) {
	t.Parallel()
	const at = 40 * time.Second
	lease := time.Minute + leaseAfter + 500*time.Millisecond // its end, with a margin for the server's clock
	for _, tt := range []struct {
		name    string
		arrange func(*jobEnv)
		change  time.Duration
		answer  time.Duration
		want    string
		count   int // executions when it is answered
	}{
		{"at once", func(*jobEnv) {}, at, at, "/new 00:01:00", 1},
		{"when it answers", func(w *jobEnv) { w.releasing = time.Second }, at, at + time.Second, "/new 00:01:00", 1},
		{"though its answer is lost", func(w *jobEnv) { w.releasing = 3 * time.Second }, at, at + 3*time.Second, "/new 00:01:00", 1},
		{"but after the lease if it is dead", func(w *jobEnv) { w.workerFate = fates(time.Minute, killedFenced) }, at, lease, "", 2},
		{"but after the lease if it is frozen, and what it gives up then is not called unsent", func(w *jobEnv) { w.workerFate = fates(time.Minute, pausedFenced) }, at, lease, "", 2},
		{"but after its end if it begins to send before it is asked", func(w *jobEnv) { w.releasing = 3 * time.Second; w.takes(100 * time.Millisecond) },
			59 * time.Second, time.Minute + 100*time.Millisecond, "/old 00:01:00", 2},
		{"but after the lease if that is over soon", func(*jobEnv) {}, time.Minute + 10*time.Millisecond, lease, "/old 00:01:00", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newHerdEnv(t, callEveryMinute("/old"))
			if tt.name == "but after the lease if that is over soon" {
				w.takes(5 * time.Second)
			}
			tt.arrange(w)
			a := w.replace(tt.change, callEveryMinute("/new"))
			w.run(130 * time.Second)
			got := a.ok(t)
			require.InDelta(t, tt.answer.Seconds(), a.at.Seconds(), 0.55)
			require.Equal(t, tt.count, got.At(newYear.Add(a.at)).Status.ExecutionCount)
			requests := w.requests()
			if tt.want != "" {
				require.Equal(t, []string{"/old 00:00:00", tt.want, "/new 00:02:00"}, requests)
			} else {
				require.Equal(t, []string{"/old 00:00:00", "/new 00:02:00"}, requests)
			}
		})
	}
}

func TestAReleasedOccurrenceDoesNotCount(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*jobEnv) *answer
		want   []string
	}{
		{"by a new action", func(w *jobEnv) *answer { return w.replace(45*time.Second, callEveryMinute("/new")) },
			[]string{"/old 00:00:00", "/new 00:01:00", "/new 00:02:00"}},
		{"by several", func(w *jobEnv) *answer {
			w.replace(40*time.Second, callEveryMinute("/newer"))
			return w.replace(50*time.Second, callEveryMinute("/newest"))
		}, []string{"/old 00:00:00", "/newest 00:01:00", "/newest 00:02:00"}},
		{"by being disabled", func(w *jobEnv) *answer { return w.update(45*time.Second, workflows.UpdateDisable) },
			[]string{"/old 00:00:00"}},
		{"by its collection being disabled", func(w *jobEnv) *answer {
			return w.update(45*time.Second, workflows.UpdateCollection, collectionIs(false))
		}, []string{"/old 00:00:00"}},
		{"by being deleted", func(w *jobEnv) *answer { return w.update(45*time.Second, workflows.UpdateDelete) },
			[]string{"/old 00:00:00"}},
		{"by being skipped", func(w *jobEnv) *answer { return w.update(45*time.Second, workflows.UpdateSkip, time.Time{}) },
			[]string{"/old 00:00:00", "/old 00:02:00"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newHerdEnv(t, callEveryMinute("/old"))
			w.releasing = 20 * time.Millisecond
			a := tt.change(w)
			w.run(130 * time.Second)
			require.True(t, a.completed)
			require.NoError(t, a.err)
			require.LessOrEqual(t, a.at, 51*time.Second)
			require.NotZero(t, w.releases)
			require.Equal(t, tt.want, w.requests())
			last := w.runs[len(w.runs)-1]
			require.Zero(t, last.FailureCount)
			w.requireSound()
		})
	}
}

// The run drains while the occurrence has passed its fence.
func TestARunThatDrainsHasAnOccurrenceReleased(t *testing.T) {
	t.Parallel()
	w := newHerdEnv(t, callEveryMinute("/a"))
	for i := range 55 {
		w.at(31*time.Second+time.Duration(i)*200*time.Millisecond, func() {
			for range 20 {
				w.env.UpdateWorkflow(workflows.UpdateSkip, "", &answer{w: w}, newYear.Add(24*time.Hour)) // refused
			}
		})
	}
	w.run(80 * time.Second)
	require.Equal(t, 1, w.releases)
	require.Greater(t, len(w.runs), 1)
	require.True(t, w.runs[1].start.Before(newYear.Add(45*time.Second)), "%s", w.runs[1].start)
	require.Equal(t, []string{"/a 00:00:00", "/a 00:01:00"}, w.requests())
	w.requireSound()
}

// Manual runs make the run long while the next occurrence is held.
func TestAHeldOccurrenceIsTakenBackIfItAloneKeepsALongRunFromContinuing(t *testing.T) {
	t.Parallel()
	w := newHoldEnv(t, every(minutely))
	for i := range jobloop.ExecutionsPerRun {
		w.update(5*time.Second+time.Duration(i)*100*time.Millisecond, workflows.UpdateRun)
	}
	w.run(90 * time.Second)
	require.Greater(t, len(w.runs), 1)
	require.True(t, w.runs[1].start.Before(newYear.Add(15*time.Second)), "%s", w.runs[1].start)
	require.Equal(t, newYear.Add(time.Minute), w.sent[len(w.sent)-1].at)
	require.Equal(t, job.MainAction, w.sent[len(w.sent)-1].Execution.ActionName)
	w.requireSound()
}
