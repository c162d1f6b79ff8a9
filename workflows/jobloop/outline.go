package jobloop

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"almanac/activities"
	"almanac/job"
	"almanac/workflows/jobloop/execution"
)

// beginActivity notes an activity of an execution whose attempts are not regular.
func (j *loop) beginActivity(ctx workflow.Context, e *execution.Execution) {
	if now := workflow.Now(ctx); e.Manual || now.After(e.Due.Add(job.RegularDelay)) {
		j.IrregularUntil(now.Add(job.SettledAfter))
	}
}

// endActivity notes how an activity of an execution ended. Attempts that are late and those that failed are not
// regular. A failure without records is an entry too, unless nothing was sent. reported says that a worker reported a
// success.
func (j *loop) endActivity(ctx workflow.Context, e *execution.Execution, end *activities.Ending, reported bool) {
	late := func(a job.Attempt) bool { return a.Start.After(e.Due.Add(job.RegularDelay)) }
	failed := len(end.Attempts) > 1 || !reported && (len(end.Attempts) > 0 || end.How != activities.Unsent)
	if e.Manual || failed || slices.ContainsFunc(end.Attempts, late) {
		j.IrregularUntil(workflow.Now(ctx))
	}
}
