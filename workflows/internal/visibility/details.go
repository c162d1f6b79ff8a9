package visibility

import (
	"fmt"
	"strings"

	"go.temporal.io/sdk/workflow"

	"almanac/job"
)

// Describe sets the details of a job that the Temporal Web UI and CLI show.
func Describe(ctx workflow.Context, s job.Job) {
	text := s.Definition.Text() //workflowcheck:ignore // it looks up a time zone, and goes into no command
	workflow.SetCurrentDetails(ctx, Details(&s, text))
}

// Details returns the details of a job, which begin with why it fails, if it does. text says what it does and when.
func Details(s *job.Job, text string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s** (%s)", s.Key.Name, s.Definition.State)
	o := &s.Status.Outcomes
	if o.ConsecutiveFailures > 0 && o.LastError != nil {
		b.WriteString(" fails")
		if o.ConsecutiveFailures > 1 {
			fmt.Fprintf(&b, ", %d executions in a row", o.ConsecutiveFailures)
		}
		fmt.Fprintf(&b, " since %s\n\n%s", o.FailingSince, o.LastError.Message)
	}
	fmt.Fprintf(&b, "\n\n%s\n\n- next execution: %s\n- last execution: %s\n- last outcome: %s\n- executions: %d, failures: %d, faulted: %d",
		text, next(&s.Status), orElse(s.Status.LastExecutionTime, "never"), outcomeText(o), s.Status.ExecutionCount, s.Status.FailureCount, s.Status.FaultedCount)
	return b.String()
}

func next(s *job.Status) string {
	if s.NextExecutionTime == nil && s.Reason != "" {
		return "none. " + s.Reason
	}
	return orElse(s.NextExecutionTime, "none")
}

func orElse(t *job.Time, none string) string {
	if t == nil {
		return none
	}
	return t.String()
}

// outcomeText returns how the last execution ended, for people.
func outcomeText(o *job.Outcomes) string {
	if o.LastOutcome == nil {
		return "none"
	}
	return fmt.Sprintf("%s, %s", o.LastOutcome.Status, o.LastOutcome.EndTime)
}
