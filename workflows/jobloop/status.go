package jobloop

import (
	"go.temporal.io/sdk/workflow"

	"almanac/job"
	"almanac/workflows/internal/visibility"
)

// show keeps what Temporal's lists, Web UI and CLI show of the job.
func (j *loop) show(ctx workflow.Context) {
	now := j.snapshot().At(workflow.Now(ctx))
	p := visibility.Listing{Optional: j.Optional, Outcomes: &j.Outcomes, Listed: &j.Listed, ListedNext: &j.ListedNext}
	if next := now.Status.NextExecutionTime; next != nil && j.ShowNext {
		p.Next = next.Time
	}
	if j.TakeOutline(workflow.Now(ctx)) {
		p.Outline = new(j.Outline())
		p.Outline.Retry = j.executions.Retry()
	}
	p.Show(ctx, &j.Key)
	j.executions.AddFailures(&now.Status)
	visibility.Describe(ctx, now)
}

// snapshot returns the job for readers, without secrets. Occurrences dispatched ahead are not counted
// but listed in Ahead: a query has no clock to see whether they are due.
func (j *loop) snapshot() job.Job {
	s := j.Snapshot()
	if j.executions.Occurrences() > 0 && j.Active() {
		s.Status.Reason = "" // the last occurrence has not ended
	}
	for _, e := range j.executions.Ahead() {
		if s.Ahead == nil {
			s.Ahead = &job.Ahead{Next: s.Status.NextExecutionTime, Delay: e.Begin().Sub(e.Due)}
			s.Status.NextExecutionTime, s.Status.LastExecutionTime = job.NewTime(e.Due), job.NewTime(e.Undo.Last)
			s.Decided = e.Undo.Decided
		}
		s.Started--
		s.Ahead.Due = append(s.Ahead.Due, e.Due)
		s.Status.ExecutionCount--
	}
	s.Executing = s.Ahead == nil && j.executions.Len() > 0 || s.Ahead != nil && j.executions.Len() > len(s.Ahead.Due)
	return s
}

// handleStatus returns the job as it stands, with the executions that have not ended; none once it is deleted, whatever
// its workflow still has to do.
func (j *loop) handleStatus(ctx workflow.Context) (job.Job, error) {
	if j.gone {
		return job.Job{}, j.mayChange()
	}
	s := j.snapshot()
	s.Recent = j.Recent
	if j.executions.Len()+len(j.Deferred) > 0 {
		s.Running = &job.Running{Run: workflow.GetInfo(ctx).WorkflowExecution.RunID, Executions: j.ongoing()}
	}
	if zone := j.Plan.Zone; zone != nil && s.Status.NextExecutionTime != nil {
		if s.Ahead != nil {
			s.Planned = zone.LocalTimes(s.Ahead.Due)
		}
		s.Planned = append(s.Planned, zone.LocalTimes(j.Plan.Due)...)
	}
	return s, nil
}

// ongoing returns the executions that have not ended, oldest first.
func (j *loop) ongoing() []job.Ongoing {
	all := j.executions.Ongoing()
	for _, m := range j.Deferred {
		all = append(all, job.Ongoing{Execution: job.Execution{Repeat: m.Repeat, Caller: m.Caller, ActionName: job.MainAction}, Deferred: true})
	}
	return all
}

// newestManualRun returns the name of the newest manual run that has not ended; there must be one.
func (j *loop) newestManualRun() string {
	newest := j.executions.NewestManualRun()
	for _, m := range j.Deferred {
		newest = max(newest, m.Repeat)
	}
	return job.ExecutionName(j.Registration, newest)
}
