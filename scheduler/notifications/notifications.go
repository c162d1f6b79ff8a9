// Package notifications tests notifications, and reads what became of them.
package notifications

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

// Notifications test notifications and read what became of them. They are safe for concurrent use.
type Notifications struct{ core *core.Client }

// New returns Notifications.
func New(c *core.Client) *Notifications { return &Notifications{core: c} }

// TestNotifications sends a test to the targets of the notifications of a job, its own or those of its collection, or
// if the key has no name, of the collection. It makes one attempt for each and returns the results. The collection
// counts the tests, and refuses those that are too many.
func (n *Notifications) TestNotifications(ctx context.Context, k job.Key) ([]notification.Delivery, error) {
	id, arguments, list := k.Collection.WorkflowID(), []any{k.Name}, []job.Notification(nil)
	if k.Name != "" {
		j, err := n.core.JobToChange(ctx, k)
		if err != nil {
			return nil, err
		}
		k, arguments[0] = j.Key, j.Key.Name
		if list = j.Definition.Notifications; list != nil {
			id, arguments = k.WorkflowID(), nil
		}
	}
	if list == nil {
		c, err := n.core.Collection(ctx, k.Collection)
		if err != nil {
			return nil, err
		}
		list = c.Properties.Notifications
	}
	if len(list) == 0 {
		return nil, job.Conflictf(
			"Nothing was sent: there are no notifications. Add some to the job or to its job collection",
		)
	}
	if id != k.Collection.WorkflowID() { // which counts its own
		addresses := notification.Addresses(list)
		err := n.core.Update(ctx, k.Collection.WorkflowID(), workflows.UpdateAdmitTest, nil, addresses)
		if err != nil {
			return nil, n.core.Error(ctx, err, nil)
		}
	}
	var results []notification.Delivery
	err := n.core.Update(ctx, id, workflows.UpdateTest, &results, arguments...)
	return results, n.core.Error(ctx, err, nil)
}

// maxDeliveries is the maximum number of deliveries that have ended in a list.
const maxDeliveries = 50

// Deliveries returns the newest deliveries of the alerts of a collection's jobs, at most maxDeliveries that have
// ended, newest first, after those that are being made.
func (n *Notifications) Deliveries(ctx context.Context, k job.CollectionKey) ([]notification.Delivery, error) {
	c, err := n.core.Collection(ctx, k)
	if err != nil {
		return nil, err
	}
	var asked errgroup.Group
	var lists [1 + notification.Shards][]notification.Delivery
	for number := range lists {
		asked.Go(func() error {
			shard := notification.Shard{Collection: c.Key, Number: number}
			err := n.core.Ask(ctx, shard.WorkflowID(), workflows.QueryDeliveries, &lists[number])
			if wfclient.IsGone(err) { // nothing was raised
				return nil
			}
			return err
		})
	}
	err = asked.Wait()
	return merged(lists[:]), n.core.Error(ctx, err, nil)
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
