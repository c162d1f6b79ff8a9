package activities

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"golang.org/x/sync/errgroup"

	"almanac/internal/calls"
	"almanac/job"
)

// The names of the activity types that ask or change workflows.
const (
	TypeMissing = "MissingWorkflows"
	TypeUpdate  = "UpdateWorkflows"
	TypePending = "PendingActions"
)

// Lookups are the activities that ask or change workflows.
type Lookups struct {
	Converter converter.DataConverter // as the worker's client has it; nil means the SDK's default
}

// maxParallel bounds how many workflows one activity asks at once.
const maxParallel = 16

// MissingWorkflows returns the indexes of those workflow ids that no open
// workflow has.
func (l *Lookups) MissingWorkflows(ctx context.Context, ids []string) ([]int, error) {
	return each(ctx, ids, func(ctx context.Context, id string) (bool, error) {
		found, err := activity.GetClient(ctx).DescribeWorkflow(ctx, id, "")
		if calls.IsNotFound(err) {
			return true, nil
		}
		return err == nil && found.WorkflowCloseTime != nil, err
	})
}

// An UpdateInput is an update that several workflows are sent.
type UpdateInput struct {
	Workflows []string `json:"ids"`
	Update    string   `json:"update"`
	Argument  any      `json:"arg,omitempty"` // nil for none
}

// UpdateWorkflows sends an update to workflows and waits until all of them have
// applied it. It returns the indexes of those that are not there, or about to
// end. Workflows that applied it already may be sent it again.
func (l *Lookups) UpdateWorkflows(ctx context.Context, in UpdateInput) ([]int, error) {
	var args []any
	if in.Argument != nil {
		args = []any{in.Argument}
	}
	return each(ctx, in.Workflows, func(ctx context.Context, id string) (bool, error) {
		handle, err := calls.Update(ctx, activity.GetClient(ctx), client.UpdateWorkflowOptions{
			WorkflowID: id, UpdateName: in.Update, Args: args, WaitForStage: client.WorkflowUpdateStageCompleted,
		})
		if err == nil {
			err = handle.Get(ctx, nil)
		}
		if calls.IsGone(err) {
			return true, nil
		}
		return false, asRefusal(err)
	})
}

// asRefusal marks a workflow's refusal of an update as nothing to be alarmed
// about: whoever asked for it is told.
func asRefusal(err error) error {
	refused, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok {
		return err
	}
	return temporal.NewApplicationErrorWithOptions(refused.Message(), refused.Type(), temporal.ApplicationErrorOptions{
		NonRetryable: refused.NonRetryable(), Category: temporal.ApplicationErrorCategoryBenign,
	})
}

// each asks about every id, in parallel, and returns the indexes of those for
// which the answer is yes.
func each(ctx context.Context, ids []string, ask func(ctx context.Context, id string) (bool, error)) ([]int, error) {
	answers := make([]bool, len(ids))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxParallel)
	for i, id := range ids {
		group.Go(func() (err error) {
			answers[i], err = ask(ctx, id)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	yes := []int{}
	for i, is := range answers {
		if is {
			yes = append(yes, i)
		}
	}
	return yes, nil
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
	payloads := l.Converter
	if payloads == nil {
		payloads = converter.GetDefaultDataConverter()
	}
	payloads = calls.ConverterFor(payloads, w.ID)
	var pending []Pending
	for _, a := range found.GetPendingActivities() {
		if a.GetActivityType().GetName() != TypeAction {
			continue
		}
		var progress Progress
		if details := a.GetHeartbeatDetails(); details != nil {
			if err := payloads.FromPayloads(details, &progress); err != nil {
				return nil, err
			}
		}
		pending = append(pending, Pending{
			Activity: a.GetActivityId(), Attempts: progress.Attempts,
			Held: a.GetState() == enums.PENDING_ACTIVITY_STATE_STARTED, Began: a.GetLastStartedTime().AsTime(),
			Next:      a.GetNextAttemptScheduleTime().AsTime(), // the zero of which is past
			Cancelled: a.GetState() == enums.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED,
			Sent:      progress.MaybeSent(),
			Until:     a.GetLastHeartbeatTime().AsTime().Add(time.Duration(progress.Lease) * time.Millisecond),
		})
	}
	return pending, nil
}
