package visibility

import (
	"fmt"

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
	title := fmt.Sprintf("**%s** (%s)", s.Key.Name, s.Definition.State)
	if o := &s.Status.Outcomes; o.ConsecutiveFailures > 0 && o.LastError != nil {
		title += " fails"
		if o.ConsecutiveFailures > 1 {
			title += fmt.Sprintf(", %d executions in a row", o.ConsecutiveFailures)
		}
		title += " since " + o.FailingSince.String()
	}
	title += retried(s.Status.Retry)
	if o := &s.Status.Outcomes; o.LastError != nil && (o.ConsecutiveFailures > 0 || s.Status.Retry != nil) {
		title += "\n\n" + o.LastError.Message
	}
	return fmt.Sprintf("%s\n\n%s\n\n- next execution: %s\n- last execution: %s\n- last outcome: %s\n- executions: %d, failures: %d, faulted: %d",
		title, text, next(&s.Status), orElse(s.Status.LastExecutionTime, "never"), outcomeText(&s.Status.Outcomes),
		s.Status.ExecutionCount, s.Status.FailureCount, s.Status.FaultedCount)
}

// retried says what comes next in an execution that failed so far; "" if there is none.
func retried(r *job.Retry) string {
	if r == nil {
		return ""
	}
	action := ""
	if r.ActionName == job.ErrorAction {
		action = " of its error action"
	}
	return fmt.Sprintf(", waits for attempt %d of %d%s at %s", r.Attempt, r.MaxAttempts, action, orElse(r.NextAttemptTime, "once"))
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
