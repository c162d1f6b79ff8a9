// Package sdktelemetry connects Temporal's SDK with package telemetry: its metrics, and the traces that begin at a
// request to the API.
//
// A workflow writes no spans: it would write them again with each replay. A client call that an API request makes is a
// span, and puts that span into a header of the start or the update of a workflow. The workflow hands the header on to
// the actions that it starts, and a worker's attempt reads it there. Headers are in no command that a replay compares.
package sdktelemetry

import (
	"context"
	"fmt"
	"log/slog"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"
	"go.temporal.io/sdk/interceptor"

	"almanac/internal/telemetry"
)

// Start returns the Telemetry of this process, and makes the client of these options measure what it does. Stop it.
func Start(ctx context.Context, o telemetry.Options, client *client.Options) (*telemetry.Telemetry, error) {
	t, err := telemetry.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := observe(client, t, o.Log); err != nil {
		t.Stop(ctx)
		return nil, err
	}
	return t, nil
}

func observe(o *client.Options, t *telemetry.Telemetry, log *slog.Logger) error {
	o.MetricsHandler = newCachedHandler(opentelemetry.NewMetricsHandler(opentelemetry.MetricsHandlerOptions{
		Meter: t.Meter(), UseMonotonicCounters: true,
		OnError: func(err error) { log.Warn("a metric of Temporal's SDK could not be recorded", slog.Any("error", err)) },
	}))
	if !t.Traces() {
		return nil
	}
	calls, err := opentelemetry.NewTracingInterceptor(opentelemetry.TracerOptions{
		Tracer: t.Tracer(), DisableBaggage: true, HeaderKey: headerRequest, SpanStarter: startBelow,
	})
	if err != nil {
		return fmt.Errorf("trace calls of Temporal: %w", err)
	}
	// not for workers, see the package comment
	o.Interceptors = append(o.Interceptors, struct{ interceptor.ClientInterceptor }{calls})
	return nil
}

// startBelow starts a span only below another one: calls that no request to the API causes are not traced.
func startBelow(ctx context.Context, t trace.Tracer, name string, options ...trace.SpanStartOption) trace.Span {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return noop.Span{}
	}
	_, span := t.Start(ctx, name, options...)
	return span
}
