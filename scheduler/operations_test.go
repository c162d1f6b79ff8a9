package scheduler_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/update/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/grpc"

	"almanac/job"
	"almanac/scheduler"
	"almanac/workflows"
)

// polled is a Temporal with the outcome of one update.
type polled struct {
	client.Client
	outcome *update.Outcome // nil: it is running
	err     error
}

func (p polled) WorkflowService() workflowservice.WorkflowServiceClient { return polledFrontend{p: p} }

type polledFrontend struct {
	unhurried
	p polled
}

func (f polledFrontend) PollWorkflowExecutionUpdate(context.Context, *workflowservice.PollWorkflowExecutionUpdateRequest, ...grpc.CallOption) (*workflowservice.PollWorkflowExecutionUpdateResponse, error) {
	return &workflowservice.PollWorkflowExecutionUpdateResponse{Outcome: f.p.outcome}, f.p.err
}

func TestHowAnOperationStands(t *testing.T) {
	t.Parallel()
	const none job.Kind = -1
	const id = "5f1dc2a4-4f0e-4a55-9a4c-1d1d7a8a3b11.0a8e2f4c-7b69-4f7e-8a51-3f2d1c0b9a88"
	failed := func(err error) *update.Outcome {
		return &update.Outcome{Value: &update.Outcome_Failure{Failure: temporal.GetDefaultFailureConverter().ErrorToFailure(err)}}
	}
	for _, tt := range []struct {
		name   string
		answer polled
		done   bool
		failed job.Kind // of the operation's failure
		err    job.Kind // of the call
	}{
		{"that goes on", polled{}, false, none, none},
		{"that succeeded", polled{outcome: &update.Outcome{Value: &update.Outcome_Success{Success: &common.Payloads{}}}}, true, none, none},
		{"whose collection was deleted meanwhile", polled{outcome: failed(temporal.NewNonRetryableApplicationError("about to end", workflows.ErrTypeGone, nil))},
			true, job.KindNotFound, none},
		{"that was refused", polled{outcome: failed(temporal.NewNonRetryableApplicationError("not now", workflows.ErrTypeConflict, nil))}, true, job.KindConflict, none},
		{"that failed", polled{outcome: failed(errors.New("internals"))}, true, job.KindInternal, none},
		{"that nobody knows", polled{err: serviceerror.NewNotFound("internals")}, false, none, job.KindNotFound},
		{"that Temporal tells nothing of now", polled{err: serviceerror.NewUnavailable("internals")}, false, none, job.KindUnavailable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := scheduler.New(scheduler.Options{Client: tt.answer}).Operation(t.Context(), key.Collection, id)
			if tt.err != none {
				require.Equal(t, tt.err, job.KindOf(err))
				require.NotContains(t, err.Error(), "internals")
				return
			}
			require.NoError(t, err)
			require.Equal(t, id, got.ID)
			require.Equal(t, tt.done, got.Done)
			if tt.failed == none {
				require.Nil(t, got.Failed)
				return
			}
			require.Equal(t, tt.failed, got.Failed.Kind)
			require.NotContains(t, got.Failed.Error(), "internals")
		})
	}
}
