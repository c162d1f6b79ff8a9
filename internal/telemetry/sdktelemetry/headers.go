package sdktelemetry

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"almanac/internal/telemetry"
)

// Headers of workflows, updates and activities.
const (
	headerRequest = "_tracer-data"    // the span that started the workflow, sent the update, or asked for the execution
	headerCreated = "almanac-created" // of an action: the span that started the workflow
)

// NewHeaders returns an interceptor for workers. It hands the headers of a workflow on to actions, the activities of
// one type, and makes them the [telemetry.Origin] of the attempts.
func NewHeaders(actionType string) interceptor.WorkerInterceptor {
	return &headers{actionType: actionType}
}

type headers struct {
	interceptor.WorkerInterceptorBase
	actionType string
}

// InterceptWorkflow implements [interceptor.WorkerInterceptor].
func (h *headers) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	w := &workflowHeaders{actionType: h.actionType}
	w.Next = next
	return w
}

type (
	createdKey struct{}
	askedKey   struct{}
)

type workflowHeaders struct {
	interceptor.WorkflowInboundInterceptorBase
	actionType string
}

// Init implements [interceptor.WorkflowInboundInterceptor].
func (w *workflowHeaders) Init(outbound interceptor.WorkflowOutboundInterceptor) error {
	a := &actionHeaders{actionType: w.actionType}
	a.Next = outbound
	return w.Next.Init(a)
}

// ExecuteWorkflow implements [interceptor.WorkflowInboundInterceptor].
func (w *workflowHeaders) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	if span := interceptor.WorkflowHeader(ctx)[headerRequest]; span != nil {
		ctx = workflow.WithValue(ctx, createdKey{}, span)
	}
	return w.Next.ExecuteWorkflow(ctx, in)
}

// ExecuteUpdate implements [interceptor.WorkflowInboundInterceptor].
func (w *workflowHeaders) ExecuteUpdate(ctx workflow.Context, in *interceptor.UpdateInput) (any, error) {
	if span := interceptor.WorkflowHeader(ctx)[headerRequest]; span != nil {
		ctx = workflow.WithValue(ctx, askedKey{}, span)
	}
	return w.Next.ExecuteUpdate(ctx, in)
}

type actionHeaders struct {
	interceptor.WorkflowOutboundInterceptorBase
	actionType string
}

// ExecuteActivity implements [interceptor.WorkflowOutboundInterceptor].
func (a *actionHeaders) ExecuteActivity(ctx workflow.Context, activityType string, args ...any) workflow.Future {
	if activityType == a.actionType {
		header := interceptor.WorkflowHeader(ctx)
		if span, asked := ctx.Value(askedKey{}).(*common.Payload); asked {
			header[headerRequest] = span
		} else if span, created := ctx.Value(createdKey{}).(*common.Payload); created {
			header[headerCreated] = span
		}
	}
	return a.Next.ExecuteActivity(ctx, activityType, args...)
}

// InterceptActivity implements [interceptor.WorkerInterceptor].
func (*headers) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	a := new(attemptHeaders)
	a.Next = next
	return a
}

type attemptHeaders struct {
	interceptor.ActivityInboundInterceptorBase
}

// ExecuteActivity implements [interceptor.ActivityInboundInterceptor].
func (a *attemptHeaders) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	header := interceptor.Header(ctx)
	if span := spanOf(header[headerRequest]); span.IsValid() {
		ctx = telemetry.WithOrigin(ctx, telemetry.Origin{Request: span, Asked: true})
	} else if span := spanOf(header[headerCreated]); span.IsValid() {
		ctx = telemetry.WithOrigin(ctx, telemetry.Origin{Request: span})
	}
	return a.Next.ExecuteActivity(ctx, in)
}

// spanOf returns the span in a header; an invalid one if there is none, or it cannot be read.
func spanOf(header *common.Payload) trace.SpanContext {
	var carrier propagation.MapCarrier
	if header == nil || converter.GetDefaultDataConverter().FromPayload(header, &carrier) != nil {
		return trace.SpanContext{}
	}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
}
