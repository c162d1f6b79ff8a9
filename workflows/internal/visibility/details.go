package visibility

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"almanac/job"
)

// Describe sets the details of a job that the Temporal Web UI and CLI show.
func Describe(ctx workflow.Context, s job.Job) {
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
		s.Key.Name, s.Definition.State, text, next, last, outcomeText(&s.Status.Outcomes),
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
