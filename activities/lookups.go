package activities

import (
	"context"
	"errors"

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
	TypePending = "PendingAttempts"
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

// Pending are the records of the attempts so far of an activity that waits for
// its next attempt.
type Pending struct {
	ActivityID string        `json:"id"`
	Attempts   []job.Attempt `json:"attempts"`
}

// PendingAttempts returns the attempts that the calling workflow's activities
// have made so far. Temporal forgets them when a waiting activity is cancelled.
func (l *Lookups) PendingAttempts(ctx context.Context) ([]Pending, error) {
	w := activity.GetInfo(ctx).WorkflowExecution
	found, err := activity.GetClient(ctx).DescribeWorkflowExecution(ctx, w.ID, w.RunID)
	if err != nil {
		return nil, err
	}
	payloads := l.Converter
	if payloads == nil {
		payloads = converter.GetDefaultDataConverter()
	}
	var pending []Pending
	for _, a := range found.GetPendingActivities() {
		var attempts []job.Attempt
		if a.GetHeartbeatDetails() == nil {
			continue
		}
		if err := payloads.FromPayloads(a.GetHeartbeatDetails(), &attempts); err != nil {
			return nil, err
		}
		pending = append(pending, Pending{ActivityID: a.GetActivityId(), Attempts: attempts})
	}
	return pending, nil
}
