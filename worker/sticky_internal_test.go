package worker

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/command/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/query/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"almanac/internal/latency"
)

// polls simulates a poll that returns a task that waited.
func polls(t *testing.T, s *sticky, wait time.Duration, q *query.WorkflowQuery) {
	t.Helper()
	task := &workflowservice.PollWorkflowTaskQueueResponse{}
	err := s.intercept(t.Context(), "", &workflowservice.PollWorkflowTaskQueueRequest{}, task, nil,
		func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
			now := time.Now().Add(time.Hour) // the server's clock is an hour ahead
			task.ScheduledTime, task.StartedTime, task.Query = timestamppb.New(now.Add(-wait)), timestamppb.New(now), q
			return nil
		})
	require.NoError(t, err)
}

// completes returns the sticky timeout in the completion of a workflow task, which the SDK set to an hour.
func completes(t *testing.T, s *sticky, commands ...enums.CommandType) time.Duration {
	t.Helper()
	r := &workflowservice.RespondWorkflowTaskCompletedRequest{
		StickyAttributes: &taskqueue.StickyExecutionAttributes{ScheduleToStartTimeout: durationpb.New(time.Hour)},
	}
	for _, c := range commands {
		r.Commands = append(r.Commands, &command.Command{CommandType: c})
	}
	var sent time.Duration
	err := s.intercept(t.Context(), "", r, &workflowservice.RespondWorkflowTaskCompletedResponse{}, nil,
		func(_ context.Context, _ string, request, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
			sent = request.(*workflowservice.RespondWorkflowTaskCompletedRequest).GetStickyAttributes().GetScheduleToStartTimeout().AsDuration()
			return nil
		})
	require.NoError(t, err)
	return sent
}

func TestStickyTimeoutFollowsHowLongTasksWait(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	type wait struct{ at, took time.Duration }
	for _, tt := range []struct {
		name  string
		waits []wait
		after time.Duration
		want  time.Duration
	}{
		{"is short while nothing waits", nil, 0, minStickyTimeout},
		{"is short while tasks wait for moments", []wait{{20 * ms, 20 * ms}, {time.Second, 249 * ms}}, time.Second, minStickyTimeout},
		{"is a multiple of the longest wait", []wait{{100 * ms, 100 * ms}, {time.Second, 700 * ms}, {2 * time.Second, 30 * ms}}, 3 * time.Second, 2800 * ms},
		{"is bounded", []wait{{time.Minute, time.Minute}}, time.Minute, maxStickyTimeout},
		{"does not count what waited for the worker to come", []wait{{time.Second, 2 * time.Second}}, time.Second, minStickyTimeout},
		{"remembers a minutely herd", []wait{{time.Second, time.Second}}, time.Second + time.Minute, 4 * time.Second},
		{"remembers it while others are soon served", []wait{{time.Second, time.Second}, {latency.Kept, ms}}, 2*latency.Kept - 1, 4 * time.Second},
		{"forgets in the end", []wait{{time.Second, time.Second}, {latency.Kept, ms}}, 2 * latency.Kept, minStickyTimeout},
		{"forgets at once after a long time", []wait{{time.Second, time.Second}}, 2 * latency.Kept, minStickyTimeout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, start := new(sticky), time.Now()
				polls(t, s, 0, nil)
				for _, w := range tt.waits {
					time.Sleep(time.Until(start.Add(w.at)))
					polls(t, s, w.took, nil)
				}
				time.Sleep(time.Until(start.Add(tt.after)))
				require.Equal(t, tt.want, completes(t, s, enums.COMMAND_TYPE_START_TIMER, enums.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK))
			})
		})
	}
}

func TestStickyTimeoutOfOtherWorkflows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(sticky)
		polls(t, s, 0, nil)
		time.Sleep(time.Minute)
		polls(t, s, time.Second, nil)
		require.Equal(t, stickyTimeout, completes(t, s), "without a command")
		require.Equal(t, stickyTimeout, completes(t, s, enums.COMMAND_TYPE_START_TIMER), "of a job that sleeps")
		polls(t, s, 2*time.Second, nil)
		require.Equal(t, 8*time.Second, completes(t, s), "while tasks wait long")
	})
	s := new(sticky)
	polls(t, s, 0, nil)
	polls(t, s, time.Hour, &query.WorkflowQuery{})
	require.Equal(t, minStickyTimeout, completes(t, s, enums.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK), "a query's wait does not count")
	r := &workflowservice.RespondWorkflowTaskCompletedRequest{Commands: []*command.Command{{CommandType: enums.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK}}}
	err := s.intercept(t.Context(), "", r, &workflowservice.RespondWorkflowTaskCompletedResponse{}, nil,
		func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return nil })
	require.NoError(t, err)
	require.Nil(t, r.GetStickyAttributes(), "of a worker without a cache")
}
