package activities

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"almanac/internal/calls"
)

// A TerminateInput says which workflows are to be terminated, and why.
type TerminateInput struct {
	Workflows []string `json:"ids"`
	Reason    string   `json:"reason"`
}

// TerminateWorkflows ends workflows, whether or not a worker can read their histories.
// When it returns, they send nothing any more, but for those whose indexes it returns:
// of these that is not certain.
func (l *Lookups) TerminateWorkflows(ctx context.Context, in TerminateInput) ([]int, error) {
	still := make([]bool, len(in.Workflows))
	calls.Each(len(still), func(i int) {
		limited, cancel := context.WithTimeout(ctx, terminateTimeout)
		defer cancel()
		err := Terminate(limited, activity.GetClient(ctx), l.Converter, in.Workflows[i], in.Reason)
		if still[i] = err != nil; still[i] && ctx.Err() == nil {
			activity.GetLogger(ctx).Warn("a workflow could not be terminated", "id", in.Workflows[i], slog.Any("error", err))
		}
	})
	return indexes(still), ctx.Err()
}

const (
	// terminateTimeout is longer than any lease.
	terminateTimeout = 45 * time.Second

	// longestLease is the longest that an attempt may ask for: it does so some seconds
	// before it is due at the earliest.
	longestLease = maxLease + 10*time.Second

	// ServerSkew is by how much the clocks of the server's hosts may differ.
	ServerSkew = 500 * time.Millisecond
)

// Terminate ends the open workflow of that id; there may be none, or one that was
// terminated before. When it returns nil, nothing is sent by it any more: the server
// passes no fence of what it has terminated, and the leases that were granted before
// are over.
func Terminate(ctx context.Context, c client.Client, payloads converter.DataConverter, id, reason string) error {
	for {
		found, err := c.DescribeWorkflowExecution(ctx, id, "")
		if err != nil {
			return ignoreMissing(err)
		}
		run := found.GetWorkflowExecutionInfo().GetExecution().GetRunId()
		if err := ignoreMissing(c.TerminateWorkflow(ctx, id, run, reason)); err != nil {
			return err
		}
		if continued, err := outlast(ctx, c, payloads, id, run); !continued { // as new, just before
			return err
		}
	}
}

// AwaitTerminated waits until nothing is sent any more by the workflow of that id if it
// was terminated.
func AwaitTerminated(ctx context.Context, c client.Client, payloads converter.DataConverter, id string) error {
	_, err := outlast(ctx, c, payloads, id, "")
	return err
}

// outlast waits until the leases are over that a run had when it was terminated, or
// reports that it continued as new.
func outlast(ctx context.Context, c client.Client, payloads converter.DataConverter, id, run string) (continued bool, err error) {
	asked := time.Now()
	found, err := c.DescribeWorkflowExecution(ctx, id, run) // what it shows of a closed run is final
	if err != nil {
		return false, ignoreMissing(err)
	}
	info := found.GetWorkflowExecutionInfo()
	switch info.GetStatus() {
	case enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW:
		return true, nil
	case enums.WORKFLOW_EXECUTION_STATUS_RUNNING, enums.WORKFLOW_EXECUTION_STATUS_COMPLETED: // which a job is not before that is certain
		return false, nil
	}
	l, left := &Lookups{Converter: payloads}, time.Duration(0)
	for _, a := range found.GetPendingActivities() {
		if a.GetActivityType().GetName() != TypeAction || a.GetLastHeartbeatTime() == nil {
			continue
		}
		until := a.GetLastHeartbeatTime().AsTime().Add(longestLease)
		if p, err := l.progress(id, a); err == nil { // otherwise the key is missing that it was encrypted with
			until = leaseOf(a, &p)
		}
		left = max(left, until.Add(ServerSkew).Sub(info.GetCloseTime().AsTime()))
	}
	return false, calls.Sleep(ctx, time.Until(asked.Add(left)))
}

// ignoreMissing returns nil where the error is that there is no such open workflow.
func ignoreMissing(err error) error {
	if calls.IsGone(err) {
		return nil
	}
	return err
}
