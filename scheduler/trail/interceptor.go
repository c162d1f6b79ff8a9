// Package trail keeps the trail of changes of jobs and job collections: it writes who asked for a change into the
// event history of the workflow that makes it, and reads the changes from there. No event is written for it, and it
// goes back as far as the namespace's retention.
package trail

import (
	"context"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"

	"almanac/internal/audit"
	"almanac/internal/wfclient"
)

// header is the header of starts and updates that holds an [audit.Actor].
const header = "almanac-actor"

// NewInterceptor returns an interceptor for the client of an API. It sends the actor of the context with each start
// and each update, encrypted as their arguments are.
func NewInterceptor(c converter.DataConverter) interceptor.ClientInterceptor {
	return &clientInterceptor{converter: c}
}

type clientInterceptor struct {
	interceptor.ClientInterceptorBase
	converter converter.DataConverter
}

// InterceptClient implements [interceptor.ClientInterceptor].
func (i *clientInterceptor) InterceptClient(next interceptor.ClientOutboundInterceptor) interceptor.ClientOutboundInterceptor {
	o := &outbound{converter: i.converter}
	o.Next = next
	return o
}

type outbound struct {
	interceptor.ClientOutboundInterceptorBase
	converter converter.DataConverter
}

// ExecuteWorkflow implements [interceptor.ClientOutboundInterceptor].
func (o *outbound) ExecuteWorkflow(ctx context.Context, in *interceptor.ClientExecuteWorkflowInput) (client.WorkflowRun, error) {
	if err := o.sign(ctx, in.Options.ID); err != nil {
		return nil, err
	}
	return o.Next.ExecuteWorkflow(ctx, in)
}

// UpdateWorkflow implements [interceptor.ClientOutboundInterceptor].
func (o *outbound) UpdateWorkflow(ctx context.Context, in *interceptor.ClientUpdateWorkflowInput) (client.WorkflowUpdateHandle, error) {
	if err := o.sign(ctx, in.WorkflowID); err != nil {
		return nil, err
	}
	return o.Next.UpdateWorkflow(ctx, in)
}

// sign writes the actor of the context, if it has one, into the headers of the call.
func (o *outbound) sign(ctx context.Context, workflowID string) error {
	actor := audit.ActorOf(ctx)
	if actor == (audit.Actor{}) {
		return nil
	}
	payload, err := wfclient.ConverterFor(o.converter, workflowID).ToPayload(actor)
	if err != nil {
		return err
	}
	interceptor.Header(ctx)[header] = payload
	return nil
}
