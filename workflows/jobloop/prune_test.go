package jobloop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/workflows"
)

const owner = "5f0a9d1e-6f2b-4c1e-9d3a-2b7c8e4f1a60"

// newOwnedEnv is newJobEnv for a job of an owner.
func newOwnedEnv(t *testing.T, properties string) *jobEnv {
	t.Helper()
	w := newJobEnv(t, properties)
	w.next.Definition.Owner = owner
	return w
}

func (w *jobEnv) prune(after time.Duration) *answer {
	return w.update(after, workflows.UpdatePrune, workflows.PruneRequest{Owner: owner})
}

func TestAPrunedJobRunsNoMoreAndDeletesItselfAfterAWeek(t *testing.T) {
	t.Parallel()
	w := newOwnedEnv(t, every(`"frequency":"hour"`))
	a := w.prune(90 * time.Minute)
	again := w.prune(2 * time.Hour)
	late := w.snapshot(90*time.Minute + 7*day - time.Second)
	w.run(8 * day)
	pruned := a.ok(t)
	require.Equal(t, []any{job.StateDisabled, registration + 1}, []any{pruned.Definition.State, pruned.Generation})
	require.Equal(t, "2026-01-08T01:30:00Z", pruned.Status.PruneAt.String())
	require.Equal(t, []any{job.StateEnabled, owner}, []any{pruned.Status.FormerState, pruned.Status.Owner})
	require.Contains(t, pruned.Status.Reason, "It deletes itself at 2026-01-08T01:30:00Z")
	require.Equal(t, pruned.Generation, again.ok(t).Generation, "it is pruned already")
	require.NotNil(t, late.Pruning)
	require.Equal(t, []string{"00:00:00", "01:00:00"}, w.dues())
	require.Equal(t, 1, w.removed)
	require.Equal(t, newYear.Add(90*time.Minute+7*day), w.env.Now().UTC().Truncate(time.Second))
	last := w.outlines[len(w.outlines)-1]
	require.Equal(t, []any{owner, job.StateDisabled, true}, []any{last.Owner, last.State, last.Pruning != nil})
	w.requireSound()
}

func TestAPrunedJobIsTakenBackByAnyChange(t *testing.T) {
	t.Parallel()
	hourly := every(`"frequency":"hour"`)
	for _, tt := range []struct {
		name     string
		disabled bool // before it was pruned
		back     func(t *testing.T, w *jobEnv, at time.Duration) *answer
		want     job.State
	}{
		{"restore", false, func(_ *testing.T, w *jobEnv, at time.Duration) *answer { return w.update(at, workflows.UpdateRestore) }, job.StateEnabled},
		{"restore of a disabled one", true, func(_ *testing.T, w *jobEnv, at time.Duration) *answer { return w.update(at, workflows.UpdateRestore) }, job.StateDisabled},
		{"enable", true, func(_ *testing.T, w *jobEnv, at time.Duration) *answer { return w.update(at, workflows.UpdateEnable) }, job.StateEnabled},
		{"disable", false, func(_ *testing.T, w *jobEnv, at time.Duration) *answer { return w.update(at, workflows.UpdateDisable) }, job.StateDisabled},
		{"the same definition", false, func(_ *testing.T, w *jobEnv, at time.Duration) *answer { return w.replace(at, hourly) }, job.StateEnabled},
		{"the same definition, disabled", true, func(_ *testing.T, w *jobEnv, at time.Duration) *answer {
			return w.replace(at, hourly+`,"state":"disabled"`)
		}, job.StateDisabled},
		{"another definition", false, func(_ *testing.T, w *jobEnv, at time.Duration) *answer {
			return w.replace(at, every(`"frequency":"hour","interval":2`))
		}, job.StateEnabled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newOwnedEnv(t, hourly)
			if tt.disabled {
				w.update(10*time.Minute, workflows.UpdateDisable)
			}
			pruned := w.prune(30 * time.Minute)
			back := tt.back(t, w, 3*time.Hour+time.Minute)
			kept := w.snapshot(10 * day)
			w.run(10*day + time.Minute)
			taken := back.ok(t)
			require.Equal(t, pruned.ok(t).Generation+1, taken.Generation)
			require.Nil(t, taken.Status.PruneAt)
			require.Equal(t, tt.want, taken.Definition.State)
			require.Equal(t, tt.want, kept.Definition.State, "it is not deleted")
			require.Equal(t, owner, kept.Definition.Owner, "whoever changes it")
			for _, e := range w.executions() {
				after := e.Execution.Due.Sub(newYear)
				require.False(t, after > 30*time.Minute && after < 3*time.Hour+time.Minute, "%s came due while it was pruned", e.Execution.Due)
			}
			require.Equal(t, tt.want == job.StateEnabled, len(w.dues()) > 1)
			w.requireSound()
		})
	}
}

func TestOnlyItsOwnerPrunesAJobAndNoneThatRunsOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, properties, owner, by, why string
	}{
		{"one that was made by other means", every(`"frequency":"hour"`), "", owner, "has no owner"},
		{"one of another owner", every(`"frequency":"hour"`), "another", owner, "belongs to the owner another"},
		{"one that runs once", once + `,"startTime":"2026-02-01T00:00:00Z"`, owner, owner, "runs once"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, tt.properties)
			w.next.Definition.Owner = tt.owner
			a := w.update(10*time.Minute, workflows.UpdatePrune, workflows.PruneRequest{Owner: tt.by})
			after := w.snapshot(20 * time.Minute)
			w.run(time.Hour)
			a.refused(t, workflows.ErrTypeConflict)
			require.ErrorContains(t, a.err, tt.why)
			require.Equal(t, job.StateEnabled, after.Definition.State)
		})
	}
	w := newOwnedEnv(t, every(`"frequency":"hour"`))
	a := w.update(10*time.Minute, workflows.UpdatePrune, workflows.PruneRequest{Owner: owner, Generation: registration + 5})
	w.run(time.Hour)
	a.refused(t, workflows.ErrTypeStale)
}

func TestACompletedJobThatIsPrunedIsCompletedAgainWhenItIsTakenBack(t *testing.T) {
	t.Parallel()
	w := newOwnedEnv(t, every(`"frequency":"minute","count":2`))
	pruned := w.prune(time.Hour)
	back := w.update(2*time.Hour, workflows.UpdateRestore)
	w.run(3 * time.Hour)
	require.Equal(t, job.StateCompleted, pruned.ok(t).Status.FormerState)
	require.Equal(t, job.StateCompleted, back.ok(t).Definition.State)
	require.Len(t, w.dues(), 2)
}

func TestAPruningOutlivesTheRunsOfTheWorkflow(t *testing.T) {
	t.Parallel()
	w := newOwnedEnv(t, every(`"frequency":"hour"`))
	w.prune(30 * time.Minute)
	w.suggest = 40 * time.Minute
	w.update(50*time.Minute, workflows.UpdateRun)
	w.run(8 * day)
	require.Greater(t, len(w.runs), 1)
	require.Equal(t, newYear.Add(30*time.Minute+7*day), w.env.Now().UTC().Truncate(time.Second))
}

func TestAChangeInTheMomentOfItsDeletionKeepsAPrunedJob(t *testing.T) {
	t.Parallel()
	w := newOwnedEnv(t, every(`"frequency":"hour"`))
	w.prune(30 * time.Minute)
	w.update(30*time.Minute+7*day-time.Millisecond, workflows.UpdateRestore)
	kept := w.snapshot(8 * day)
	w.run(9 * day)
	require.Equal(t, job.StateEnabled, kept.Definition.State)
}

func TestAPausedJobThatIsPrunedIsNotEnabledByItself(t *testing.T) {
	t.Parallel()
	w := newOwnedEnv(t, every(`"frequency":"hour"`))
	w.next.Definition.State = job.StateDisabled
	w.next.DisabledBy = &job.Disabling{At: newYear, Promise: job.Promise{Until: newYear.Add(2 * time.Hour)}}
	pruned := w.prune(30 * time.Minute)
	later := w.snapshot(5 * time.Hour)
	w.run(8 * day)
	require.Equal(t, job.StateDisabled, pruned.ok(t).Status.FormerState)
	require.NotNil(t, later.Pruning)
	require.Equal(t, newYear.Add(30*time.Minute+7*day), w.env.Now().UTC().Truncate(time.Second))
}

// A pause that somebody promised an end ends then, also if the job was pruned by mistake meanwhile.
func TestAPausedJobThatIsPrunedAndTakenBackIsPausedOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		back time.Duration
		dues []string
	}{
		"before its end": {90 * time.Minute, []string{"00:00:00", "03:00:00", "04:00:00"}},
		"after its end":  {210 * time.Minute, []string{"00:00:00", "04:00:00"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newOwnedEnv(t, every(`"frequency":"hour"`))
			w.update(10*time.Minute, workflows.UpdateDisable, stateAs(job.Promise{Note: "move", Until: newYear.Add(170 * time.Minute), Recover: job.RecoverNone}))
			w.prune(30 * time.Minute)
			back := w.update(c.back, workflows.UpdateRestore)
			w.run(4*time.Hour + time.Minute)
			if c.back < 170*time.Minute {
				require.Equal(t, "move", back.ok(t).DisabledBy.Note)
			} else {
				require.Equal(t, job.StateEnabled, back.ok(t).Definition.State)
			}
			require.Equal(t, c.dues, w.dues())
			w.requireSound()
		})
	}
}
