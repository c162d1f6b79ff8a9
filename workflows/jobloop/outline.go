package jobloop

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"almanac/job"
	"almanac/workflows/jobloop/execution"
)

// beginActivity notes an activity of an execution whose attempts are not regular.
func (j *loop) beginActivity(ctx workflow.Context, e *execution.Execution) {
	if now := workflow.Now(ctx); e.Manual || now.After(e.Due.Add(job.RegularDelay)) {
		j.CoverUntil(now.Add(job.SettledAfter))
	}
}

// endActivity notes that an activity of an execution has ended, with records of these attempts. Attempts that are late and
// those that failed are not regular. A failure without records is an entry too, unless nothing was sent.
func (j *loop) endActivity(ctx workflow.Context, e *execution.Execution, attempts []job.Attempt, err error, unsent bool) {
	late := func(a job.Attempt) bool { return a.Start.After(e.Due.Add(job.RegularDelay)) }
	failed := len(attempts) > 1 || err != nil && (len(attempts) > 0 || !unsent)
	if e.Manual || failed || slices.ContainsFunc(attempts, late) {
		j.CoverUntil(workflow.Now(ctx))
	}
}
