package activities

import (
	"context"
	"errors"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"

	"almanac/job"
)

// The names of the activity types that look things up in Temporal.
const (
	TypeMissing = "MissingWorkflows"
	TypePending = "PendingAttempts"
)

// Lookups are the activities that ask Temporal about workflows.
type Lookups struct {
	Converter converter.DataConverter // as the worker's client has it; nil means the SDK's default
}

// MissingWorkflows returns the indexes of those workflow ids that no open
// workflow has.
func (l *Lookups) MissingWorkflows(ctx context.Context, ids []string) ([]int, error) {
	missing := []int{}
	for i, id := range ids {
		found, err := activity.GetClient(ctx).DescribeWorkflow(ctx, id, "")
		switch _, gone := errors.AsType[*serviceerror.NotFound](err); {
		case gone:
			missing = append(missing, i)
		case err != nil:
			return nil, err
		case found.WorkflowCloseTime != nil:
			missing = append(missing, i)
		}
	}
	return missing, nil
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
