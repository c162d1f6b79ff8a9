package lookups_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/types/known/timestamppb"

	"almanac/activities"
	"almanac/activities/lookups"
)

// A terminatedWorkflow is a workflow that can be terminated, on a server whose clock is wrong.
type terminatedWorkflow struct {
	client.Client
	run       string
	status    enums.WorkflowExecutionStatus
	closed    time.Time // by the server's clock
	pending   []*workflow.PendingActivityInfo
	successor *terminatedWorkflow // the next run, if this one continues as new before it is terminated
	err       error
	reasons   []string

	registration int // in its memo
}

func (c *terminatedWorkflow) DescribeWorkflowExecution(_ context.Context, _, run string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if c.run == "" {
		return nil, serviceerror.NewNotFound("there is no such workflow")
	}
	shown := c
	if run == "" && c.successor != nil && c.status == enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW || run != "" && run != c.run {
		shown = c.successor
	}
	number, err := converter.GetDefaultDataConverter().ToPayload(c.registration)
	return &workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflow.WorkflowExecutionInfo{
			Execution: &common.WorkflowExecution{RunId: shown.run}, Status: shown.status, CloseTime: timestamppb.New(shown.closed),
			Memo: &common.Memo{Fields: map[string]*common.Payload{lookups.MemoRegistration: number}},
		},
		PendingActivities: shown.pending,
	}, err
}

func (c *terminatedWorkflow) TerminateWorkflow(ctx context.Context, _, run, reason string, _ ...any) error {
	switch {
	case c.err != nil:
		return c.err
	case c.successor == nil:
	case run == c.run:
		c.status = enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW
		return serviceerror.NewNotFound("workflow execution already completed")
	default:
		return c.successor.TerminateWorkflow(ctx, "", run, reason)
	}
	c.reasons = append(c.reasons, reason)
	c.status = enums.WORKFLOW_EXECUTION_STATUS_TERMINATED
	return nil
}

func TestTerminateReturnsWhenNothingCanBeSentAnyMore(t *testing.T) {
	t.Parallel()
	closed := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	heard := func(kind string, ago time.Duration, progress any) *workflow.PendingActivityInfo {
		details, err := converter.GetDefaultDataConverter().ToPayloads(progress)
		require.NoError(t, err)
		return &workflow.PendingActivityInfo{
			ActivityType: &common.ActivityType{Name: kind}, HeartbeatDetails: details, LastHeartbeatTime: timestamppb.New(closed.Add(-ago)),
		}
	}
	one := func(p ...*workflow.PendingActivityInfo) *terminatedWorkflow {
		return &terminatedWorkflow{run: "1", closed: closed, pending: p}
	}
	const skew = lookups.ServerSkew
	for _, tt := range []struct {
		name string
		of   *terminatedWorkflow
		wait time.Duration
	}{
		{"if there is no such workflow: at once", &terminatedWorkflow{}, 0},
		{"if nothing is being sent: at once", one(), 0},
		{"if no attempt passed a fence: at once", one(&workflow.PendingActivityInfo{ActivityType: &common.ActivityType{Name: activities.TypeAction}}), 0},
		{"if another activity goes on: at once", one(heard(lookups.TypePending, 0, activities.Progress{Lease: 9000})), 0},
		{"if an attempt has begun to send: at once", one(heard(activities.TypeAction, time.Second, activities.Progress{Sent: 1})), 0},
		{"if an attempt may begin to send: when its lease is over", one(
			heard(activities.TypeAction, time.Second, activities.Progress{Sent: 1, Lease: 1200}), heard(activities.TypeAction, 4*time.Second, activities.Progress{Sent: 1, Lease: 9000})),
			5*time.Second + skew},
		{"if what was recorded cannot be read: when any lease is over", one(heard(activities.TypeAction, time.Second, "encrypted")), 39*time.Second + skew},
		{"if it hands over to another run: when that is terminated", &terminatedWorkflow{run: "1", closed: closed,
			successor: one(heard(activities.TypeAction, 0, activities.Progress{Sent: 1, Lease: 1000}))}, time.Second + skew},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.of.successor != nil {
				tt.of.successor.run = "2"
			}
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				require.NoError(t, lookups.Terminate(t.Context(), tt.of, nil, "id", "why", 0))
				require.Equal(t, tt.wait, time.Since(start))
				last := tt.of
				if last.successor != nil {
					last = last.successor
				}
				if last.run != "" {
					require.Equal(t, []string{"why"}, last.reasons)
				}
			})
		})
	}
	t.Run("whoever terminated it; what runs or completed is not waited for", func(t *testing.T) {
		t.Parallel()
		for status, wait := range map[enums.WorkflowExecutionStatus]time.Duration{
			enums.WORKFLOW_EXECUTION_STATUS_TERMINATED: 2*time.Second + skew,
			enums.WORKFLOW_EXECUTION_STATUS_RUNNING:    0,
			enums.WORKFLOW_EXECUTION_STATUS_COMPLETED:  0,
		} {
			synctest.Test(t, func(t *testing.T) {
				of := one(heard(activities.TypeAction, 0, activities.Progress{Sent: 1, Lease: 2000}))
				of.status = status
				start := time.Now()
				require.NoError(t, lookups.AwaitTerminated(t.Context(), of, nil, "id"))
				require.Equal(t, wait, time.Since(start), "%s", status)
				require.Empty(t, of.reasons)
			})
		}
	})
	t.Run("of a workflow that has the name by now: at once, and leaves it", func(t *testing.T) {
		t.Parallel()
		for last, reasons := range map[int][]string{6: nil, 7: {"why"}, 8: {"why"}} {
			of := one()
			of.registration = 7
			require.NoError(t, lookups.Terminate(t.Context(), of, nil, "id", "why", last))
			require.Equal(t, reasons, of.reasons, "the last registration is %d", last)
		}
	})
	t.Run("with an error, if the server does not do it", func(t *testing.T) {
		t.Parallel()
		refused := one()
		refused.err = serviceerror.NewUnavailable("away")
		require.ErrorContains(t, lookups.Terminate(t.Context(), refused, nil, "id", "why", 0), "away")
		d := &directory{workflows: map[string]entry{}, silent: serviceerror.NewUnavailable("away")}
		value, err := d.look(lookups.TypeTerminate, lookups.TerminateInput{Workflows: []string{"a", "b"}, Reason: "why"})
		require.Equal(t, []int{0, 1}, indexes(t, value, err), "and the others are terminated all the same")
	})
}
