package scheduler_test

import (
	"context"
	"errors"
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

// unreachable is a Temporal that refuses connections. The SDK tries each call again until its context ends.
type unreachable struct{ silent }

func (unreachable) WorkflowService() workflowservice.WorkflowServiceClient {
	return unreachableFrontend{}
}

type unreachableFrontend struct{ silentFrontend }

func (unreachableFrontend) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest, ...grpc.CallOption) (*workflowservice.GetSystemInfoResponse, error) {
	return nil, serviceerror.NewUnavailable("connection refused")
}

func (unreachable) UpdateWorkflow(context.Context, client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	panic("a change is sent to a server that cannot be reached")
}

func TestAChangeWhileTemporalCannotBeReachedSaysWithinSecondsThatNothingWasChanged(t *testing.T) {
	t.Parallel()
	keep := func(*job.Job) (job.Definition, error) { return job.Definition{}, nil }
	for name, change := range map[string]func(context.Context, *scheduler.Service) error{
		"PUT of a job": func(ctx context.Context, s *scheduler.Service) error {
			_, _, err := s.PutJob(ctx, key, keep)
			return err
		},
		"PATCH of a job": func(ctx context.Context, s *scheduler.Service) error {
			_, err := s.PatchJob(ctx, key, keep)
			return err
		},
		"DELETE of a job": func(ctx context.Context, s *scheduler.Service) error { return s.DeleteJob(ctx, key, nil) },
		"DELETE of a job with a condition": func(ctx context.Context, s *scheduler.Service) error {
			return s.DeleteJob(ctx, key, func(*job.Job) error { return nil })
		},
		"run of a job": func(ctx context.Context, s *scheduler.Service) error {
			_, err := s.RunJob(ctx, key, false)
			return err
		},
		"skip of a job": func(ctx context.Context, s *scheduler.Service) error {
			_, err := s.SkipOccurrences(ctx, key, job.SkipRequest{})
			return err
		},
		"enable of a job": func(ctx context.Context, s *scheduler.Service) error {
			_, err := s.EnableJob(ctx, key, job.Promise{})
			return err
		},
		"disable of a job": func(ctx context.Context, s *scheduler.Service) error {
			_, err := s.DisableJob(ctx, key, job.Promise{})
			return err
		},
		"rerun of a job": func(ctx context.Context, s *scheduler.Service) error { return s.RerunJob(ctx, key, "").Err },
		"PUT of a job collection": func(ctx context.Context, s *scheduler.Service) error {
			_, _, err := s.PutCollection(ctx, job.Collection{Key: key.Collection}, nil)
			return err
		},
		"PATCH of a job collection": func(ctx context.Context, s *scheduler.Service) error {
			_, err := s.PatchCollection(ctx, key.Collection, func(c job.Collection) (job.Collection, error) { return c, nil })
			return err
		},
		"DELETE of a job collection": func(ctx context.Context, s *scheduler.Service) error {
			_, err := s.DeleteCollection(ctx, key.Collection, nil)
			return err
		},
		"disable of a job collection": func(ctx context.Context, s *scheduler.Service) error {
			_, err := s.DisableCollection(ctx, key.Collection, job.Promise{})
			return err
		},
		"a test of notifications": func(ctx context.Context, s *scheduler.Service) error {
			_, err := s.TestNotifications(ctx, key)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				err := change(t.Context(), scheduler.New(scheduler.Options{Client: unreachable{}}))
				shown, ok := errors.AsType[*job.Error](err)
				require.True(t, ok, "%v", err)
				require.EqualError(t, shown, "Temporal does not answer.")
				require.True(t, shown.Unchanged)
				require.Less(t, time.Since(start), 12*time.Second)
				synctest.Wait()
			})
		})
	}
}
