package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"almanac/job"
)

// aliveInterval is the least time between two signs of life of an attempt, and
// after it is due before the first.
const aliveInterval = time.Second

// keepAlive tells the server that an attempt is on its way once it is due, for
// the server would count a silent one as lost: when a quarter of the time until
// then is over, and from then on when half of it is. It returns when over ends,
// and reports whether the execution was cancelled before. An attempt that the
// server has given up goes on: what it comes to is of use to whatever takes over.
func keepAlive(ctx, over context.Context, earlier []job.Attempt, due time.Time) (cancelled bool) {
	info := activity.GetInfo(ctx)
	if info.HeartbeatTimeout == 0 {
		return false
	}
	held := max(0, time.Until(due))
	left := time.Until(info.StartedTime.Add(info.HeartbeatTimeout)) - held
	for wait := held + max(aliveInterval, left/4); ; {
		select {
		case <-over.Done():
			return false
		case <-time.After(wait):
		}
		err := heartbeat(over, earlier, true)
		switch {
		case temporal.IsCanceledError(err):
			return true
		case isWithdrawn(err):
			return false
		case err != nil:
			wait = aliveInterval
		default:
			wait = max(aliveInterval, info.HeartbeatTimeout/2)
		}
	}
}
