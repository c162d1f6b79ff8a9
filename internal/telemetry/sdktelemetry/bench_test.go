package sdktelemetry_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"almanac/internal/telemetry"
	"almanac/internal/telemetry/sdktelemetry"
)

// BenchmarkExecution measures what metrics and traces add to an execution of a job that is due every minute: the
// attempt, and what Temporal's SDK counts for a workflow task, an activity and their seven calls.
func BenchmarkExecution(b *testing.B) {
	for _, traced := range []bool{false, true} {
		b.Run(map[bool]string{false: "metrics", true: "metrics and traces"}[traced], func(b *testing.B) {
			if traced {
				// nobody receives the spans, which costs as much until they are dropped
				b.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:1")
			}
			var options client.Options
			measured, err := sdktelemetry.Start(b.Context(), telemetry.Options{Log: slog.New(slog.DiscardHandler)}, &options)
			require.NoError(b, err)
			a := measured.Attempts()
			worker := options.MetricsHandler.WithTags(map[string]string{"namespace": "default", "task_queue": "almanac", "worker_type": "ActivityWorker", "client_name": "temporal_go"})
			e := telemetry.Attempt{Execution: "3f8b7c62-52b4-5d6e-9f10-6f2f3f3c1d55", Job: "nightly", Collection: "reports", Kind: "Https", Host: "example.com", Number: 1, Due: time.Now()}
			b.ReportAllocs()
			for b.Loop() {
				for range 7 {
					call := worker.WithTags(map[string]string{"operation": "RespondActivityTaskCompleted", "namespace": "default"})
					for _, name := range []string{"temporal_request", "temporal_request_attempt"} {
						call.Counter(name).Inc(1)
					}
					for _, name := range []string{"temporal_request_latency", "temporal_request_latency_attempt"} {
						call.Timer(name).Record(time.Millisecond)
					}
				}
				for range 2 { // a workflow task and an activity
					task := worker.WithTags(map[string]string{"workflow_type": "Job", "activity_type": "Action"})
					for _, name := range []string{"temporal_workflow_task_queue_poll_succeed", "temporal_sticky_cache_hit"} {
						task.Counter(name).Inc(1)
					}
					for _, name := range []string{"temporal_activity_schedule_to_start_latency", "temporal_activity_execution_latency", "temporal_activity_succeed_endtoend_latency"} {
						task.Timer(name).Record(time.Millisecond)
					}
					for _, name := range []string{"temporal_worker_task_slots_used", "temporal_worker_task_slots_available", "temporal_num_pollers", "temporal_sticky_cache_size"} {
						task.Gauge(name).Update(1)
						task.Gauge(name).Update(0)
					}
				}
				ctx, o := a.Begin(b.Context(), e)
				telemetry.Headers(ctx)
				a.End(o, "2xx", "", time.Now())
				a.Count(o, &telemetry.EndedAttempt{Attempt: e, Start: e.Due, End: time.Now(), Answer: "2xx"})
			}
		})
	}
}
