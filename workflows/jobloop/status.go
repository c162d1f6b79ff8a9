package jobloop

import (
	"go.temporal.io/sdk/workflow"

	"almanac/job"
	"almanac/workflows/internal/visibility"
	"almanac/workflows/jobloop/execution"
)

// show keeps what Temporal's lists, Web UI and CLI show of the job.
func (j *loop) show(ctx workflow.Context) {
	now := j.snapshot().At(workflow.Now(ctx))
	p := visibility.Progress{Optional: j.Optional, Outcomes: &j.Outcomes, Listed: &j.Listed, ListedNext: &j.ListedNext}
	if next := now.Status.NextExecutionTime; next != nil && j.ShowNext {
		p.Next = next.Time
	}
	if j.OutlineChanged {
		j.OutlineChanged = false
		p.Outline = new(j.Outline())
	}
	p.Show(ctx, &j.Key)
	visibility.Describe(ctx, now)
}

// snapshot returns the job for readers, without secrets. Occurrences dispatched ahead are not counted
// but listed in Ahead: a query has no clock to see whether they are due.
func (j *loop) snapshot() job.Job {
	s := j.Snapshot()
	if j.overlapping() > 0 && j.Active() {
		s.Status.Reason = "" // the last occurrence has not ended
	}
	for _, e := range j.running {
		if e.Manual || e.Phase != execution.Dispatched {
			continue
		}
		if s.Ahead == nil {
			s.Ahead = &job.Ahead{Next: s.Status.NextExecutionTime}
			s.Status.NextExecutionTime, s.Status.LastExecutionTime = job.NewTime(e.Due), job.NewTime(e.Undo.Last)
		}
		s.Ahead.Due = append(s.Ahead.Due, e.Due)
		s.Status.ExecutionCount--
	}
	return s
}
