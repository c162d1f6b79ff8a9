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
)

// Temporal offers a workflow's tasks first to the worker that has it in its cache, and after the sticky
// timeout to any worker. A short timeout saves time after a worker crash; but if the worker is busy,
// tasks time out one after another and are done twice. So the timeout of a workflow with an activity,
// whose changes are the most urgent, follows how long tasks wait; others get stickyTimeout.
const (
	stickyTimeout    = 5 * time.Second
	minStickyTimeout = time.Second
	stickyWaits      = 4 // the timeout of a workflow with an activity is so many times the longest wait

	// waitsKept is how long a wait is remembered, up to twice as long: more than the minute between herds.
	waitsKept = 70 * time.Second
)

// sticky tracks how long workflow tasks waited for this process recently. The zero value is ready for use.
type sticky struct {
	mu              sync.Mutex
	first           time.Time // start of the first task, by the server's clock
	began           time.Time
	longest, before time.Duration // since began, and in the waitsKept before
}

// waited records how long a task waited, by the server's clock. Tasks scheduled before the first one
// started waited for a worker, and do not count.
func (s *sticky) waited(scheduled, started, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn(now)
	if s.first.IsZero() {
		s.first = started
	}
	if !scheduled.Before(s.first) {
		s.longest = max(s.longest, started.Sub(scheduled))
	}
}

// timeout returns the sticky timeout of a workflow with an activity.
func (s *sticky) timeout(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn(now)
	return min(max(minStickyTimeout, stickyWaits*max(s.longest, s.before)), stickyTimeout)
}

// turn forgets old waits. s.mu is held.
func (s *sticky) turn(now time.Time) {
	switch age := now.Sub(s.began); {
	case age < waitsKept:
		return
	case age < 2*waitsKept:
		s.before = s.longest
	default:
		s.before = 0
	}
	s.began, s.longest = now, 0
}

// intercept sets the sticky timeout of workflows with activities, and records how long tasks waited.
func (s *sticky) intercept(ctx context.Context, method string, request, answer any, c *grpc.ClientConn, call grpc.UnaryInvoker, o ...grpc.CallOption) error {
	if r, ok := request.(*workflowservice.RespondWorkflowTaskCompletedRequest); ok && r.GetStickyAttributes() != nil && slices.ContainsFunc(r.GetCommands(), startsActivity) {
		r.StickyAttributes.ScheduleToStartTimeout = durationpb.New(s.timeout(time.Now()))
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
