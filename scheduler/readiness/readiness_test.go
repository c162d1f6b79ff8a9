package readiness_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"almanac/scheduler/readiness"
)

// A disk is a Temporal that is ready except for its writes.
type disk struct {
	client.Client
	frontend *diskFrontend
}

func (d disk) WorkflowService() workflowservice.WorkflowServiceClient { return d.frontend }

func (disk) DescribeTaskQueue(context.Context, string, enums.TaskQueueType) (*workflowservice.DescribeTaskQueueResponse, error) {
	return &workflowservice.DescribeTaskQueueResponse{Pollers: []*taskqueue.PollerInfo{{LastAccessTime: timestamppb.Now()}}}, nil
}

// A diskFrontend counts writes.
type diskFrontend struct {
	workflowservice.WorkflowServiceClient
	mu            sync.Mutex
	writes, asked int

	missing error // answer about the namespace

	write, history error         // answers to a write and of the history service
	takes          time.Duration // duration of a write
}

func (d *diskFrontend) DescribeNamespace(context.Context, *workflowservice.DescribeNamespaceRequest, ...grpc.CallOption) (*workflowservice.DescribeNamespaceResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked++
	return &workflowservice.DescribeNamespaceResponse{}, d.missing
}

func (d *diskFrontend) UpdateTaskQueueConfig(ctx context.Context, _ *workflowservice.UpdateTaskQueueConfigRequest, _ ...grpc.CallOption) (*workflowservice.UpdateTaskQueueConfigResponse, error) {
	select {
	case <-time.After(d.takes):
	case <-ctx.Done():
		return nil, serviceerror.NewDeadlineExceeded("internals")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writes++
	return &workflowservice.UpdateTaskQueueConfigResponse{}, d.write
}

func (d *diskFrontend) DescribeWorkflowExecution(context.Context, *workflowservice.DescribeWorkflowExecutionRequest, ...grpc.CallOption) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if d.history != nil {
		return nil, d.history
	}
	return nil, serviceerror.NewNotFound("there is no such workflow")
}

func TestReadinessWritesAtMostOnceInTenSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &diskFrontend{takes: 100 * time.Millisecond}
		c := readiness.New(disk{frontend: d}, client.DefaultNamespace, slog.New(slog.DiscardHandler))
		for _, writes := range []int{1, 1, 2} {
			var all sync.WaitGroup
			for range 100 {
				all.Go(func() { assert.NoError(t, c.Check(t.Context())) })
			}
			all.Wait()
			synctest.Wait()
			require.Equal(t, writes, d.writes)
			time.Sleep(6 * time.Second)
		}
	})
}

func TestReadinessAsksTemporalOnceASecondHoweverManyAsk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &diskFrontend{}
		c := readiness.New(disk{frontend: d}, client.DefaultNamespace, slog.New(slog.DiscardHandler))
		for range 5000 {
			require.NoError(t, c.Check(t.Context()))
			time.Sleep(time.Millisecond)
		}
		synctest.Wait() // whoever asked is done with d
		require.LessOrEqual(t, d.asked, 5)

		d.missing, d.asked = serviceerror.NewUnavailable("internals"), 0
		time.Sleep(time.Second)
		for range 1000 {
			require.EqualError(t, c.Check(t.Context()), `temporal does not answer, or does not show the namespace "default"`)
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		require.LessOrEqual(t, d.asked, 10)
		d.missing = nil
		time.Sleep(100 * time.Millisecond)
		require.NoError(t, c.Check(t.Context()), "recovery is noticed at once")
	})
}

func TestReadinessSaysThatNothingIsWritten(t *testing.T) {
	t.Parallel()
	const check = "; check its database and the free disk space"
	for _, tt := range []struct {
		name, want string
		disk       *diskFrontend
	}{
		{"full", "Unavailable" + check, &diskFrontend{write: serviceerror.NewUnavailable("internals")}},
		{"odd", "Unknown" + check, &diskFrontend{write: errors.New("internals")}},
		{"overloaded", "ResourceExhausted; check its load and its rate limits", &diskFrontend{write: serviceerror.NewResourceExhausted(0, "internals")}},
		{"hanging", "no answer within 2s; check its database", &diskFrontend{takes: time.Hour}},
		{"recovering", "Unavailable" + check, &diskFrontend{history: serviceerror.NewUnavailable("internals")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := readiness.New(disk{frontend: tt.disk}, client.DefaultNamespace, slog.New(slog.DiscardHandler))
				begin := time.Now()
				for range 3 {
					require.EqualError(t, c.Check(t.Context()), "temporal takes no writes: "+tt.want)
				}
				require.LessOrEqual(t, time.Since(begin), 6*time.Second)
				time.Sleep(time.Second)
				synctest.Wait()
				tt.disk.write, tt.disk.history, tt.disk.takes = nil, nil, 0
				require.NoError(t, c.Check(t.Context()), "recovery is noticed after a second")
			})
		})
	}
}

// If a caller gives up, the probe continues for the others.
func TestReadinessOutlivesItsFirstCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &diskFrontend{takes: time.Second}
		c := readiness.New(disk{frontend: d}, client.DefaultNamespace, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		require.Error(t, c.Check(ctx))
		require.NoError(t, c.Check(t.Context()))
		require.Equal(t, 1, d.writes)
	})
}

// A Temporal that refuses or does not implement the probe's write still counts as ready.
func TestReadinessDoesNotNeedItsProbe(t *testing.T) {
	t.Parallel()
	for _, err := range []error{serviceerror.NewUnimplemented("internals"), serviceerror.NewPermissionDenied("internals", "")} {
		c := readiness.New(disk{frontend: &diskFrontend{write: err}}, client.DefaultNamespace, slog.New(slog.DiscardHandler))
		require.NoError(t, c.Check(t.Context()))
	}
}
