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

	// one check at a time, shared by all callers that wait for it; guards the two members below
	checks     singleflight.Group
	lastCheck  error     // of the last check
	checkUntil time.Time // when lastCheck expires

	// one write at a time, shared by all callers that wait for it; guards the members below
	probe      singleflight.Group
	lastResult error     // of the last write
	validUntil time.Time // when lastResult expires
}

// New returns a Checker of the client's namespace.
func New(c client.Client, namespace string, log *slog.Logger) *Checker {
	return &Checker{client: c, namespace: namespace, log: log}
}

// Check returns nil if jobs can be stored and run: Temporal answers, the namespace exists, a worker polls both task
// queues, and Temporal accepts writes. Otherwise the error says what is missing; its text may be shown to every caller.
// It returns within [Timeout]. Everyone may ask, as often as they like: callers share a check, whose result counts for
// a second if all is well, and else for a tenth of one.
func (c *Checker) Check(ctx context.Context) error {
	result := c.checks.DoChan("", func() (any, error) { return nil, c.checkIfDue(context.WithoutCancel(ctx)) })
	select {
	case r := <-result:
		return r.Err
	case <-ctx.Done():
		return errors.New("temporal did not answer in time")
	}
}

const (
	readyFresh   = time.Second
	missingFresh = 100 * time.Millisecond
)

// checkIfDue returns the result of the last check if it is still valid, and otherwise checks. It is not safe for
// concurrent use.
func (c *Checker) checkIfDue(ctx context.Context) error {
	if time.Now().Before(c.checkUntil) {
		return c.lastCheck
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	c.lastCheck = c.check(ctx)
	fresh := readyFresh
	if c.lastCheck != nil {
		fresh = missingFresh
	}
	c.checkUntil = time.Now().Add(fresh)
	return c.lastCheck
}

func (c *Checker) check(ctx context.Context) error {
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
