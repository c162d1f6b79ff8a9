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
	var pause *job.Disabling
	if former == job.StateDisabled && j.DisabledBy.Paused() {
		pause = j.DisabledBy
	}
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
	j.Pruning = &job.Pruning{At: now.UTC(), By: execution.CallerOf(audit.ActorOf(ctx)), State: former, Pause: pause}
	j.TimetableChanged(now)
}

// handleRestore takes a pruned job back. One that is not pruned stays as it is.
func (j *loop) handleRestore(ctx workflow.Context, generation int) (job.Job, error) {
	_, err := j.requests.update(ctx, withoutAnswer(func(ctx workflow.Context) error {
		if err := cmp.Or(j.unchangedSince(generation), j.mayChange()); err != nil {
			return err
		}
		if j.Pruning != nil {
			j.takeBack(ctx, j.Pruning)
		}
		return nil
	}))
	return j.snapshot(), err
}

// takeBack gives a pruned job the state back that it had. A pause goes on, unless its end has passed.
func (j *loop) takeBack(ctx workflow.Context, p *job.Pruning) {
	switch {
	case p.Pause == nil:
		j.setState(ctx, p.Former())
	case p.Pause.Ends(workflow.Now(ctx)):
		j.setState(ctx, job.StateEnabled)
	default:
		j.setState(ctx, job.StateDisabled)
		promise := p.Pause.Promise
		j.setStateAs(ctx, job.StateDisabled, &promise)
		j.DisabledBy = p.Pause
	}
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
