package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"

	"almanac/job"
)

// aliveInterval is the least time between two signs of life of an attempt, and
// after it is due before the first.
const aliveInterval = 1500 * time.Millisecond

// A pulse tells the server that an attempt is on its way, which would count a
// silent one as lost: each time that half of the time until then is over.
type pulse struct {
	C       <-chan time.Time // when to beat; nil where the server does not listen
	earlier []job.Attempt    // the records of the attempts before, which the next one is handed
}

// newPulse returns the pulse of an attempt that is on its way as soon as it is due.
func newPulse(ctx context.Context, earlier []job.Attempt, due time.Time) *pulse {
	p := &pulse{earlier: earlier}
	if info := activity.GetInfo(ctx); info.HeartbeatTimeout > 0 {
		held := max(0, time.Until(due))
		left := time.Until(info.StartedTime.Add(info.HeartbeatTimeout)) - held
		p.C = time.After(held + max(aliveInterval, left/2))
	}
	return p
}

func (p *pulse) beat(ctx context.Context) {
	activity.RecordHeartbeat(ctx, p.earlier, true)
	p.C = time.After(max(aliveInterval, activity.GetInfo(ctx).HeartbeatTimeout/2))
}
