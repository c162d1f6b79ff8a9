package activities

import (
	"context"
	"log/slog"
	"math"
	"time"

	"go.temporal.io/api/activity/v1"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdkactivity "go.temporal.io/sdk/activity"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"almanac/job"
)

// A worker that is killed, stopped or cut off is detected by the heartbeat timeout of the activities that it has. The
// server then gives them to another worker. Until an attempt passes its fence, a short timeout costs nothing; once it
// is sent, it would cost a heartbeat a second for each target that is slow.
//
//	attempt                                      heartbeat timeout
//	held until its due time                      the time held and its loss time, see heldLoss
//	not held                                     UnsentLoss
//	not held, late, or of a busy worker          SentLoss; BusyLoss while outcomes wait long to be reported
//	not answered or reported soon                SentLoss or BusyLoss, set by the worker (lengthen)
//	retried by the server                        UnsentLoss, set by the worker (shorten)
const (
	// MinHeldLoss and MaxHeldLoss are the least and the most loss time while the server is quick of an attempt whose
	// fence is the last one: how long after its due time an attempt that is held counts as lost if the server has no
	// heartbeat of it, such as that of its fence.
	// busyHeldLoss is the most otherwise; a worker that takes over sends until takeUpLimit.
	MinHeldLoss  = 1450 * time.Millisecond
	MaxHeldLoss  = 3 * time.Second
	busyHeldLoss = 20 * time.Second

	// UnsentLoss, SentLoss and BusyLoss are the heartbeat timeouts of attempts that are not held. BusyLoss is so long
	// since heartbeats of thousands of outcomes that wait to be reported would take the time of the server that their
	// reports need.
	UnsentLoss = 3 * time.Second
	SentLoss   = 30 * time.Second
	BusyLoss   = 90 * time.Second

	// time from the fence of an attempt of a small herd until it is lost without it: longer than the polls of a worker
	// that was lost stay open, since the server would give it to one of these.
	fenceToLoss = MinHeldLoss + leastMargin

	// attempts held together up to which their loss time is MinHeldLoss: of 500 jobs of two workers, one has hardly
	// more.
	calm           = 400
	lossPerAttempt = 6 * time.Millisecond // for each further one

	// attempts held together up to which a worker that is lost is to be detected within MaxHeldLoss.
	large = 500
)

// heldLoss returns the loss time of an attempt, given how many are held for the same due time and the position of its
// fence among theirs, and the longest window of their fences.
//
// What a lost worker held is to be sent by another one a few milliseconds apart, so that of up to
// large attempts those whose fence is earlier count as lost earlier, each as long after its fence. It grows with their
// number and with the time that the server takes to answer: their fences queue up at the server, and an attempt that
// counts as lost because it is slow makes the queue longer. That of a large herd is also as long as outcomes wait to be
// reported, since the server looks at each activity that has not ended when its loss time is over, and writes a timer
// for the next time. Fences for which the window is too short have the time that they take.
func (r *Runner) heldLoss(together int, spread float64, most time.Duration) time.Duration {
	least := min(MaxHeldLoss, MinHeldLoss+time.Duration(max(0, together-calm))*lossPerAttempt)
	if together <= large {
		first, last := fenceSpread(together, leastFenceTime, maxWindowOnce)
		ahead := last + time.Duration(spread*float64(first-last))
		least -= ahead - leastMargin
		if together > calm {
			least = max(least, MinHeldLoss+time.Millisecond) // it tells the job that the herd is large
		}
	} else {
		least = max(least, min(r.Completions.LongestWait(), busyHeldLoss))
	}
	loss := r.Latency.Patience(least, busyHeldLoss)
	if late := overrun(together, r.pace.time(), most, spread); late > 0 {
		loss = max(loss, late+MaxHeldLoss)
	}
	return loss
}

// lossMargin is how long before the server counts an attempt as lost it gets a heartbeat at the latest.
const lossMargin = 500 * time.Millisecond

// retryTime is enough for several tries of a heartbeat that a busy server does not answer.
const retryTime = 15 * time.Second

// A lossClock estimates when the server counts an attempt as lost. One goroutine at a time uses it.
type lossClock struct {
	// heartbeat timeout by which the server counts, or a shorter one; 0 for none, which no job's activity has
	timeout   time.Duration
	scheduled time.Duration // with which the activity was scheduled
	heard     time.Time     // when the last heartbeat was sent that the server recorded, or when the attempt began
	fenced    bool          // the server recorded a fence of the attempt
	putOff    int           // see [Progress]
	unkept    bool          // the journal could not be given its outcome
}

// newLossClock returns the clock of an attempt that begins after those recorded. The server tells each attempt the
// timeout with which the activity was scheduled, even if it was changed (Temporal 1.32), and it may have been shortened
// when the attempt before failed.
func newLossClock(info *sdkactivity.Info, recorded []job.Attempt) *lossClock {
	c := &lossClock{timeout: info.HeartbeatTimeout, scheduled: info.HeartbeatTimeout, heard: time.Now()}
	if len(recorded) > 0 && c.timeout != SentLoss && c.timeout != BusyLoss {
		c.timeout = min(c.timeout, UnsentLoss)
	}
	return c
}

// lost returns when, by this machine's clock, the server counts the attempt as lost if it sends no other heartbeat;
// zero for never. The server began to count a little earlier if it has had none, when it handed the attempt out.
func (c *lossClock) lost() time.Time {
	if c.timeout == 0 {
		return time.Time{}
	}
	return c.heard.Add(c.timeout)
}

// until returns the time that is left until so long before the attempt counts as lost; without end if it never does.
func (c *lossClock) until(before time.Duration) time.Duration {
	if c.timeout == 0 {
		return math.MaxInt64 / 2
	}
	return time.Until(c.lost().Add(-before))
}

// interval returns the time between two heartbeats, which leaves retryTime or half of the timeout for another try.
func (c *lossClock) interval() time.Duration {
	return max(aliveInterval, c.timeout/2, c.timeout-retryTime)
}

// wait returns the time until the next heartbeat.
func (c *lossClock) wait() time.Duration {
	if c.timeout == 0 || time.Now().After(c.lost()) { // then no hurry helps
		return c.interval()
	}
	return min(c.interval(), time.Until(c.lost().Add(-lossMargin)))
}

// longer returns the heartbeat timeout that an attempt which was sent is to have; 0 if a call to set it is not worth
// it. While outcomes wait long to be reported, it saves heartbeats.
func (r *Runner) longer(c *lossClock) time.Duration {
	switch busy := r.Completions.LongestWait() > SentLoss/2; {
	case c.timeout > 0 && c.timeout < BusyLoss*2/3 && busy:
		return BusyLoss
	case c.timeout > 0 && c.timeout < SentLoss:
		return SentLoss
	}
	return 0
}

// lengthen sets a heartbeat timeout that is short to that of longer, and reports whether the server has done so.
func (r *Runner) lengthen(ctx context.Context, c *lossClock) bool {
	timeout := r.longer(c)
	if timeout == 0 || r.setLoss(ctx, timeout) != nil {
		return false
	}
	c.timeout = timeout
	return true
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

// shorten sets the heartbeat timeout of an activity whose attempt failed, and which the server retries, to
// [UnsentLoss], unless it has that already or was given SentLoss or BusyLoss when it was scheduled. If the server
// cannot, the attempts to come keep the timeout, and those that a stopped worker gets are lost later.
func (r *Runner) shorten(ctx context.Context, o *outcome, c *lossClock) {
	if r.holds.size(o.held) > calm || c.scheduled == SentLoss || c.scheduled == BusyLoss || c.timeout == UnsentLoss {
		return
	}
	if err := r.setLoss(context.WithoutCancel(ctx), UnsentLoss); err != nil {
		r.Log.DebugContext(ctx, "the heartbeat timeout of an activity could not be shortened", slog.Any("error", err))
	}
}
