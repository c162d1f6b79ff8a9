package worker

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.temporal.io/api/command/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	"almanac/internal/latency"
)

// Temporal offers a workflow's tasks first to the worker that has it in its cache, and after the sticky timeout to any
// worker. A short timeout saves time after a worker crash; but if the worker is busy, tasks time out one after another
// and are done twice. So the timeout follows how long tasks wait. While they do not, that of a workflow with an
// activity, whose changes are the most urgent, is minStickyTimeout; others get stickyTimeout.
const (
	minStickyTimeout = time.Second
	stickyTimeout    = 5 * time.Second

	// maxStickyTimeout is that of all workflows while tasks wait long. A killed worker keeps a task for as long, which
	// is also how long the server waits for a task that it took.
	maxStickyTimeout = 10 * time.Second

	stickyWaits = 4 // the timeout is so many times the longest wait
)

// sticky tracks how long workflow tasks waited for this process recently. The zero value is ready for use.
type sticky struct {
	mu    sync.Mutex
	first time.Time // start of the first task, by the server's clock
	waits latency.Longest
}

// waited records how long a task waited, by the server's clock. Tasks scheduled before the first one
// started waited for a worker, and do not count.
func (s *sticky) waited(scheduled, started, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first.IsZero() {
		s.first = started
	}
	if !scheduled.Before(s.first) {
		s.waits.Note(started.Sub(scheduled), now)
	}
}

// timeout returns the sticky timeout of a workflow, which is least if no task waits.
func (s *sticky) timeout(least time.Duration, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return min(max(least, stickyWaits*s.waits.Lately(now)), maxStickyTimeout)
}

// intercept sets the sticky timeout, and records how long tasks waited.
func (s *sticky) intercept(ctx context.Context, method string, request, answer any, c *grpc.ClientConn, call grpc.UnaryInvoker, o ...grpc.CallOption) error {
	if r, ok := request.(*workflowservice.RespondWorkflowTaskCompletedRequest); ok && r.GetStickyAttributes() != nil {
		least := stickyTimeout
		if slices.ContainsFunc(r.GetCommands(), startsActivity) {
			least = minStickyTimeout
		}
		r.StickyAttributes.ScheduleToStartTimeout = durationpb.New(s.timeout(least, time.Now()))
	}
	err := call(ctx, method, request, answer, c, o...)
	if task, ok := answer.(*workflowservice.PollWorkflowTaskQueueResponse); ok && err == nil && task.GetScheduledTime() != nil && task.GetQuery() == nil {
		s.waited(task.GetScheduledTime().AsTime(), task.GetStartedTime().AsTime(), time.Now())
	}
	return err
}

func startsActivity(c *command.Command) bool {
	return c.GetCommandType() == enums.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK
}
