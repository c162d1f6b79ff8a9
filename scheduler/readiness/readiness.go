// Package readiness checks whether jobs can be stored and run.
package readiness

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"golang.org/x/sync/singleflight"

	"almanac/workflows"
)

// Timeout is the time limit of a check.
const Timeout = 2 * time.Second

// A worker counts as alive if it polled within pollerFresh. A poll lasts up to a minute.
const pollerFresh = 90 * time.Second

// A Checker checks whether Temporal and the workers are ready. It is safe for concurrent use.
type Checker struct {
	client    client.Client
	namespace string
	log       *slog.Logger

	probe      singleflight.Group // one write at a time, shared by all callers that wait for it; guards the members below
	lastResult error              // of the last write
	validUntil time.Time          // when lastResult expires
}

// New returns a Checker of the client's namespace.
func New(c client.Client, namespace string, log *slog.Logger) *Checker {
	return &Checker{client: c, namespace: namespace, log: log}
}

// Check returns nil if jobs can be stored and run: Temporal answers, the namespace exists, a worker polls
// both task queues, and Temporal accepts writes. Otherwise the error says what is missing; its text may be
// shown to every caller. It returns within [Timeout].
func (c *Checker) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	_, err := c.client.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: c.namespace})
	if _, missing := errors.AsType[*serviceerror.NamespaceNotFound](err); missing {
		return fmt.Errorf("the namespace %q does not exist; create it with \"almanac setup\"", c.namespace)
	}
	if err != nil {
		return fmt.Errorf("temporal does not answer, or does not show the namespace %q", c.namespace)
	}
	for _, kind := range []enums.TaskQueueType{enums.TASK_QUEUE_TYPE_WORKFLOW, enums.TASK_QUEUE_TYPE_ACTIVITY} {
		queue, err := c.client.DescribeTaskQueue(ctx, workflows.TaskQueue, kind)
		if err != nil {
			return errors.New("temporal did not list the workers that poll")
		}
		alive := false
		for _, p := range queue.GetPollers() {
			alive = alive || time.Since(p.GetLastAccessTime().AsTime()) < pollerFresh
		}
		if !alive {
			return fmt.Errorf("no worker polls the task queue %q", workflows.TaskQueue)
		}
	}
	return c.takesWrites(ctx)
}
