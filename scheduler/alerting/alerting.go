// Package alerting tests notifications, and reads what became of them.
package alerting

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/job/notification"
	"almanac/scheduler/core"
	"almanac/workflows"
)

// An Alerting tests notifications and reads what became of them. It is safe for concurrent use.
type Alerting struct{ core *core.Client }

// New returns an Alerting.
func New(c *core.Client) *Alerting { return &Alerting{core: c} }

// TestNotifications sends a test to the targets of the notifications of a job, its own or those of its collection, or
// if the key has no name, of the collection. It makes one attempt for each and returns the results. The collection
// counts the tests, and refuses those that are too many.
func (a *Alerting) TestNotifications(ctx context.Context, k job.Key) ([]notification.Delivery, error) {
	id, arguments, list := k.Collection.WorkflowID(), []any{k.Name}, []job.Notification(nil)
	if k.Name != "" {
		j, err := a.core.JobToChange(ctx, k)
		if err != nil {
			return nil, err
		}
		k, arguments[0] = j.Key, j.Key.Name
		if list = j.Definition.Notifications; list != nil {
			id, arguments = k.WorkflowID(), nil
		}
	}
	if list == nil {
		c, err := a.core.Collection(ctx, k.Collection)
		if err != nil {
			return nil, err
		}
		list = c.Properties.Notifications
	}
	if len(list) == 0 {
		return nil, job.Conflictf("Nothing was sent: there are no notifications. Add some to the job or to its job collection")
	}
	if id != k.Collection.WorkflowID() { // which counts its own
		if err := a.core.Update(ctx, k.Collection.WorkflowID(), workflows.UpdateAdmitTest, nil, notification.Addresses(list)); err != nil {
			return nil, a.core.Error(ctx, err, nil)
		}
	}
	var results []notification.Delivery
	err := a.core.Update(ctx, id, workflows.UpdateTest, &results, arguments...)
	return results, a.core.Error(ctx, err, nil)
}

// maxDeliveries is the maximum number of deliveries that have ended in a list.
const maxDeliveries = 50

// Deliveries returns the newest deliveries of the alerts of a collection's jobs, at most maxDeliveries that have
// ended, newest first, after those that are being made.
func (a *Alerting) Deliveries(ctx context.Context, k job.CollectionKey) ([]notification.Delivery, error) {
	c, err := a.core.Collection(ctx, k)
	if err != nil {
		return nil, err
	}
	var asked errgroup.Group
	var lists [1 + notification.Shards][]notification.Delivery
	for number := range lists {
		asked.Go(func() error {
			shard := notification.Shard{Collection: c.Key, Number: number}
			err := a.core.Ask(ctx, shard.WorkflowID(), workflows.QueryDeliveries, &lists[number])
			if wfclient.IsGone(err) { // nothing was raised
				return nil
			}
			return err
		})
	}
	err = asked.Wait()
	return merged(lists[:]), a.core.Error(ctx, err, nil)
}

// merged returns the deliveries of several lists in one.
func merged(lists [][]notification.Delivery) []notification.Delivery {
	making, ended := []notification.Delivery{}, []notification.Delivery{}
	for _, list := range lists {
		for _, d := range list {
			if d.Outcome == notification.Delivering {
				making = append(making, d)
			} else {
				ended = append(ended, d)
			}
		}
	}
	newest := func(a, b notification.Delivery) int { return b.Time.Compare(a.Time) }
	slices.SortStableFunc(making, newest)
	slices.SortStableFunc(ended, newest)
	return append(making, ended[:min(len(ended), maxDeliveries)]...)
}
