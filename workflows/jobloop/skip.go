package jobloop

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"almanac/job"
	"almanac/workflows"
)

// maxSkips is the maximum number of occurrences to come that are skipped: each is part of the job's state and of its
// outline.
const maxSkips = 100

// handleSkip skips the next occurrence: it is not run. With a due time other than the zero one, it skips that
// occurrence only, so that a repeated request does not skip the one after it. With a generation other than 0, it refuses
// if the job has another one.
func (j *loop) handleSkip(ctx workflow.Context, due time.Time, generation int) (job.Job, error) {
	_, err := j.requests.update(ctx, withoutAnswer(func(ctx workflow.Context) error {
		if err := j.unchangedSince(generation); err != nil {
			return err
		}
		return j.skip(ctx, due)
	}))
	return j.snapshot(), err
}

func (j *loop) skip(ctx workflow.Context, due time.Time) error {
	if err := j.mayChange(); err != nil {
		return err
	}
	if !j.Active() {
		return refuseSkip("The job or its job collection is not enabled, so that no occurrence is next.")
	}
	j.generator.refill(ctx)
	held := j.executions.Held(workflow.Now(ctx))
	next, left := j.Next()
	if held != nil {
		next, left = held.Due, true
	}
	j.forgetSkips(workflow.Now(ctx))
	switch {
	case !left:
		return refuseSkip("The job has no occurrence left.")
	case len(j.Skips) >= maxSkips:
		return refuseSkip(fmt.Sprintf("%d occurrences that are to come are skipped already. Disable the job until it is to run again.", len(j.Skips)))
	case !due.IsZero() && !due.Equal(next):
		return refuseSkip(fmt.Sprintf("The next occurrence is the one that is due at %s.", job.NewTime(next)))
	case held != nil && !j.withdrawHeld(ctx, held):
		return refuseSkip(fmt.Sprintf("The occurrence that is due at %s may have been sent: one can be skipped until %.0f s before it is due.",
			job.NewTime(next), withdrawMargin.Seconds()))
	}
	j.Skips = append(j.Skips, next)
	if len(j.Plan.Due) > 0 && j.Plan.Due[0].Equal(next) {
		// otherwise it was recorded as cancelled when the worker gave it back
		j.Plan.Due = j.Plan.Due[1:]
		j.generator.noteCancelled(ctx, next, 0, job.WhySkipped)
	}
	j.TimetableChanged(workflow.Now(ctx))
	j.finishIfOver(ctx)
	return nil
}

// forgetSkips forgets occurrences that were skipped and that no plan can have any more. Those that are to come do not
// count as decided: a new schedule can have occurrences before them.
func (j *loop) forgetSkips(now time.Time) {
	if j.executions.Occurrences() == 0 {
		next, left := j.Next()
		for _, due := range j.Skips {
			if due.After(j.Decided) && !due.After(now) && left && due.Before(next) {
				j.Decided = due
			}
		}
	}
	decided := j.executions.UndoneFrom(j.Decided)
	j.Skips = slices.DeleteFunc(j.Skips, func(due time.Time) bool { return !due.After(decided) })
}

func refuseSkip(why string) error { return workflows.Refuse(workflows.ErrTypeConflict, why) }
