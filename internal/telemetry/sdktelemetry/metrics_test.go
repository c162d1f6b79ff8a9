package sdktelemetry_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"almanac/internal/telemetry"
	"almanac/internal/telemetry/sdktelemetry"
)

func TestTheSDKsMetricsHaveFewSeries(t *testing.T) {
	t.Parallel()
	var options client.Options
	measured, err := sdktelemetry.Start(t.Context(), telemetry.Options{Log: slog.New(slog.DiscardHandler)}, &options)
	require.NoError(t, err)
	t.Cleanup(func() { measured.Stop(t.Context()) })
	for _, workflow := range []string{"Job", "Collection"} {
		worker := options.MetricsHandler.WithTags(map[string]string{"workflow_type": workflow, "client_name": "temporal_go"})
		request := worker.WithTags(map[string]string{"operation": "RespondWorkflowTaskCompleted", "namespace": "default"})
		request.Counter("temporal_request").Inc(1)
		request.Counter("temporal_request_attempt").Inc(1)
		request.WithTags(map[string]string{"status_code": "Unavailable"}).Counter("temporal_request_failure").Inc(1)
		request.Timer("temporal_request_latency").Record(20 * time.Millisecond)
		worker.Timer("temporal_workflow_endtoend_latency").Record(time.Hour)
		worker.WithTags(map[string]string{"outcome": "Missed"}).Counter("almanac_dropped_occurrences").Inc(3)
		worker.Gauge("temporal_sticky_cache_size").Update(5)
	}
	w := httptest.NewRecorder()
	measured.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, telemetry.Path, nil))
	text := w.Body.String()
	for _, line := range []string{
		`temporal_request_total{operation="RespondWorkflowTaskCompleted"} 2`,
		`temporal_request_failure_total{operation="RespondWorkflowTaskCompleted",status_code="Unavailable"} 2`,
		`temporal_request_latency_seconds_bucket{operation="RespondWorkflowTaskCompleted",le="0.05"} 2`,
		`almanac_dropped_occurrences_total{client_name="temporal_go",outcome="Missed",workflow_type="Job"} 3`,
		`temporal_sticky_cache_size{client_name="temporal_go",workflow_type="Collection"} 5`,
	} {
		require.Contains(t, text, line+"\n")
	}
	require.NotContains(t, text, "_attempt")
	require.NotContains(t, text, "endtoend")
}
