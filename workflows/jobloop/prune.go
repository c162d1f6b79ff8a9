package jobloop

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/workflow"

	"almanac/internal/audit"
	"almanac/job"
	"almanac/workflows"
	"almanac/workflows/jobloop/execution"
)

// A pruned job is one that its owner does not have any more: it is disabled, and deletes itself after [job.PruneAfter].
// Each change of the job takes it back; see [loop.replace].

func (j *loop) handlePrune(ctx workflow.Context, r workflows.PruneRequest) (job.Job, error) {
	_, err := j.requests.update(ctx, withoutAnswer(func(ctx workflow.Context) error {
		if err := j.mayPrune(&r); err != nil {
			return err
		}
		j.prune(ctx)
		return nil
	}))
	return j.snapshot(), err
}

func (j *loop) validatePrune(ctx workflow.Context, r workflows.PruneRequest) error {
	if j.requests.repeated(ctx) { // it is only answered
		return nil
	}
	return j.mayPrune(&r)
}

// mayPrune refuses to prune a job that the caller does not own, or that runs once.
func (j *loop) mayPrune(r *workflows.PruneRequest) error {
	if err := cmp.Or(j.unchangedSince(r.Generation), j.mayChange()); err != nil {
		return err
	}
	switch owner := j.Definition.Owner; {
	case owner == "":
		return workflows.Refuse(workflows.ErrTypeConflict,
			"The job has no owner: it was not made from job files, so it is not pruned. Delete it if it is not needed.")
	case owner != r.Owner:
		return workflows.Refusef(workflows.ErrTypeConflict, "The job belongs to the owner %s, and only that one prunes it.", owner)
	case j.Definition.Recurrence == nil:
		return workflows.Refuse(workflows.ErrTypeConflict, "The job runs once, and such jobs are not pruned. Delete it if it is not needed.")
	}
	return nil
}

func (j *loop) prune(ctx workflow.Context) {
	if j.Pruning != nil {
		return
	}
	former, before := j.Definition.State, j.Generation
	if j.Held != nil { // by a pause
		j.dropHeld(ctx, true)
		j.Held = nil
	}
	j.setState(ctx, job.StateDisabled)
	if j.DisabledBy != nil { // a pause does not end by itself any more
		paused := *j.DisabledBy
		paused.Promise = job.Promise{}
		j.DisabledBy = &paused
	}
	j.Generation = max(j.Generation, before+1)
	now := workflow.Now(ctx)
	j.Pruning = &job.Pruning{At: now.UTC(), By: execution.CallerOf(audit.ActorOf(ctx)), State: former}
	j.TimetableChanged(now)
}

// handleRestore takes a pruned job back. One that is not pruned stays as it is.
func (j *loop) handleRestore(ctx workflow.Context, generation int) (job.Job, error) {
	_, err := j.requests.update(ctx, withoutAnswer(func(ctx workflow.Context) error {
		if err := cmp.Or(j.unchangedSince(generation), j.mayChange()); err != nil {
			return err
		}
		if j.Pruning != nil {
			j.setState(ctx, j.Pruning.Former())
		}
		return nil
	}))
	return j.snapshot(), err
}

// expired reports whether the job is to delete itself now.
func (j *loop) expired(now time.Time) bool {
	expires := j.expires()
	return !expires.IsZero() && !now.Before(expires)
}

// expires returns when a final or a pruned job is to be deleted; zero for never, or if it has executions left.
func (j *loop) expires() time.Time {
	switch {
	case j.executions.Len() > 0 || len(j.Deferred) > 0:
		return time.Time{}
	case j.Pruning != nil:
		return j.Pruning.Until()
	case !j.Final.IsZero() && j.backfill() == nil:
		return j.Final.Add(keepFinal)
	}
	return time.Time{}
}
