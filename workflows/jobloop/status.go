package jobloop

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"almanac/job"
)

// snapshot returns the job for readers, without secrets. Occurrences dispatched ahead are not counted
// but listed in Ahead: a query has no clock to see whether they are due.
func (j *loop) snapshot() job.Job {
	s := j.Snapshot()
	if j.overlapping() > 0 && j.active() {
		s.Status.Reason = "" // the last occurrence has not ended
	}
	for _, e := range j.running {
		if e.Manual || e.phase != dispatched {
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

// describe sets the details that the Temporal Web UI and CLI show.
func (j *loop) describe(ctx workflow.Context) {
	s := j.snapshot().At(workflow.Now(ctx))
	next := "none"
	switch {
	case s.Status.NextExecutionTime != nil:
		next = s.Status.NextExecutionTime.String()
	case s.Status.Reason != "":
		next += ". " + s.Status.Reason
	}
	last := "never"
	if s.Status.LastExecutionTime != nil {
		last = s.Status.LastExecutionTime.String()
	}
	text := s.Definition.Text() //workflowcheck:ignore // it looks up a time zone, and goes into no command
	workflow.SetCurrentDetails(ctx, fmt.Sprintf(
		"**%s** (%s)\n\n%s\n\n- next execution: %s\n- last execution: %s\n- last outcome: %s\n- executions: %d, failures: %d, faulted: %d",
		j.Key.Name, s.Definition.State, text, next, last, outcomeText(&s.Status.Outcomes),
		s.Status.ExecutionCount, s.Status.FailureCount, s.Status.FaultedCount))
}

// outcomeText returns how the last execution ended, for people.
func outcomeText(o *job.Outcomes) string {
	switch {
	case o.LastOutcome == nil:
		return "none"
	case o.ConsecutiveFailures == 0:
		return fmt.Sprintf("%s, %s", o.LastOutcome.Status, o.LastOutcome.EndTime)
	}
	return fmt.Sprintf("%s, %s, %d in a row. %s", o.LastOutcome.Status, o.LastOutcome.EndTime, o.ConsecutiveFailures, o.LastError.Message)
}
