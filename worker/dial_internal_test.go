package worker

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/query/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	checkins "almanac/activities/presence"
	"almanac/internal/latency"
)

// A stopwatch is a server that records the deadlines of its calls.
type stopwatch struct {
	workflowservice.UnimplementedWorkflowServiceServer
	left atomic.Int64 // nanoseconds
}

func (c *stopwatch) note(ctx context.Context) {
	deadline, _ := ctx.Deadline()
	c.left.Store(int64(time.Until(deadline)))
}

func (c *stopwatch) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{}, nil
}

func (c *stopwatch) RespondActivityTaskCompleted(ctx context.Context, _ *workflowservice.RespondActivityTaskCompletedRequest) (*workflowservice.RespondActivityTaskCompletedResponse, error) {
	c.note(ctx)
	return &workflowservice.RespondActivityTaskCompletedResponse{}, nil
}

func (c *stopwatch) RespondActivityTaskFailed(ctx context.Context, _ *workflowservice.RespondActivityTaskFailedRequest) (*workflowservice.RespondActivityTaskFailedResponse, error) {
	c.note(ctx)
	return &workflowservice.RespondActivityTaskFailedResponse{}, nil
}

func (c *stopwatch) RecordActivityTaskHeartbeat(ctx context.Context, _ *workflowservice.RecordActivityTaskHeartbeatRequest) (*workflowservice.RecordActivityTaskHeartbeatResponse, error) {
	c.note(ctx)
	return &workflowservice.RecordActivityTaskHeartbeatResponse{}, nil
}

func TestTheServerHasAMinuteToRecordAnOutcome(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	at, server := &stopwatch{}, grpc.NewServer()
	workflowservice.RegisterWorkflowServiceServer(server, at)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	c, err := Dial(t.Context(), client.Options{HostPort: listener.Addr().String(), ConnectionOptions: client.ConnectionOptions{
		DialOptions: []grpc.DialOption{grpc.WithUserAgent("test")},
	}}, 0)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	token := []byte("token")
	for _, tt := range []struct {
		name string
		call func(context.Context) error
		long bool
	}{
		{"a success", func(ctx context.Context) error { return c.CompleteActivity(ctx, token, nil, nil) }, true},
		{"a failure", func(ctx context.Context) error { return c.CompleteActivity(ctx, token, nil, context.DeadlineExceeded) }, true},
		{"but not for anything else", func(ctx context.Context) error { return c.RecordActivityHeartbeat(ctx, token) }, false},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		require.NoError(t, tt.call(ctx), tt.name)
		cancel()
		left := time.Duration(at.left.Load())
		require.Equal(t, tt.long, left > 30*time.Second, "%s: %s", tt.name, left)
	}
}

// All workers check in with one workflow, so a check-in may wait for others.
func TestACheckInKeepsItsTimeLimitAndSaysNothingOfTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const method, limit, took = workflowservice.WorkflowService_RecordActivityTaskHeartbeat_FullMethodName, 3 * time.Second, time.Second
		for _, checkIn := range []bool{true, false} {
			meter := new(latency.Meter)
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			if checkIn {
				ctx = checkins.AsCheckIn(ctx)
			}
			require.NoError(t, patiently(meter)(ctx, method, nil, nil, nil,
				func(ctx context.Context, method string, request, answer any, c *grpc.ClientConn, o ...grpc.CallOption) error {
					deadline, _ := ctx.Deadline()
					require.Equal(t, checkIn, time.Until(deadline) == limit)
					return measure(meter)(ctx, method, request, answer, c,
						func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
							time.Sleep(took)
							return nil
						}, o...)
				}))
			cancel()
			require.Equal(t, checkIn, meter.Lately() == 0)
		}
	})
}

// A notebook records reports and tasks.
type notebook struct{ notes []string }

func (n *notebook) Sent(taskToken []byte)      { n.notes = append(n.notes, "sent "+string(taskToken)) }
func (n *notebook) Received(workflowID string) { n.notes = append(n.notes, "received "+workflowID) }
func (n *notebook) Waited(d time.Duration)     { n.notes = append(n.notes, "waited "+d.String()) }

func TestWatchCompletions(t *testing.T) {
	t.Parallel()
	scheduled := time.Now()
	task := &workflowservice.PollWorkflowTaskQueueResponse{
		TaskToken: []byte("b"), WorkflowExecution: &common.WorkflowExecution{WorkflowId: "job"},
		ScheduledTime: timestamppb.New(scheduled), StartedTime: timestamppb.New(scheduled.Add(time.Second)),
	}
	asked := &workflowservice.PollWorkflowTaskQueueResponse{WorkflowExecution: task.GetWorkflowExecution(), Query: &query.WorkflowQuery{}}
	for _, tt := range []struct {
		name            string
		request, answer any
		err             error
		notes           []string
	}{
		{"a success", &workflowservice.RespondActivityTaskCompletedRequest{TaskToken: []byte("a")}, nil, nil, []string{"sent a"}},
		{"a failure", &workflowservice.RespondActivityTaskFailedRequest{TaskToken: []byte("a")}, nil, nil, []string{"sent a"}},
		{"a report that the server refuses", &workflowservice.RespondActivityTaskCompletedRequest{TaskToken: []byte("a")}, nil, io.EOF, []string{"sent a"}},
		{"a workflow's task", &workflowservice.PollWorkflowTaskQueueRequest{}, task, nil, []string{"waited 1s", "received job"}},
		{"a workflow's task that comes with the answer to the one before", &workflowservice.RespondWorkflowTaskCompletedRequest{},
			&workflowservice.RespondWorkflowTaskCompletedResponse{WorkflowTask: task}, nil, []string{"received job"}},
		{"no task comes with it", &workflowservice.RespondWorkflowTaskCompletedRequest{},
			&workflowservice.RespondWorkflowTaskCompletedResponse{}, nil, nil},
		{"not a poll that ended without a task", &workflowservice.PollWorkflowTaskQueueRequest{},
			&workflowservice.PollWorkflowTaskQueueResponse{}, nil, nil},
		{"not a query, which says nothing of what was reported", &workflowservice.PollWorkflowTaskQueueRequest{}, asked, nil, nil},
		{"not a task that did not arrive", &workflowservice.PollWorkflowTaskQueueRequest{}, task, io.EOF, nil},
		{"not a heartbeat", &workflowservice.RecordActivityTaskHeartbeatRequest{TaskToken: []byte("a")}, nil, nil, nil},
	} {
		n := &notebook{}
		err := watchCompletions(n)(t.Context(), "", tt.request, tt.answer, nil,
			func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return tt.err })
		require.Equal(t, tt.err, err, tt.name)
		require.Equal(t, tt.notes, n.notes, tt.name)
	}
}

func TestAHeartbeatHasMoreTimeWhileTheServerIsSlow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		slow   time.Duration
		takes  time.Duration
		cancel time.Duration
		want   time.Duration
		err    error
	}{
		{"it is quick", 0, time.Minute, time.Hour, leastHeartbeat, context.DeadlineExceeded},
		{"it is slow", 6 * time.Second, 15 * time.Second, time.Hour, 15 * time.Second, nil},
		{"it is very slow", time.Minute, time.Minute, time.Hour, mostHeartbeat, context.DeadlineExceeded},
		{"but not if nobody waits for it", time.Minute, time.Minute, time.Second, time.Second, context.Canceled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := new(latency.Meter)
				for range 100 {
					end := m.Begin()
					time.Sleep(tt.slow)
					end()
				}
				begin := time.Now()
				cancelled, cancel := context.WithCancel(t.Context())
				time.AfterFunc(tt.cancel, cancel)
				ctx, end := context.WithTimeout(cancelled, 10*time.Second) // as the SDK does
				defer end()
				err := patiently(m)(ctx, workflowservice.WorkflowService_RecordActivityTaskHeartbeat_FullMethodName, nil, nil, nil,
					func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
						select {
						case <-time.After(tt.takes):
							return nil
						case <-ctx.Done():
							return ctx.Err()
						}
					})
				require.Equal(t, tt.err, err)
				require.InDelta(t, tt.want, time.Since(begin), float64(time.Second))
			})
		})
	}
}
