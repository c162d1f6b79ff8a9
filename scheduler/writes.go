package scheduler

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
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

// A writeProbe remembers the result of the last write probe. Its zero value has none yet.
type writeProbe struct {
	mu      sync.Mutex
	attempt *attempt // the latest; guarded by mu
}

// An attempt is one write, shared by all callers that wait for it.
type attempt struct {
	done  chan struct{} // closed at the end
	err   error         // set before done is closed
	until time.Time     // set before done is closed: when the result expires
}

// expired reports whether the attempt has ended and its result is no longer valid.
func (a *attempt) expired(now time.Time) bool {
	select {
	case <-a.done:
		return !now.Before(a.until)
	default:
		return false
	}
}

// takesWrites returns nil if Temporal accepted a write within writesFresh. Without a valid result it makes
// a write.
func (s *Service) takesWrites(ctx context.Context) error {
	a := s.writes.latest(ctx, s)
	select {
	case <-a.done:
		return a.err
	case <-ctx.Done():
		return refused(ctx.Err())
	}
}

// latest returns the attempt that is running or whose result is valid; otherwise it starts one.
func (p *writeProbe) latest(ctx context.Context, s *Service) *attempt {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.attempt != nil && !p.attempt.expired(s.now()) {
		return p.attempt
	}
	failed := p.attempt != nil && p.attempt.err != nil
	a := &attempt{done: make(chan struct{})}
	p.attempt = a
	go func() {
		defer close(a.done)
		// Other callers wait for it too, so it must outlive the first.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
		defer cancel()
		if err := s.write(ctx); err != nil {
			a.err, a.until = refused(err), s.now().Add(refusalFresh)
			if !failed {
				s.log.WarnContext(ctx, "temporal takes no writes", slog.Any("error", err))
			}
			return
		}
		a.until = s.now().Add(writesFresh)
		if failed {
			s.log.InfoContext(ctx, "temporal takes writes again")
		}
	}()
	return a
}

// write writes to Temporal's database. It then describes a workflow that does not exist: for seconds after
// the database has recovered, Temporal's history service still refuses all calls.
func (s *Service) write(ctx context.Context) error {
	_, err := s.client.WorkflowService().UpdateTaskQueueConfig(ctx, &workflowservice.UpdateTaskQueueConfigRequest{
		Namespace: s.namespace, TaskQueue: probeQueue, TaskQueueType: enums.TASK_QUEUE_TYPE_ACTIVITY,
	})
	switch serviceerror.ToStatus(err).Code() {
	case codes.OK, codes.Unimplemented, codes.PermissionDenied: // the latter two say nothing about the database
	default:
		return err
	}
	_, err = s.client.WorkflowService().DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: s.namespace, Execution: &common.WorkflowExecution{WorkflowId: probeQueue},
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
		return fmt.Errorf("temporal takes no writes: no answer within %s; check its database", readyTimeout)
	case code == codes.ResourceExhausted:
		return fmt.Errorf("temporal takes no writes: %s; check its load and its rate limits", code)
	}
	return fmt.Errorf("temporal takes no writes: %s; check its database and the free disk space", code)
}
