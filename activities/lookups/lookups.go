// Package lookups holds the activities that ask and change other workflows.
package lookups

import (
	"context"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"golang.org/x/sync/errgroup"

	"almanac/activities"
	"almanac/internal/wfclient"
	"almanac/job"
)

// Names of the activity types that query or update workflows.
const (
	TypeRegistrations = "Registrations"
	TypePending       = "PendingActions"
	TypeUpdate        = "UpdateWorkflow"
	TypeUpdateAll     = "UpdateWorkflows"
	TypeTerminate     = "TerminateWorkflows"
)

// Lookups are the activities that query or update workflows.
type Lookups struct {
	Converter converter.DataConverter // the one of the worker's client; nil means the SDK's default
}

// lookupsAtOnce is the number of concurrent lookups. They are seldom urgent, and each may make the
// server read the workflow from its database.
const lookupsAtOnce = 4

// Unknown is the number of the registration of an open workflow that does not show it.
const Unknown = 1

// Registrations returns, for each id, the number of the registration with which the open workflow of that id was started: 0 if none
// is open.
func (l *Lookups) Registrations(ctx context.Context, ids []string) ([]int, error) {
	numbers := make([]int, len(ids))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(lookupsAtOnce)
	for i, id := range ids {
		group.Go(func() error {
			found, err := activity.GetClient(ctx).DescribeWorkflowExecution(ctx, id, "")
			if wfclient.IsNotFound(err) {
				return nil
			}
			if info := found.GetWorkflowExecutionInfo(); err == nil && info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
				numbers[i] = numberOf(info, l.Converter)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return numbers, nil
}

// numberOf returns the number of a workflow's registration, from its memo; Unknown if that does not show it.
func numberOf(info *workflow.WorkflowExecutionInfo, payloads converter.DataConverter) int {
	payload := info.GetMemo().GetFields()[MemoRegistration]
	if payload == nil {
		return Unknown
	}
	if payloads == nil {
		payloads = converter.GetDefaultDataConverter()
	}
	number := 0
	if err := wfclient.ConverterFor(payloads, info.GetExecution().GetWorkflowId()).FromPayload(payload, &number); err != nil || number == 0 {
		return Unknown // for example, the key to decrypt it is missing
	}
	return number
}

// MemoRegistration is the member of a workflow's memo with the number of its registration.
const MemoRegistration = "registration"

func indexes(list []bool) []int {
	found := []int{}
	for i, is := range list {
		if is {
			found = append(found, i)
		}
	}
	return found
}

// Pending is the progress of an action's activity that has not ended.
type Pending struct {
	Activity  string        `json:"id"`
	Attempts  []job.Attempt `json:"attempts,omitempty"`  // completed attempts, oldest first
	Cancelled bool          `json:"cancelled,omitempty"` // cancellation was requested, so no later fence is passed
	Sent      bool          `json:"sent,omitempty"`      // an attempt without a record may have been sent
	Until     time.Time     `json:"until,omitzero"`      // by the server's clock, when that attempt's lease ends
	Attempt   int32         `json:"attempt,omitempty"`   // its number, as the server counts
	Queue     string        `json:"queue,omitempty"`     // task queue of the process that may release it; see [activities.Runner.Release]
	Next      time.Time     `json:"next"`                // by the server's clock, when the next attempt begins; past: it has begun, or may at any time
	Held      bool          `json:"held,omitempty"`      // a worker has it, or had when the server last heard of it
	Began     time.Time     `json:"began"`               // by the server's clock, when a worker last started it

	Ended *activities.Ended `json:"ended,omitempty"` // the outcome, if it is recorded but not reported; the activity makes no other attempt
}

// PendingActions returns the calling workflow's action activities that have not ended. The answer may
// be old but is consistent: an activity shown as cancelled is shown with every fence it ever passed.
func (l *Lookups) PendingActions(ctx context.Context) ([]Pending, error) {
	w := activity.GetInfo(ctx).WorkflowExecution
	found, err := activity.GetClient(ctx).DescribeWorkflowExecution(ctx, w.ID, w.RunID)
	if err != nil {
		return nil, err
	}
	var pending []Pending
	for _, a := range found.GetPendingActivities() {
		if a.GetActivityType().GetName() != activities.TypeAction {
			continue
		}
		progress, err := ProgressOf(l.Converter, w.ID, a)
		if err != nil {
			return nil, err
		}
		pending = append(pending, Pending{
			Activity: a.GetActivityId(), Attempts: progress.Attempts,
			Held: a.GetState() == enums.PENDING_ACTIVITY_STATE_STARTED, Began: a.GetLastStartedTime().AsTime(),
			Next:      a.GetNextAttemptScheduleTime().AsTime(), // the zero time is in the past
			Cancelled: a.GetState() == enums.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED,
			Sent:      progress.MaybeSent(),
			Until:     leaseOf(a, &progress),
			Attempt:   a.GetAttempt(), Queue: progress.Queue,
			Ended: progress.Ended,
		})
	}
	return pending, nil
}

// ProgressOf returns the last recorded progress of a workflow's action activity. payloads is the converter of the client; nil means the
// SDK's default.
func ProgressOf(payloads converter.DataConverter, workflowID string, a *workflow.PendingActivityInfo) (p activities.Progress, err error) {
	if payloads == nil {
		payloads = converter.GetDefaultDataConverter()
	}
	if details := a.GetHeartbeatDetails(); details != nil {
		err = wfclient.ConverterFor(payloads, workflowID).FromPayloads(details, &p)
	}
	return p, err
}

// leaseOf returns when the attempt's lease ends, by the server's clock.
func leaseOf(a *workflow.PendingActivityInfo, p *activities.Progress) time.Time {
	return a.GetLastHeartbeatTime().AsTime().Add(time.Duration(p.Lease) * time.Millisecond)
}
