// Package bulk holds the workflow that changes many jobs of a collection: an operation that goes on though whoever
// asked for it has gone, and keeps what became of each job.
package bulk

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/activities/bulk"
	"almanac/workflows"
)

const (
	// batch is how many jobs an activity changes, and batchTime its time limit: a job has 50 s to answer.
	batch     = 50
	batchTime = 3 * time.Minute
	// Timeout is the time limit of the operation.
	Timeout = time.Hour
)

// Workflow changes the jobs of its input, batch after batch, and returns what became of each.
func Workflow(ctx workflow.Context, in bulk.Input) ([]bulk.Outcome, error) {
	if in.Request == "" {
		return nil, workflows.ErrForeign
	}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: batchTime, Summary: string(in.Action),
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 20 * time.Second,
		},
	})
	all := make([]bulk.Outcome, 0, len(in.Jobs))
	for len(all) < len(in.Jobs) {
		some := in
		some.Jobs = in.Jobs[len(all):min(len(all)+batch, len(in.Jobs))]
		var outcomes []bulk.Outcome
		if err := workflow.ExecuteActivity(ctx, bulk.TypeChange, some).Get(ctx, &outcomes); err != nil {
			return nil, err
		}
		if len(outcomes) != len(some.Jobs) {
			return nil, workflows.Refuse(workflows.ErrTypeInvalid, "the results do not fit the jobs")
		}
		all = append(all, outcomes...)
	}
	return all, nil
}
