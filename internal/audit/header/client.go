// Package header carries the actor of a change in the headers of Temporal's calls: from an API into the event history,
// and from there into the workflow that makes the change.
package header

import (
	"context"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"

	"almanac/internal/audit"
	"almanac/internal/wfclient"
)

// actor is the header of starts and updates that holds an [audit.Actor].
const actor = "almanac-actor"

// Actor returns the actor in the header of a call to a workflow; the zero actor if there is none.
func Actor(c converter.DataConverter, workflowID string, fields map[string]*common.Payload) (a audit.Actor, err error) {
	if p := fields[actor]; p != nil {
		err = wfclient.ConverterFor(c, workflowID).FromPayload(p, &a)
	}
	return a, err
}

// ForClient returns an interceptor for the client of an API. It sends the actor of the context with each start
// and each update, encrypted as their arguments are.
func ForClient(c converter.DataConverter) interceptor.ClientInterceptor {
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
	a := audit.ActorOf(ctx)
	if a == (audit.Actor{}) {
		return nil
	}
	payload, err := wfclient.ConverterFor(o.converter, workflowID).ToPayload(a)
	if err != nil {
		return err
	}
	interceptor.Header(ctx)[actor] = payload
	return nil
}
