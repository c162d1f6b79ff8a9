package nemesis

import (
	"context"
	"slices"
	"time"

	"almanac/lab/faults/workload"
	"almanac/lab/receiver"
	"almanac/lab/record"
)

// The aims: moments at which a fault is injected.
const (
	AimRandom = "random"
	// AimTimer is when a job's workflow has not begun, 301 to 305 s before it is due: leads are at most 5 min.
	AimTimer         = "before the timer"
	AimHeld          = "held"         // 8 s before a job is due
	AimClose         = "close"        // 0.1 to 2 s before
	AimFence         = "fence passed" // 0 to 0.2 s before
	AimWindow        = "fence window" // 0 to 35 s before a herd is due, mostly in the last seconds
	AimRequest       = receiver.Requested
	AimAnswered      = receiver.Answered
	AimRetry         = receiver.RetryWait
	AimError         = receiver.ErrorAction
	AimContinueAsNew = "continue-as-new" // about 100 of 110 manual runs of a job are answered
	AimFanOut        = "fan-out"         // 20 to 300 ms after a collection is disabled or enabled
	AimCreate        = "create"          // 5 to 100 ms after many jobs are created
	aimHerd          = "herd"            // 0 to 1 s before many jobs are due together; only for an overload
)

// executionAims are those that every execution may reach.
var executionAims = []string{AimRandom, AimHeld, AimClose, AimFence, AimWindow, AimRequest, AimAnswered, AimRetry,
	AimError}

// Aims are all aims of kill, pause and stop.
var Aims = slices.Concat(executionAims, []string{AimTimer, AimContinueAsNew, AimFanOut, AimCreate})

// someAims returns count aims at random; none is repeated before all were used.
func (n *Nemesis) someAims(count int) []string {
	var some []string
	for len(some) < count {
		for _, i := range n.Random.Perm(len(n.Aims)) {
			some = append(some, n.Aims[i])
		}
	}
	return some[:count]
}

// aimTime is how long an execution that reaches an aim is waited for.
const aimTime = 25 * time.Second

// aim waits for the aim of a plan, or brings it about. It returns the job that has reached it. If none has, it
// returns the zero Job, and the fault is injected all the same.
func (n *Nemesis) aim(ctx context.Context, p *plan) record.Job {
	between := func(least, most int) time.Duration { // milliseconds
		return time.Duration(least+n.Random.IntN(most-least+1)) * time.Millisecond
	}
	switch p.aim {
	case AimRandom:
		return record.Job{}
	case AimTimer:
		return n.Workload.AwaitAsleep(ctx, between(301_000, 305_000))
	case AimHeld:
		return n.Workload.AwaitDue(ctx, 8*time.Second, n.Random)
	case AimClose:
		return n.Workload.AwaitDue(ctx, between(100, 2000), n.Random)
	case AimFence:
		return n.Workload.AwaitDue(ctx, between(0, 200), n.Random)
	case AimWindow:
		n.Workload.AwaitWindow(ctx, between(0, n.Random.IntN(35_000)), n.Random)
		return record.Job{}
	case AimContinueAsNew:
		return n.Workload.RunUntilContinueAsNew(ctx, workload.ContinueAsNewRuns-n.Random.IntN(20), between(0, 50))
	case AimFanOut:
		return n.Workload.FanOut(ctx, between(20, 300), n.Random)
	case AimCreate:
		return n.Workload.CreateMany(ctx, 20+n.Random.IntN(20), between(5, 100), n.Random)
	case aimHerd:
		p.herd = n.Workload.AwaitHerd(ctx, between(0, 1000))
		return record.Job{}
	}
	j, _ := n.Receiver.Await(ctx, p.aim, aimTime)
	return j
}
