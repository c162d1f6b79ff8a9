package worker

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
)

// A worker that is stopped or cut off leaves its polls open at the server, which gives them tasks until they end: by default for a
// minute. A task that was given away so is lost until it times out. So a worker's polls end soon, unless the server is so slow
// that it could still be handing over a task when they do.
const (
	// DefaultPollTimeout is the time limit of a poll. The server answers a second before that, and refuses less than two seconds.
	DefaultPollTimeout = 2500 * time.Millisecond

	// MaxPollTimeout is the time limit of the SDK.
	MaxPollTimeout = 70 * time.Second

	// slowCall is how long a call must have taken for the server to be slow; slowKept is how long it then counts as slow.
	slowCall = 500 * time.Millisecond
	slowKept = 2 * time.Minute
)

// pollLimit limits the polls of a worker.
type pollLimit struct {
	timeout time.Duration // 0: that of the SDK

	mu   sync.Mutex
	slow time.Time // when a call was slow; zero: never
}

// busy reports whether a call was slow lately.
func (p *pollLimit) busy(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.slow.IsZero() && now.Sub(p.slow) < slowKept
}

func (p *pollLimit) wasSlow(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slow = now
}

// intercept limits polls, and notes how long the calls take that the server answers like the start of a task, by a write.
func (p *pollLimit) intercept(ctx context.Context, method string, request, answer any, c *grpc.ClientConn, call grpc.UnaryInvoker, o ...grpc.CallOption) error {
	begin := time.Now()
	switch method {
	case workflowservice.WorkflowService_PollWorkflowTaskQueue_FullMethodName, workflowservice.WorkflowService_PollActivityTaskQueue_FullMethodName:
		if p.timeout == 0 || p.busy(begin) {
			break
		}
		limited, cancel := context.WithTimeout(ctx, p.timeout)
		defer cancel()
		err := call(limited, method, request, answer, c, o...)
		if err != nil && limited.Err() != nil && ctx.Err() == nil {
			p.wasSlow(time.Now())
			return nil // as if the server had answered that there is no task
		}
		return err
	case workflowservice.WorkflowService_RespondWorkflowTaskCompleted_FullMethodName, workflowservice.WorkflowService_RecordActivityTaskHeartbeat_FullMethodName,
		workflowservice.WorkflowService_RespondActivityTaskCompleted_FullMethodName:
		defer func() {
			if end := time.Now(); end.Sub(begin) > slowCall {
				p.wasSlow(end)
			}
		}()
	}
	return call(ctx, method, request, answer, c, o...)
}
