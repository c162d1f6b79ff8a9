package lookups

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"almanac/activities"
	"almanac/internal/wfclient"
)

// A TerminateInput is the input of [Lookups.TerminateWorkflows].
type TerminateInput struct {
	Workflows []string `json:"ids"`
	Reason    string   `json:"reason"`
	// number of the newest registration that this is for; workflows of later ones are left alone
	Last int `json:"last"`
}

// TerminateWorkflows terminates workflows, whether or not a worker can read their histories. It returns
// the indexes of those that may still send requests.
func (l *Lookups) TerminateWorkflows(ctx context.Context, in TerminateInput) ([]int, error) {
	still := make([]bool, len(in.Workflows))
	wfclient.Each(len(still), func(i int) {
		limited, cancel := context.WithTimeout(ctx, terminateTimeout)
		defer cancel()
		err := Terminate(limited, activity.GetClient(ctx), l.Converter, in.Workflows[i], in.Reason, in.Last)
		if still[i] = err != nil; still[i] && ctx.Err() == nil {
			activity.GetLogger(ctx).Warn("a workflow could not be terminated", "id", in.Workflows[i], slog.Any("error", err))
		}
	})
	return indexes(still), ctx.Err()
}

const (
	// terminateTimeout exceeds any lease.
	terminateTimeout = 45 * time.Second

	// longestLease is the upper bound of a lease: fences are passed some seconds before the due time at
	// the earliest.
	longestLease = activities.MaxLease + 10*time.Second

	// ServerSkew is the maximum clock skew between the server's hosts.
	ServerSkew = 500 * time.Millisecond
)

// Terminate terminates the open workflow of an id, if there is one. When it returns nil, no more requests are sent by
// it, nor by a workflow of that id terminated before: the server refuses their fences, and their leases are over. A
// workflow with a later registration than last, unless that is 0, has another's place and is left alone.
func Terminate(ctx context.Context, c client.Client, payloads converter.DataConverter, id, reason string, last int) error {
	for {
		found, err := c.DescribeWorkflowExecution(ctx, id, "")
		if err != nil {
			return ignoreMissing(err)
		}
		if last > 0 && numberOf(found.GetWorkflowExecutionInfo(), payloads) > last {
			return nil
		}
		run := found.GetWorkflowExecutionInfo().GetExecution().GetRunId()
		if err := ignoreMissing(c.TerminateWorkflow(ctx, id, run, reason)); err != nil {
			return err
		}
		if continued, err := outlast(ctx, c, payloads, id, run); !continued { // it continued as new just before
			return err
		}
	}
}

// AwaitTerminated waits until a terminated workflow of that id can send no more requests.
func AwaitTerminated(ctx context.Context, c client.Client, payloads converter.DataConverter, id string) error {
	_, err := outlast(ctx, c, payloads, id, "")
	return err
}

// outlast waits until the leases of a terminated run are over. It reports whether the run continued as
// new instead.
func outlast(ctx context.Context, c client.Client, payloads converter.DataConverter, id, run string) (continued bool, err error) {
	asked := time.Now()
	found, err := c.DescribeWorkflowExecution(ctx, id, run) // final for a closed run
	if err != nil {
		return false, ignoreMissing(err)
	}
	info := found.GetWorkflowExecutionInfo()
	switch info.GetStatus() {
	case enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW:
		return true, nil
	case enums.WORKFLOW_EXECUTION_STATUS_RUNNING, enums.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		// a job completes only when its leases are over
		return false, nil
	}
	left := time.Duration(0)
	for _, a := range found.GetPendingActivities() {
		if a.GetActivityType().GetName() != activities.TypeAction || a.GetLastHeartbeatTime() == nil {
			continue
		}
		until := a.GetLastHeartbeatTime().AsTime().Add(longestLease)
		if p, err := ProgressOf(payloads, id, a); err == nil { // otherwise the key to decrypt it is missing
			until = leaseOf(a, &p)
		}
		left = max(left, until.Add(ServerSkew).Sub(info.GetCloseTime().AsTime()))
	}
	return false, wfclient.Sleep(ctx, time.Until(asked.Add(left)))
}

// ignoreMissing returns nil if the error is that there is no such open workflow.
func ignoreMissing(err error) error {
	if wfclient.IsGone(err) {
		return nil
	}
	return err
}
