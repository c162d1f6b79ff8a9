package lookups

import (
	"context"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"

	"almanac/activities"
	"almanac/internal/wfclient"
	"almanac/job"
)

// Pending is the progress of an action's activity that has not ended.
type Pending struct {
	Activity  string        `json:"id"`
	Attempts  []job.Attempt `json:"attempts,omitempty"`  // completed attempts, oldest first
	Cancelled bool          `json:"cancelled,omitempty"` // cancellation was requested, so no later fence is passed
	Sent      bool          `json:"sent,omitempty"`      // an attempt without a record may have been sent
	Until     time.Time     `json:"until,omitzero"`      // by the server's clock, when that attempt's lease ends
	Attempt   int32         `json:"attempt,omitempty"`   // its number, as the server counts
	// task queue of the process that may release it; see [activities.Runner.Release]
	Queue string `json:"queue,omitempty"`
	// by the server's clock, when the next attempt begins; past: it has begun, or may at any time
	Next  time.Time `json:"next"`
	Held  bool      `json:"held,omitempty"` // a worker has it, or had when the server last heard of it
	Began time.Time `json:"began"`          // by the server's clock, when a worker last started it

	// the outcome, if it is recorded but not reported; the activity makes no other attempt
	Ended *activities.Ending `json:"ended,omitempty"`
}

// Unrecorded says what may have been sent without a record, of an activity that the server cancelled while no worker
// had it.
type Unrecorded int

// The answers.
const (
	NothingSent Unrecorded = iota
	MayBeSent              // an attempt was due, and the server dropped its record if there was one
	FencePassed            // an attempt had passed its fence and failed, or was lost, before the cancellation
)

// clockMargin is how far a worker's clock may differ from the server's before the worker uses the server's.
const clockMargin = time.Second

// Unrecorded says whether a request that nobody recorded may have been sent, for an activity that the server cancelled
// at an instant while no worker had it. p is what the last lookup before found of it; nil if there was none.
// due is when the execution was due: before that nothing is sent.
//
// It is the one answer to the question for the workflow and for readers of the history. Of an activity that has ended
// otherwise, or has not ended, the record decides: see [activities.Progress.MaybeSent] and [activities.EndingOf].
func (p *Pending) Unrecorded(due, cancelled time.Time) Unrecorded {
	switch {
	case p != nil && p.Sent:
		return FencePassed
	case cancelled.Before(due.Add(-clockMargin)):
		return NothingSent
	case p != nil && cancelled.Before(p.Next.Add(-ServerSkew)): // the server's retry delay lasted until then
		return NothingSent
	}
	return MayBeSent
}

// Lists reports whether a history that has this answer lists an attempt that [Pending.Unrecorded] says may have been
// sent, after those that are recorded.
func (p *Pending) Lists() bool { return p != nil && len(p.Attempts) > 0 && !p.Cancelled }

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

// ProgressOf returns the last recorded progress of a workflow's action activity. payloads is the converter of the
// client; nil means the SDK's default.
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
