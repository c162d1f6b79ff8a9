package telemetry

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// methods are the methods that the label method may have.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPost, http.MethodPatch, http.MethodDelete}

// untraced are the routes of probes and scrapes, which get no span.
var untraced = []string{"/healthz", "/readyz", Path}

// Requests returns a function that observes the requests to the API, once for a process. It is to be called when a
// request begins, with its route template, or "" if no route has its path. end is to be called when the request is
// answered. It is nil for a nil Telemetry.
func (t *Telemetry) Requests() func(r *http.Request, route string) (end func(status int)) {
	if t == nil {
		return nil
	}
	requests := counter("almanac_api_requests_total", "Requests to the API that were answered.", "method", "route", "status")
	durations := histogram("almanac_api_request_duration_seconds",
		"Time from the beginning of a request to the API to the end of its answer.", "method", "route")
	t.Registry.MustRegister(requests, durations)
	return func(r *http.Request, route string) func(int) {
		start, method, route := time.Now(), methodOf(r), cmp.Or(route, "none")
		return func(status int) {
			requests.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
			durations.WithLabelValues(method, route).Observe(time.Since(start).Seconds())
		}
	}
}

// Spans returns a function that begins the span of a request to the API; nil if traces are off. The span is in the
// trace of a caller who is known, by traceparent, and otherwise begins one: a stranger neither writes into the traces
// of others nor decides what is sampled.
func (t *Telemetry) Spans() func(r *http.Request, route string, known bool) (ctx context.Context, end func(status int)) {
	if !t.Traces() {
		return nil
	}
	tracer := t.Tracer()
	return func(r *http.Request, route string, known bool) (context.Context, func(int)) {
		ctx, method, route := r.Context(), methodOf(r), cmp.Or(route, "none")
		if slices.Contains(untraced, route) {
			return ctx, func(int) {}
		}
		if known {
			ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(r.Header))
		}
		ctx, span := tracer.Start(ctx, method+" "+route, trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(attribute.String("http.request.method", method), attribute.String("http.route", route)))
		return ctx, func(status int) {
			span.SetAttributes(attribute.Int("http.response.status_code", status))
			if status >= http.StatusInternalServerError {
				span.SetStatus(codes.Error, http.StatusText(status))
			}
			span.End()
		}
	}
}

// methodOf returns the method of a request as labels and spans have it.
func methodOf(r *http.Request) string {
	if !slices.Contains(methods, r.Method) {
		return "other"
	}
	return r.Method
}

// AuditLines shows how many refused calls are missing in the audit log. Once for a process.
func (t *Telemetry) AuditLines(lost func() int) {
	if t == nil {
		return
	}
	t.Registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "almanac_audit_lines_lost_total", Help: "Refused calls that could not be written to the audit log.",
	}, func() float64 { return float64(lost()) }))
}
