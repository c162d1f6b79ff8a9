package scheduler_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"almanac/job"
	"almanac/job/listing"
	"almanac/scheduler"
)

// silent is a Temporal that answers nothing.
type silent struct{ client.Client }

func (silent) WorkflowService() workflowservice.WorkflowServiceClient { return silentFrontend{} }

// A silentFrontend is the part of silent behind the SDK's client.
type silentFrontend struct {
	workflowservice.WorkflowServiceClient
}

func noAnswer(ctx context.Context) error {
	<-ctx.Done()
	return serviceerror.NewDeadlineExceeded("internals")
}

func (silent) QueryWorkflowWithOptions(ctx context.Context, _ *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	return nil, noAnswer(ctx)
}

func (silent) DescribeWorkflowExecution(ctx context.Context, _, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return nil, noAnswer(ctx)
}

func (silentFrontend) ResetStickyTaskQueue(ctx context.Context, _ *workflowservice.ResetStickyTaskQueueRequest, _ ...grpc.CallOption) (*workflowservice.ResetStickyTaskQueueResponse, error) {
	return nil, noAnswer(ctx)
}

func (silentFrontend) GetSystemInfo(ctx context.Context, _ *workflowservice.GetSystemInfoRequest, _ ...grpc.CallOption) (*workflowservice.GetSystemInfoResponse, error) {
	return nil, noAnswer(ctx)
}

func TestReadsSayWithinSecondsThatTemporalAnswersNothing(t *testing.T) {
	t.Parallel()
	scope := listing.Scope{Subscription: key.Collection.Subscription, ResourceGroup: key.Collection.ResourceGroup, Collection: key.Collection.Name}
	for name, read := range map[string]func(context.Context, *scheduler.Service) error{
		"a job": func(ctx context.Context, s *scheduler.Service) error {
			_, err := s.Job(ctx, key)
			return err
		},
		"a job collection": func(ctx context.Context, s *scheduler.Service) error {
			_, err := s.Collection(ctx, key.Collection)
			return err
		},
		"a list of jobs": func(ctx context.Context, s *scheduler.Service) error {
			_, _, err := s.Jobs(ctx, key.Collection, listing.Page{Top: 1})
			return err
		},
		"a list of job collections": func(ctx context.Context, s *scheduler.Service) error {
			_, _, err := s.Collections(ctx, "s", "", listing.Page{Top: 1})
			return err
		},
		"a history": func(ctx context.Context, s *scheduler.Service) error {
			_, _, err := s.History(ctx, key, listing.Page{Top: 1})
			return err
		},
		"changes of a job": func(ctx context.Context, s *scheduler.Service) error {
			_, _, err := s.JobChanges(ctx, key, listing.Page{Top: 1})
			return err
		},
		"an execution": func(ctx context.Context, s *scheduler.Service) error {
			_, err := s.Execution(ctx, key, "e")
			return err
		},
		"histories across jobs": func(ctx context.Context, s *scheduler.Service) error {
			_, _, err := s.HistoryAcross(ctx, scope, listing.Page{Top: 1})
			return err
		},
		"what comes next across jobs": func(ctx context.Context, s *scheduler.Service) error {
			_, _, err := s.Upcoming(ctx, scope, time.Now().Add(time.Hour), listing.Page{Top: 1})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				err := read(t.Context(), scheduler.New(scheduler.Options{Client: silent{}}))
				require.Equal(t, job.KindUnavailable, job.KindOf(err))
				require.EqualError(t, err, "Temporal does not answer.")
				require.Less(t, time.Since(start), 10*time.Second)
				synctest.Wait()
			})
		})
	}
}
