// Package trial holds the workflow that sends an action once, for somebody who is about to save it. It belongs to no
// job: nothing of it is in the history of one, nothing is repeated, and no alert is raised.
package trial

import (
	"errors"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/activities/trials"
	"almanac/job"
	"almanac/workflows"
)

const (
	// TakenWithin is how long a worker has to take the activity.
	TakenWithin = 5 * time.Second
	// Timeout is the time limit of a run: a trial whose caller has gone is not sent later.
	Timeout = 50 * time.Second
	// fullPause is when a host without a place may be tried again.
	fullPause = 10 * time.Second
)

// Workflow sends the action of its input once, and returns the record of the attempt.
func Workflow(ctx workflow.Context, in trials.Input) (job.Attempt, error) {
	if in.Execution.ID == "" {
		return job.Attempt{}, workflows.ErrForeign
	}
	in.Execution.Due = workflow.Now(ctx).UTC()
	begun := in.Execution.Due
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ScheduleToStartTimeout: TakenWithin, StartToCloseTimeout: trials.Timeout, Summary: "try " + in.Execution.Job,
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	var result trials.Result
	err := workflow.ExecuteActivity(ctx, trials.TypeTry, in).Get(ctx, &result)
	timeout, timedOut := errors.AsType[*temporal.TimeoutError](err)
	switch {
	case timedOut && timeout.TimeoutType() == enums.TIMEOUT_TYPE_START_TO_CLOSE:
		return job.Attempt{
			Number: 1, Start: begun, End: workflow.Now(ctx).UTC(), Outcome: job.OutcomeFailed, Message: job.AttemptLost,
		}, nil
	case err != nil:
		return job.Attempt{}, err
	case result.Invalid != "":
		return job.Attempt{}, workflows.Refuse(workflows.ErrTypeInvalid, result.Invalid)
	case result.Full != "":
		return job.Attempt{}, workflows.RefuseFor(fullPause, "Nothing was sent: "+result.Full+".")
	}
	return result.Attempt, nil
}
