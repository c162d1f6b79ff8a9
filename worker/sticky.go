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

// Temporal offers a workflow's tasks to the worker that has the workflow in its
// cache. The sticky timeout says for how long, until any other worker is asked.
// Where that worker was killed, a short one saves time; where it is busy, the tasks
// time out one after another and are done twice. So a workflow with an activity, whose
// changes are waited for most, gets one that follows how long tasks wait; others have
// time.
const (
	stickyTimeout      = 5 * time.Second
	leastStickyTimeout = time.Second
	stickyWaits        = 4 // shorter sticky timeouts are so many times the longest wait

	// waitsKept is for how long, at least, a wait is remembered, and at most twice
	// as long: herds come every minute.
	waitsKept = 70 * time.Second
)

// sticky knows how long workflow tasks waited for this process lately. The zero
// value knows of none.
type sticky struct {
	mu              sync.Mutex
	first           time.Time // when the first task was handed out, by the server's clock
	began           time.Time
	longest, before time.Duration // since began, and in the waitsKept before
}

// waited takes note of how long a task waited, by the server's clock. One that was
// there before the first was handed out waited for a worker to come.
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
	return min(max(leastStickyTimeout, stickyWaits*max(s.longest, s.before)), stickyTimeout)
}

// turn forgets what is old. The lock is held.
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

// intercept sets the sticky timeout of workflows with activities, and sees how long
// tasks waited, by the server's clock.
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
