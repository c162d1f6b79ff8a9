package execution

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/activities"
)

const (
	// attemptTimeout is how long an attempt may take before it counts as lost: the time limit of the
	// action, and 10 s to report.
	attemptTimeout = activities.DefaultTimeout + 10*time.Second

	// lossTimeout is the heartbeat timeout of an attempt that is not held. It is long enough for a busy
	// server; for held ones see [activities.HeldLossTimeout].
	lossTimeout = 30 * time.Second

	// leastHeld is the shortest hold that gets the short heartbeat timeout: with less, a busy server
	// has no time to catch up.
	leastHeld = 500 * time.Millisecond

	// takeoverInterval is the time until the server gives a lost attempt to another worker. It doubles
	// each time, up to the retry interval.
	takeoverInterval = 200 * time.Millisecond

	// maxTakeovers is the number of lost attempts the server retries per activity.
	maxTakeovers = 3
)

// Options returns the options of an activity that runs an action, and is held by the worker for some time.
func (e *Execution) Options(input *activities.Input, held time.Duration) workflow.ActivityOptions {
	options := workflow.ActivityOptions{
		ActivityID:          e.Activity,
		StartToCloseTimeout: held + attemptTimeout,
		HeartbeatTimeout:    lossTimeout,
		WaitForCancellation: true, // an attempt already sent runs to its end
		RetryPolicy:         retryPolicy(input),
	}
	when := "due"
	if held > leastHeld {
		when = "held by a worker until"
		options.HeartbeatTimeout = held + activities.HeldLossTimeout
	}
	options.Summary = fmt.Sprintf("%s %s %s: %s", input.Execution.ActionName, when, e.Due.Format(time.RFC3339), input.Action.Text())
	return options
}

// retryPolicy returns the activity's retry policy, which applies to lost attempts only. A failed
// attempt sets its own next retry delay by the job's retry policy, or ends the activity.
func retryPolicy(in *activities.Input) *temporal.RetryPolicy {
	return &temporal.RetryPolicy{
		InitialInterval:    takeoverInterval,
		BackoffCoefficient: 2,
		MaximumInterval:    max(takeoverInterval, in.Action.RetryPolicy.Interval()),
		MaximumAttempts:    int32(in.MaxAttempts - in.SentBefore + maxTakeovers),
	}
}
