package execution

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/activities"
)

const (
	// attemptTimeout is how long an attempt may take before it counts as lost even if its worker sends heartbeats: the
	// time limit of the action, and 10 s to report. One of a large herd, or of a job that does not know its herd yet, has
	// reportTime more, since the outcomes of a herd wait for each other: 10,000 for about 100 s on two cores. Both
	// together are shorter than [job.SettledAfter].
	attemptTimeout = activities.DefaultTimeout + 10*time.Second
	reportTime     = 70 * time.Second

	// leastHeld is the shortest hold of an attempt that is held. One that is held for less counts as not held: a busy
	// server has no time to catch up.
	leastHeld = 500 * time.Millisecond

	// soon is how long after it was to begin an attempt that is not held gets the short heartbeat timeout. A later one
	// was waiting for something busy.
	soon = 2 * time.Second

	// takeoverInterval is the time until the server gives a lost attempt to another worker. It doubles
	// each time, up to the retry interval.
	takeoverInterval = 100 * time.Millisecond

	// maxTakeovers is the number of lost attempts the server retries per activity.
	maxTakeovers = 3
)

// Options returns the options of an activity that runs an action, scheduled now. loss is the loss time of the job's
// attempts that are held; see [activities.MinHeldLoss].
func (e *Execution) Options(input *activities.Input, now time.Time, loss time.Duration) workflow.ActivityOptions {
	held := max(0, e.Begin().Sub(now))
	options := workflow.ActivityOptions{
		ActivityID:          e.Activity,
		StartToCloseTimeout: held + attemptTimeout,
		WaitForCancellation: true, // an attempt already sent runs to its end
		RetryPolicy:         retryPolicy(input),
	}
	if loss >= activities.MaxHeldLoss {
		options.StartToCloseTimeout += reportTime
	}
	when := "due"
	switch begin := Later(e.Begin(), e.Next); {
	case held > leastHeld:
		when, e.Loss = "held by a worker until", loss
	case loss <= activities.MinHeldLoss && now.Sub(begin) < soon:
		held, e.Loss = 0, activities.UnsentLoss
	case loss > activities.MaxHeldLoss:
		held, e.Loss = 0, activities.BusyLoss
	default:
		held, e.Loss = 0, activities.SentLoss
	}
	options.HeartbeatTimeout = held + e.Loss
	options.Summary = fmt.Sprintf("%s %s %s%s: %s", input.Execution.ActionName, when, e.Begin().Format(time.RFC3339), attempts(input), input.Action.Text())
	return options
}

// attempts says which attempts of its action an activity makes at most. The number that Temporal's Web UI shows beside
// has those for lost attempts as well.
func attempts(in *activities.Input) string {
	switch first := in.SentBefore + 1; {
	case in.MaxAttempts <= 1:
		return ""
	case first >= in.MaxAttempts:
		return fmt.Sprintf(" (attempt %d of %d)", in.MaxAttempts, in.MaxAttempts)
	default:
		return fmt.Sprintf(" (attempts %d to %d)", first, in.MaxAttempts)
	}
}

// retryPolicy returns the activity's retry policy, which applies to lost attempts only. A failed
// attempt sets its own next retry delay by the job's retry policy, or ends the activity.
func retryPolicy(in *activities.Input) *temporal.RetryPolicy {
	return &temporal.RetryPolicy{
		InitialInterval:    takeoverInterval,
		BackoffCoefficient: 2,
		MaximumInterval:    max(takeoverInterval, in.Action.RetryPolicy.LongestPause()),
		MaximumAttempts:    int32(in.MaxAttempts - in.SentBefore + maxTakeovers),
	}
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
