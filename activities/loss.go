package activities

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/api/activity/v1"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdkactivity "go.temporal.io/sdk/activity"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

// A worker that is killed, stopped or cut off is detected by the heartbeat timeout of the activities that it has. The server
// then gives them to another worker. Until an attempt passes its fence, a short timeout costs nothing; once it is sent, it
// would cost a heartbeat a second for each target that is slow.
//
//	attempt                                      heartbeat timeout
//	held until its due time                      the time held and its loss time, see heldLoss
//	not held                                     UnsentLoss
//	not held, late, or of a busy worker          SentLoss
//	not held, not answered after half of UnsentLoss   SentLoss, set by the worker (lengthen)
//	retried by the server                        UnsentLoss, set by the worker (shorten)
const (
	// MinHeldLoss and MaxHeldLoss are the least and the most loss time: how long after its due time an attempt that is held
	// counts as lost if the server has no heartbeat of it, such as that of its fence.
	MinHeldLoss = 1350 * time.Millisecond
	MaxHeldLoss = 3 * time.Second

	// UnsentLoss and SentLoss are the heartbeat timeouts of attempts that are not held.
	UnsentLoss = 3 * time.Second
	SentLoss   = 30 * time.Second

	calm           = 300                  // attempts held together up to which their loss time is MinHeldLoss
	lossPerAttempt = 6 * time.Millisecond // for each further one
)

// heldLoss returns the loss time of attempts of which so many are held together. It grows with their number, since their fences
// queue up at the server, and an attempt that is lost for being slow makes the queue longer.
func heldLoss(together int) time.Duration {
	return min(MaxHeldLoss, MinHeldLoss+time.Duration(max(0, together-calm))*lossPerAttempt)
}

// lostAt returns when, by this machine's clock, the server counts an attempt as lost that sends no heartbeat; zero for never.
// The server began to count a little earlier, when it handed the attempt out.
func lostAt(info *sdkactivity.Info) time.Time {
	if info.HeartbeatTimeout == 0 { // never of an activity that a job scheduled
		return time.Time{}
	}
	return time.Now().Add(info.HeartbeatTimeout)
}

// setLoss sets the heartbeat timeout of the activity, for this attempt and those after it.
func (r *Runner) setLoss(ctx context.Context, timeout time.Duration) error {
	info := sdkactivity.GetInfo(ctx)
	_, err := sdkactivity.GetClient(ctx).WorkflowService().UpdateActivityOptions(ctx, &workflowservice.UpdateActivityOptionsRequest{
		Namespace: info.Namespace,
		Execution: &common.WorkflowExecution{WorkflowId: info.WorkflowExecution.ID, RunId: info.WorkflowExecution.RunID},
		Activity:  &workflowservice.UpdateActivityOptionsRequest_Id{Id: info.ActivityID},
		ActivityOptions: &activity.ActivityOptions{
			HeartbeatTimeout: durationpb.New(timeout),
		},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"heartbeat_timeout"}},
	})
	return err
}

// shorten sets the heartbeat timeout of an activity whose attempt failed, and which the server retries, to [UnsentLoss], unless it
// has that already or was given SentLoss when it was scheduled. If the server cannot, the attempts to come keep the timeout, and
// those that a stopped worker gets are lost later.
func (r *Runner) shorten(ctx context.Context, o *outcome) {
	timeout := sdkactivity.GetInfo(ctx).HeartbeatTimeout
	lengthened := timeout == UnsentLoss && o.end.Sub(o.start) > UnsentLoss/2
	if o.together > calm || timeout == SentLoss || timeout == UnsentLoss && !lengthened {
		return
	}
	if err := r.setLoss(context.WithoutCancel(ctx), UnsentLoss); err != nil {
		r.Log.DebugContext(ctx, "the heartbeat timeout of an activity could not be shortened", slog.Any("error", err))
	}
}
