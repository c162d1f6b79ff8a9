package notifier

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/activities/notify"
	"almanac/job"
	"almanac/job/notification"
	"almanac/workflows"
)

// Raise hands alerts over to the shards of their collection. It returns when they have them. Until then the server
// repeats the activity, at longer and longer intervals.
func Raise(ctx workflow.Context, k job.CollectionKey, raised []notification.Raised) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 30 * time.Second, Summary: "raise " + string(raised[0].Alert.Event),
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute},
	})
	return workflow.ExecuteActivity(ctx, notify.TypeRaise, notify.RaiseInput{
		Collection: k, Type: workflows.TypeNotifications, Queue: workflows.TaskQueue, Signal: workflows.SignalRaise, Raised: raised,
	}).Get(ctx, nil)
}

// Test sends a test to the targets of notifications, once to each, and returns the results in the order of the list.
func Test(ctx workflow.Context, collection job.CollectionKey, name string, list []job.Notification) ([]notification.Delivery, error) {
	a := notification.Alert{Event: notification.EventTest, Job: collection.Job(name), Time: workflow.Now(ctx).UTC()}
	a.Identify(workflow.GetInfo(ctx).WorkflowExecution.RunID, a.Time.Format(time.RFC3339Nano))
	a.Describe("")
	m := notification.Message{ID: a.ID, Collection: collection}
	m.Add(&a)
	items := make([]notify.Item, len(list))
	for i := range list {
		items[i] = notify.Item{Name: notification.Key(&list[i], i), Target: list[i].Target, Message: m, Attempt: 1, Last: true}
	}
	reports := send(ctx, items)
	results := make([]notification.Delivery, len(list))
	for i := range list {
		results[i] = delivery(&items[i], &reports[i], workflow.Now(ctx))
	}
	return results, ctx.Err()
}
