package sdktelemetry_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"almanac/internal/telemetry"
	"almanac/internal/telemetry/sdktelemetry"
	"almanac/internal/workflowtest"
)

// runs starts the activity Action, and another.
func runs(ctx workflow.Context) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	if err := workflow.ExecuteActivity(ctx, "Other").Get(ctx, nil); err != nil {
		return err
	}
	return workflow.ExecuteActivity(ctx, "Action").Get(ctx, nil)
}

func TestAnActionOfAScheduledOccurrenceIsLinkedToTheRequestThatCreatedTheJob(t *testing.T) {
	t.Parallel()
	span, err := converter.GetDefaultDataConverter().ToPayload(map[string]string{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"})
	require.NoError(t, err)
	for name, header := range map[string]*common.Header{
		"with a span": {Fields: map[string]*common.Payload{"_tracer-data": span}},
		"without one": nil,
		"unreadable":  {Fields: map[string]*common.Payload{"_tracer-data": {Data: []byte("?")}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := workflowtest.NewEnvironment()
			env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: workflowtest.Deadlock, Interceptors: []interceptor.WorkerInterceptor{sdktelemetry.NewHeaders("Action")}})
			env.SetHeader(header)
			env.RegisterWorkflow(runs)
			origins := map[string]telemetry.Origin{}
			note := func(ctx context.Context) error {
				origins[activity.GetInfo(ctx).ActivityType.Name] = telemetry.OriginOf(ctx)
				return nil
			}
			env.RegisterActivityWithOptions(note, activity.RegisterOptions{Name: "Action"})
			env.RegisterActivityWithOptions(note, activity.RegisterOptions{Name: "Other"})
			env.ExecuteWorkflow(runs)
			require.NoError(t, env.GetWorkflowError())
			require.Len(t, origins, 2)
			require.False(t, origins["Other"].Request.IsValid(), "the header is for actions only")
			require.False(t, origins["Action"].Asked)
			require.Equal(t, name == "with a span", origins["Action"].Request.IsValid())
		})
	}
}
