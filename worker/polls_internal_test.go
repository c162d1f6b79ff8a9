package worker

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"

	"almanac/internal/latency"
)

// sdkTimeout is the time limit that the SDK sets.
const sdkTimeout = MaxPollTimeout

// callVia makes a call that takes some time, and returns the time limit that the server sees and the error.
func callVia(t *testing.T, p *pollLimit, method string, takes time.Duration) (limit time.Duration, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), sdkTimeout)
	defer cancel()
	call := func(ctx context.Context, method string, request, answer any, c *grpc.ClientConn, call grpc.UnaryInvoker, o ...grpc.CallOption) error {
		return measure(p.meter)(ctx, method, request, answer, c, func(ctx context.Context, method string, request, answer any, c *grpc.ClientConn, o ...grpc.CallOption) error {
			return p.intercept(ctx, method, request, answer, c, call, o...)
		}, o...)
	}
	err = call(ctx, method, &workflowservice.PollActivityTaskQueueRequest{}, nil, nil, func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
		deadline, _ := ctx.Deadline()
		limit = time.Until(deadline)
		select {
		case <-time.After(takes):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	return limit, err
}

const (
	pollWorkflows  = workflowservice.WorkflowService_PollWorkflowTaskQueue_FullMethodName
	pollActivities = workflowservice.WorkflowService_PollActivityTaskQueue_FullMethodName
	completeTask   = workflowservice.WorkflowService_RespondWorkflowTaskCompleted_FullMethodName
	queryMethod    = workflowservice.WorkflowService_QueryWorkflow_FullMethodName
)

func TestAPollEndsSoonUnlessTheServerIsSlow(t *testing.T) {
	t.Parallel()
	type call struct {
		method string
		takes  time.Duration
	}
	for _, tt := range []struct {
		name    string
		timeout time.Duration
		before  call
		pause   time.Duration
		poll    string
		want    time.Duration
	}{
		{"for workflow tasks", DefaultPollTimeout, call{completeTask, slowCall / 2}, 0, pollWorkflows, DefaultPollTimeout},
		{"for activity tasks", DefaultPollTimeout, call{completeTask, 0}, 0, pollActivities, DefaultPollTimeout},
		{"after a slow call", DefaultPollTimeout, call{completeTask, 20 * slowCall}, latency.Kept - time.Second, pollActivities, sdkTimeout},
		{"some time after a slow call", DefaultPollTimeout, call{completeTask, 20 * slowCall}, 2 * latency.Kept, pollActivities, DefaultPollTimeout},
		{"after a slow call that waits for a worker", DefaultPollTimeout, call{queryMethod, time.Minute}, 0, pollActivities, DefaultPollTimeout},
		{"in the process of the server", 0, call{completeTask, 0}, 0, pollActivities, sdkTimeout},
		{"other calls do not", DefaultPollTimeout, call{completeTask, 0}, 0, queryMethod, sdkTimeout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &pollLimit{timeout: tt.timeout, meter: new(latency.Meter)}
				_, err := callVia(t, p, tt.before.method, tt.before.takes)
				require.NoError(t, err)
				time.Sleep(tt.pause)
				limit, err := callVia(t, p, tt.poll, time.Second)
				require.NoError(t, err)
				require.Equal(t, tt.want, limit)
			})
		})
	}
}

func TestAPollThatTheServerDoesNotAnswerIsEmptyAndTheNextOneIsPatient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &pollLimit{timeout: DefaultPollTimeout, meter: new(latency.Meter)}
		begin := time.Now()
		_, err := callVia(t, p, pollActivities, sdkTimeout)
		require.NoError(t, err)
		require.Equal(t, DefaultPollTimeout, time.Since(begin))
		limit, err := callVia(t, p, pollActivities, time.Second)
		require.NoError(t, err)
		require.Equal(t, sdkTimeout, limit, "a task may have been on its way")
	})
}

// The SDK gives each poll a time limit that begins before the poll waits for its turn.
func TestAPollThatWaitedForItsTurnHasAllOfItsTime(t *testing.T) {
	t.Parallel()
	for _, timeout := range []time.Duration{DefaultPollTimeout, MaxPollTimeout} {
		synctest.Test(t, func(t *testing.T) {
			const serverAnswers = time.Minute // Temporal's matching.longPollExpirationInterval
			p := &pollLimit{timeout: timeout, meter: new(latency.Meter)}
			var failed, made atomic.Int64
			answer := func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
				deadline, _ := ctx.Deadline()
				made.Add(1)
				if left := time.Until(deadline); left < timeout {
					t.Errorf("a poll has %s of %s", left, timeout)
				}
				select {
				case <-time.After(min(serverAnswers, time.Until(deadline)-time.Second)):
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			stop, cancel := context.WithCancel(t.Context())
			for range manyPolls {
				go func() {
					for stop.Err() == nil {
						ctx, end := context.WithTimeout(stop, sdkTimeout)
						request := &workflowservice.PollActivityTaskQueueRequest{TaskQueue: &taskqueue.TaskQueue{Name: "queue"}}
						if err := p.intercept(ctx, pollActivities, request, &workflowservice.PollActivityTaskQueueResponse{}, nil, answer); err != nil && stop.Err() == nil {
							failed.Add(1)
						}
						end()
					}
				}()
			}
			time.Sleep(10*time.Minute + time.Second)
			begin := time.Now()
			cancel()
			synctest.Wait()
			require.Zero(t, time.Since(begin), "a worker that stops ends its polls")
			require.Zero(t, failed.Load(), "with a limit of %s", timeout)
			require.GreaterOrEqual(t, made.Load(), int64(20))
		})
	}
}

// A tasklist is a server that gives a task to a poll when there is one.
type tasklist struct {
	tasks      chan struct{}
	open, most atomic.Int64
}

func (s *tasklist) answer(ctx context.Context, _ string, _, answer any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
	s.most.Store(max(s.most.Load(), s.open.Add(1)))
	defer s.open.Add(-1)
	select {
	case <-s.tasks:
		answer.(*workflowservice.PollActivityTaskQueueResponse).TaskToken = []byte("token")
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(1500 * time.Millisecond):
		return nil
	}
}

// poll polls with as many pollers as a worker has until the worker stops.
func (s *tasklist) poll(ctx context.Context, p *pollLimit) {
	for range manyPolls {
		go func() {
			for ctx.Err() == nil {
				request := &workflowservice.PollActivityTaskQueueRequest{TaskQueue: &taskqueue.TaskQueue{Name: "queue"}}
				_ = p.intercept(ctx, pollActivities, request, &workflowservice.PollActivityTaskQueueResponse{}, nil, s.answer)
			}
		}()
	}
	synctest.Wait()
}

func TestPollsAreAsManyAsTheTasksNeed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s, p := &tasklist{tasks: make(chan struct{}, 1000)}, &pollLimit{timeout: DefaultPollTimeout, meter: new(latency.Meter)}
		s.poll(ctx, p)
		require.EqualValues(t, fewPolls, s.open.Load(), "at rest")
		for range 100 {
			s.tasks <- struct{}{}
		}
		synctest.Wait()
		require.EqualValues(t, manyPolls, s.open.Load(), "after many tasks at once")
		time.Sleep(time.Minute)
		synctest.Wait() // polls end at this instant, and others begin
		require.EqualValues(t, fewPolls, s.open.Load(), "at rest again")
		for range 50 {
			time.Sleep(300 * time.Millisecond)
			s.tasks <- struct{}{}
		}
		synctest.Wait()
		require.EqualValues(t, fewPolls, s.open.Load(), "while tasks come slowly")
		cancel()
	})
}

func TestAWorkerThatStopsWaitsForNoPollThatIsNotMade(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s, p := &tasklist{tasks: make(chan struct{})}, &pollLimit{timeout: DefaultPollTimeout, meter: new(latency.Meter)}
		s.poll(ctx, p)
		begin := time.Now()
		time.AfterFunc(time.Second, func() {
			_, _ = callVia(t, p, workflowservice.WorkflowService_ShutdownWorker_FullMethodName, 0)
		})
		request := &workflowservice.PollActivityTaskQueueRequest{TaskQueue: &taskqueue.TaskQueue{Name: "queue"}}
		require.NoError(t, p.intercept(t.Context(), pollActivities, request, &workflowservice.PollActivityTaskQueueResponse{}, nil, s.answer))
		require.Equal(t, time.Second+stopPause, time.Since(begin))
		cancel()
	})
}
