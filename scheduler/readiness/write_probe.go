package readiness

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"

	"almanac/internal/wfclient"
	"almanac/workflows"
)

// A write probe updates the configuration of the task queue probeQueue, which is not used otherwise,
// without changing it. Temporal (1.29 and later) still writes the configuration's clock. That takes 0.11 s,
// 0.1 s of which the server waits for other updates, and adds 5 kB to SQLite's write-ahead log. Three rows
// remain, however many probes there are.
//
// Alternatives that were rejected:
//   - Starting and deleting a workflow writes 720 kB, and if the server records the start in its
//     visibility store after the deletion, the record stays for good.
//   - Duplicate signals and resets of sticky task queues are not written.
//   - A refused start leaves a history without an owner.
const probeQueue = workflows.TaskQueue + "-ready"

// A result is valid for writesFresh if Temporal accepted the write, and for refusalFresh if not, so that
// recovery is noticed soon.
const (
	writesFresh  = 10 * time.Second
	refusalFresh = time.Second
)

// takesWrites returns nil if Temporal accepted a write within writesFresh. Without a valid result it makes
// a write, which continues for other callers if this one gives up.
func (c *Checker) takesWrites(ctx context.Context) error {
	result := c.probe.DoChan("", func() (any, error) { return nil, c.writeIfDue(context.WithoutCancel(ctx)) })
	select {
	case r := <-result:
		return r.Err
	case <-ctx.Done():
		return refused(ctx.Err())
	}
}

// writeIfDue returns the result of the last write if it is still valid, and otherwise writes. It is not safe
// for concurrent use.
func (c *Checker) writeIfDue(ctx context.Context) error {
	if time.Now().Before(c.validUntil) {
		return c.lastResult
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	failed := c.lastResult != nil
	if err := c.write(ctx); err != nil {
		c.lastResult, c.validUntil = refused(err), time.Now().Add(refusalFresh)
		if !failed {
			c.log.WarnContext(ctx, "temporal takes no writes", slog.Any("error", err))
		}
		return c.lastResult
	}
	c.lastResult, c.validUntil = nil, time.Now().Add(writesFresh)
	if failed {
		c.log.InfoContext(ctx, "temporal takes writes again")
	}
	return nil
}

// write writes to Temporal's database. It then describes a workflow that does not exist: for seconds after
// the database has recovered, Temporal's history service still refuses all calls.
func (c *Checker) write(ctx context.Context) error {
	_, err := c.client.WorkflowService().UpdateTaskQueueConfig(ctx, &workflowservice.UpdateTaskQueueConfigRequest{
		Namespace: c.namespace, TaskQueue: probeQueue, TaskQueueType: enums.TASK_QUEUE_TYPE_ACTIVITY,
	})
	switch serviceerror.ToStatus(err).Code() {
	case codes.OK, codes.Unimplemented, codes.PermissionDenied: // the latter two say nothing about the database
	default:
		return err
	}
	_, err = c.client.WorkflowService().DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: c.namespace, Execution: &common.WorkflowExecution{WorkflowId: probeQueue},
	})
	if wfclient.IsNotFound(err) {
		return nil
	}
	return err
}

// refused returns the error to show for a failed write. It omits the server's own text, which may name
// hosts and tables.
func refused(err error) error {
	code := serviceerror.ToStatus(err).Code()
	switch {
	case wfclient.IsTimeout(err):
		return fmt.Errorf("temporal takes no writes: no answer within %s; check its database", Timeout)
	case code == codes.ResourceExhausted:
		return fmt.Errorf("temporal takes no writes: %s; check its load and its rate limits", code)
	}
	return fmt.Errorf("temporal takes no writes: %s; check its database and the free disk space", code)
}
