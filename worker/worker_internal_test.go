package worker

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"almanac/activities"
)

// A temporal is a client of a service.
type temporal struct {
	client.Client
	service service
}

func (t *temporal) WorkflowService() workflowservice.WorkflowServiceClient { return t.service }

// A service describes its namespaces.
type service struct {
	workflowservice.WorkflowServiceClient
	namespaces map[string]*namespace.NamespaceInfo_Capabilities
}

func (s service) DescribeNamespace(_ context.Context, r *workflowservice.DescribeNamespaceRequest, _ ...grpc.CallOption) (*workflowservice.DescribeNamespaceResponse, error) {
	found, ok := s.namespaces[r.GetNamespace()]
	if !ok {
		return nil, errors.New("no such namespace")
	}
	return &workflowservice.DescribeNamespaceResponse{NamespaceInfo: &namespace.NamespaceInfo{Capabilities: found}}, nil
}

func TestActionsAreHeldForLongOnlyWhereTheyCanBeTakenBack(t *testing.T) {
	t.Parallel()
	c := &temporal{service: service{namespaces: map[string]*namespace.NamespaceInfo_Capabilities{
		"default": {WorkerCommands: true}, "old": {}, "older": nil,
	}}}
	custom := activities.Lead{Min: time.Second, Max: 2 * time.Second, Hold: 3 * time.Second}
	none := activities.Lead{Min: time.Second, Max: 2 * time.Second}
	for _, tt := range []struct {
		name, namespace string
		lead, want      activities.Lead
		told            bool
	}{
		{"as the default says", "", activities.Lead{}, activities.DefaultLead(), false},
		{"as the operator says", "default", custom, custom, false},
		{"not where workers get no commands", "old", custom, none, true},
		{"not where the server is too old to say so", "older", custom, none, true},
		{"not where the operator says so, which is not even asked", "unknown", none, none, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			o := Options{Client: c, Namespace: tt.namespace, Lead: tt.lead, Log: slog.New(slog.NewTextHandler(&log, nil))}
			got, err := o.lead(t.Context())
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
			require.Equal(t, tt.told, log.Len() > 0, log.String())
		})
	}
	_, err := New(t.Context(), Options{Client: c, Namespace: "unknown", Log: slog.New(slog.DiscardHandler)})
	require.EqualError(t, err, "ask Temporal what the namespace can do: no such namespace")
}
