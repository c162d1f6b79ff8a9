package worker

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
)

// sdkTimeout is the time limit that the SDK sets.
const sdkTimeout = MaxPollTimeout

// callVia makes a call that takes some time, and returns the time limit that the server sees and the error.
func callVia(t *testing.T, p *pollLimit, method string, takes time.Duration) (limit time.Duration, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), sdkTimeout)
	defer cancel()
	err = p.intercept(ctx, method, nil, nil, nil, func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
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
		{"for workflow tasks", DefaultPollTimeout, call{completeTask, slowCall}, 0, pollWorkflows, DefaultPollTimeout},
		{"for activity tasks", DefaultPollTimeout, call{completeTask, 0}, 0, pollActivities, DefaultPollTimeout},
		{"after a slow call", DefaultPollTimeout, call{completeTask, slowCall + time.Millisecond}, slowKept - time.Second, pollActivities, sdkTimeout},
		{"some time after a slow call", DefaultPollTimeout, call{completeTask, slowCall + time.Millisecond}, slowKept, pollActivities, DefaultPollTimeout},
		{"after a slow call that waits for a worker", DefaultPollTimeout, call{queryMethod, time.Minute}, 0, pollActivities, DefaultPollTimeout},
		{"in the process of the server", 0, call{completeTask, 0}, 0, pollActivities, sdkTimeout},
		{"other calls do not", DefaultPollTimeout, call{completeTask, 0}, 0, queryMethod, sdkTimeout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &pollLimit{timeout: tt.timeout}
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
		p := &pollLimit{timeout: DefaultPollTimeout}
		begin := time.Now()
		_, err := callVia(t, p, pollActivities, sdkTimeout)
		require.NoError(t, err)
		require.Equal(t, DefaultPollTimeout, time.Since(begin))
		limit, err := callVia(t, p, pollActivities, time.Second)
		require.NoError(t, err)
		require.Equal(t, sdkTimeout, limit, "a task may have been on its way")
	})
}
