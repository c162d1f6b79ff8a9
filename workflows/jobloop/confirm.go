package jobloop

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/activities/lookups"
	"almanac/workflows"
)

// confirmPatience is how long a job that was started late waits for its collection before it runs anything. After that
// it runs, and the collection is still asked: it must not delay the schedule.
const confirmPatience = 10 * time.Second

// confirm asks the collection whether the job's name is registered for it, if the job was started so late that the name
// may have been forgotten. A job that is not registered ends before it runs anything.
func (j *loop) confirm(ctx workflow.Context) {
	late := workflows.StartedLate(ctx, j.Registration)
	if late {
		j.Unconfirmed = true
		// nobody else has asked for a turn yet; until it ends, nothing is decided or changed
		_ = j.requests.turns.Wait(ctx)
	}
	if !j.Unconfirmed {
		return
	}
	// a job that is deleted by cancelling its workflow answers all the same
	asking, _ := workflow.NewDisconnectedContext(ctx)
	asking = workflow.WithActivityOptions(asking, workflow.ActivityOptions{
		StartToCloseTimeout: time.Minute,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: time.Minute},
		Summary:             "is the job registered?",
	})
	answer := workflow.ExecuteActivity(asking, lookups.TypeUpdate, j.Key.Collection.WorkflowID(), workflows.UpdateConfirm,
		workflows.Registration{Name: j.Key.Name, Number: j.Registration})
	workflow.Go(asking, func(ctx workflow.Context) {
		if late {
			_, _ = workflow.AwaitWithTimeout(ctx, confirmPatience, answer.IsReady)
			if answer.IsReady() {
				j.confirmed(ctx, answer)
			}
			j.requests.endTurn()
		}
		if !j.Unconfirmed {
			return
		}
		_ = answer.Get(ctx, nil)
		_ = j.requests.change(ctx, func(ctx workflow.Context) error {
			j.confirmed(ctx, answer)
			return nil
		})
	})
}

// confirmed ends the job if it is not registered. Its name then belongs to nobody or to another job, so the collection
// is not notified.
func (j *loop) confirmed(ctx workflow.Context, answer workflow.Future) {
	err := answer.Get(ctx, nil)
	j.Unconfirmed = false
	if j.unregistered = workflows.Unregistered(err); j.unregistered != nil {
		workflow.GetLogger(ctx).Warn("a job that is not registered ends", "job", j.Key.ARMID(), "error", err)
		j.end(ctx)
	}
}
