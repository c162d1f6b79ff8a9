package activities

import (
	"context"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"golang.org/x/sync/errgroup"

	"almanac/internal/calls"
	"almanac/job"
)

// The names of the activity types that ask or change workflows.
const (
	TypeMissing   = "MissingWorkflows"
	TypePending   = "PendingActions"
	TypeUpdate    = "UpdateWorkflow"
	TypeUpdateAll = "UpdateWorkflows"
	TypeTerminate = "TerminateWorkflows"
)

// Lookups are the activities that ask or change workflows.
type Lookups struct {
	Converter converter.DataConverter // as the worker's client has it; nil means the SDK's default
}

// lookupsAtOnce is how many workflows are looked up at once. That is seldom urgent,
// and each may have to be read from the database first.
const lookupsAtOnce = 4

// MissingWorkflows returns the indexes of those workflow ids that no open
// workflow has.
func (l *Lookups) MissingWorkflows(ctx context.Context, ids []string) ([]int, error) {
	missing := make([]bool, len(ids))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(lookupsAtOnce)
	for i, id := range ids {
		group.Go(func() error {
			found, err := activity.GetClient(ctx).DescribeWorkflow(ctx, id, "")
			if calls.IsNotFound(err) {
				missing[i] = true
				return nil
			}
			missing[i] = err == nil && found.WorkflowCloseTime != nil
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return indexes(missing), nil
}

// indexes returns the indexes of what is true.
func indexes(list []bool) []int {
	found := []int{}
	for i, is := range list {
		if is {
			found = append(found, i)
		}
	}
	return found
}

// Pending is how far an action's activity that has not ended has come.
type Pending struct {
	Activity  string        `json:"id"`
	Attempts  []job.Attempt `json:"attempts,omitempty"`  // the records so far, oldest first
	Cancelled bool          `json:"cancelled,omitempty"` // its cancellation was requested: no fence is passed any more
	Sent      bool          `json:"sent,omitempty"`      // the request of the attempt that left no record yet may have left
	Until     time.Time     `json:"until,omitzero"`      // by the server's clock, until when that attempt may begin to send, if it has not
	Next      time.Time     `json:"next"`                // by the server's clock, when the next attempt begins; if that is past, it has begun, or may at any time
	Held      bool          `json:"held,omitempty"`      // a worker has it, or had when it was heard of last
	Began     time.Time     `json:"began"`               // by the server's clock, when a worker took it up last
}

// PendingActions returns the calling workflow's activities that perform actions
// and have not ended. The answer may be old, but never mixes states: if an activity
// is shown as cancelled, all fences that it ever passed before that are shown.
func (l *Lookups) PendingActions(ctx context.Context) ([]Pending, error) {
	w := activity.GetInfo(ctx).WorkflowExecution
	found, err := activity.GetClient(ctx).DescribeWorkflowExecution(ctx, w.ID, w.RunID)
	if err != nil {
		return nil, err
	}
	var pending []Pending
	for _, a := range found.GetPendingActivities() {
		if a.GetActivityType().GetName() != TypeAction {
			continue
		}
		progress, err := l.progress(w.ID, a)
		if err != nil {
			return nil, err
		}
		pending = append(pending, Pending{
			Activity: a.GetActivityId(), Attempts: progress.Attempts,
			Held: a.GetState() == enums.PENDING_ACTIVITY_STATE_STARTED, Began: a.GetLastStartedTime().AsTime(),
			Next:      a.GetNextAttemptScheduleTime().AsTime(), // the zero of which is past
			Cancelled: a.GetState() == enums.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED,
			Sent:      progress.MaybeSent(),
			Until:     leaseOf(a, &progress),
		})
	}
	return pending, nil
}

// progress returns what an action's activity of a workflow recorded last.
func (l *Lookups) progress(workflowID string, a *workflow.PendingActivityInfo) (p Progress, err error) {
	payloads := l.Converter
	if payloads == nil {
		payloads = converter.GetDefaultDataConverter()
	}
	if details := a.GetHeartbeatDetails(); details != nil {
		err = calls.ConverterFor(payloads, workflowID).FromPayloads(details, &p)
	}
	return p, err
}

// leaseOf returns until when, by the server's clock, an attempt may begin to send.
func leaseOf(a *workflow.PendingActivityInfo, p *Progress) time.Time {
	return a.GetLastHeartbeatTime().AsTime().Add(time.Duration(p.Lease) * time.Millisecond)
}
