// Package alerting tests notifications, and reads what became of them.
package alerting

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/job/notification"
	"almanac/workflows"
)

// Options configure an [Alerting]. All members are required.
type Options struct {
	// Ask queries a workflow. Its errors are those of [wfclient.Queries.Ask].
	Ask func(ctx context.Context, workflowID, query string, result any) error
	// Job returns a job whose workflow has begun, Collection a collection. Their errors are of type [job.Error].
	Job        func(ctx context.Context, k job.Key) (job.Job, error)
	Collection func(ctx context.Context, k job.CollectionKey) (job.Collection, error)
	// Update sends an update to a workflow, and Error turns its error into a [job.Error].
	Update func(ctx context.Context, id, name string, result any, arguments ...any) error
	Error  func(ctx context.Context, err error, missing *job.Error) error
}

// An Alerting tests notifications and reads what became of them. It is safe for concurrent use.
type Alerting struct{ o Options }

// New returns an Alerting.
func New(o Options) *Alerting { return &Alerting{o: o} }

// TestNotifications sends a test to the targets of the notifications of a job, its own or those of its collection, or if the key has
// no name, of the collection. It makes one attempt for each and returns the results. The collection counts the tests, and refuses those that
// are too many.
func (a *Alerting) TestNotifications(ctx context.Context, k job.Key) ([]notification.Delivery, error) {
	id, arguments, list := k.Collection.WorkflowID(), []any{k.Name}, []job.Notification(nil)
	if k.Name != "" {
		j, err := a.o.Job(ctx, k)
		if err != nil {
			return nil, err
		}
		k, arguments[0] = j.Key, j.Key.Name
		if list = j.Definition.Notifications; list != nil {
			id, arguments = k.WorkflowID(), nil
		}
	}
	if list == nil {
		c, err := a.o.Collection(ctx, k.Collection)
		if err != nil {
			return nil, err
		}
		list = c.Properties.Notifications
	}
	if len(list) == 0 {
		return nil, job.Conflictf("Nothing was sent: there are no notifications. Add some to the job or to its job collection")
	}
	if id != k.Collection.WorkflowID() { // which counts its own
		if err := a.o.Update(ctx, k.Collection.WorkflowID(), workflows.UpdateAdmitTest, nil, notification.Addresses(list)); err != nil {
			return nil, a.o.Error(ctx, err, nil)
		}
	}
	var results []notification.Delivery
	err := a.o.Update(ctx, id, workflows.UpdateTest, &results, arguments...)
	return results, a.o.Error(ctx, err, nil)
}

// maxDeliveries is the maximum number of deliveries that have ended in a list.
const maxDeliveries = 50

// Deliveries returns the newest deliveries of the alerts of a collection's jobs, at most maxDeliveries that have ended, newest first, after
// those that are being made.
func (a *Alerting) Deliveries(ctx context.Context, k job.CollectionKey) ([]notification.Delivery, error) {
	c, err := a.o.Collection(ctx, k)
	if err != nil {
		return nil, err
	}
	var asked errgroup.Group
	var lists [1 + notification.Shards][]notification.Delivery
	for number := range lists {
		asked.Go(func() error {
			shard := notification.Shard{Collection: c.Key, Number: number}
			err := a.o.Ask(ctx, shard.WorkflowID(), workflows.QueryDeliveries, &lists[number])
			if wfclient.IsGone(err) { // nothing was raised
				return nil
			}
			return err
		})
	}
	err = asked.Wait()
	return merged(lists[:]), a.o.Error(ctx, err, nil)
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
