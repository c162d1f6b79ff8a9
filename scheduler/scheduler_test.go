package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"almanac/job"
	"almanac/scheduler"
	"almanac/workflows"
)

// broken is a Temporal whose every answer is an error.
type broken struct {
	client.Client
	err error
}

func (b broken) QueryWorkflowWithOptions(context.Context, *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	return nil, b.err
}

func (b broken) UpdateWorkflow(context.Context, client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	return nil, b.err
}

func (b broken) ListWorkflow(context.Context, *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	return nil, b.err
}

func (b broken) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return nil, b.err
}

func TestErrorsOfTemporalHaveAKindAndSayNothingOfIt(t *testing.T) {
	t.Parallel()
	refused := func(errType string) error {
		return temporal.NewNonRetryableApplicationError("told by the workflow", errType, nil)
	}
	for _, tt := range []struct {
		name             string
		err              error
		read, list, kill job.Kind // of Job, Collections and DeleteJob
	}{
		{"away", serviceerror.NewUnavailable("internals"), job.KindUnavailable, job.KindUnavailable, job.KindUnavailable},
		{"silent", context.DeadlineExceeded, job.KindUnavailable, job.KindUnavailable, job.KindUnavailable},
		{"overloaded", serviceerror.NewResourceExhausted(0, "internals"), job.KindUnavailable, job.KindUnavailable, job.KindUnavailable},
		{"without the namespace", serviceerror.NewNamespaceNotFound("internals"), job.KindUnavailable, job.KindUnavailable, job.KindUnavailable},
		{"without the workflow", serviceerror.NewNotFound("internals"), job.KindNotFound, job.KindInternal, job.KindNotFound},
		{"about to delete the job", refused(workflows.ErrTypeGone), job.KindNotFound, job.KindInternal, job.KindNotFound},
		{"unwilling", refused(workflows.ErrTypeConflict), job.KindConflict, job.KindConflict, job.KindConflict},
		{"unable to plan", refused(workflows.ErrTypeInvalid), job.KindInvalid, job.KindInvalid, job.KindInvalid},
		{"confused", serviceerror.NewInternal("internals"), job.KindInternal, job.KindInternal, job.KindInternal},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			s := scheduler.New(scheduler.Options{Client: broken{err: tt.err}})
			_, read := s.Job(ctx, key)
			_, list := s.Collections(ctx, "s", "")
			kill := s.DeleteJob(ctx, key)
			for err, want := range map[error]job.Kind{read: tt.read, list: tt.list, kill: tt.kill} {
				require.Error(t, err)
				require.Equal(t, want, job.KindOf(err), "%v", err)
				require.NotContains(t, err.Error(), "internals")
			}
		})
	}
}
