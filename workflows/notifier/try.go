package notifier

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"almanac/activities/notify"
	"almanac/job"
	"almanac/job/notification"
)

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
