package header

import (
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"almanac/internal/audit"
)

// ForWorker returns an interceptor for workers. It gives the handlers of updates a context with the actor of the
// update, for [audit.ActorOf].
func ForWorker(c converter.DataConverter) interceptor.WorkerInterceptor {
	return &workerInterceptor{converter: c}
}

type workerInterceptor struct {
	interceptor.WorkerInterceptorBase
	converter converter.DataConverter
}

// InterceptWorkflow implements [interceptor.WorkerInterceptor].
func (i *workerInterceptor) InterceptWorkflow(_ workflow.Context,
	next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	w := &inbound{converter: i.converter}
	w.Next = next
	return w
}

type inbound struct {
	interceptor.WorkflowInboundInterceptorBase
	converter converter.DataConverter
}

// ExecuteUpdate implements [interceptor.WorkflowInboundInterceptor].
func (w *inbound) ExecuteUpdate(ctx workflow.Context, in *interceptor.UpdateInput) (any, error) {
	a, err := Actor(w.converter, workflow.GetInfo(ctx).WorkflowExecution.ID, interceptor.WorkflowHeader(ctx))
	if err != nil { // the update does not depend on it
		workflow.GetLogger(ctx).Warn("the actor of an update cannot be decoded", "update", in.Name, "error", err)
	}
	return w.Next.ExecuteUpdate(workflow.WithValue(ctx, audit.ActorKey{}, a), in)
}
