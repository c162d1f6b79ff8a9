package header_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"

	"almanac/internal/audit"
	"almanac/internal/audit/header"
)

// A sent is what the client was about to send.
type sent struct {
	interceptor.ClientOutboundInterceptorBase
	header map[string]*common.Payload
}

func (s *sent) UpdateWorkflow(ctx context.Context, _ *interceptor.ClientUpdateWorkflowInput) (client.WorkflowUpdateHandle, error) {
	s.header = interceptor.Header(ctx)
	return nil, nil
}

func TestACallWithoutAnActorHasNoHeader(t *testing.T) {
	t.Parallel()
	s := &sent{}
	out := header.ForClient(converter.GetDefaultDataConverter()).InterceptClient(s)
	_, err := out.UpdateWorkflow(audit.WithActor(t.Context(), audit.Actor{}), &interceptor.ClientUpdateWorkflowInput{WorkflowID: "w"})
	require.NoError(t, err)
	require.Empty(t, s.header)
}
