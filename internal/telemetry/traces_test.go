package telemetry_test

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"almanac/internal/telemetry"
)

// A receiver keeps what it gets by OTLP.
type receiver struct {
	url     string
	mu      sync.Mutex
	spans   []*tracepb.Span
	metrics map[string]bool
	service string
}

func receive(t testing.TB) *receiver {
	r := &receiver{metrics: map[string]bool{}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		switch q.URL.Path {
		case "/v1/traces":
			var sent collector.ExportTraceServiceRequest
			if proto.Unmarshal(body, &sent) != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			for _, of := range sent.GetResourceSpans() {
				for _, a := range of.GetResource().GetAttributes() {
					if a.GetKey() == "service.name" {
						r.service = a.GetValue().GetStringValue()
					}
				}
				for _, scope := range of.GetScopeSpans() {
					r.spans = append(r.spans, scope.GetSpans()...)
				}
			}
		case "/v1/metrics":
			var sent collectormetrics.ExportMetricsServiceRequest
			if proto.Unmarshal(body, &sent) != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			for _, of := range sent.GetResourceMetrics() {
				for _, scope := range of.GetScopeMetrics() {
					for _, m := range scope.GetMetrics() {
						r.metrics[m.GetName()] = true
					}
				}
			}
		}
	}))
	t.Cleanup(s.Close)
	r.url = s.URL
	return r
}

// named returns the spans of a name.
func (r *receiver) named(name string) (found []*tracepb.Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.spans {
		if s.GetName() == name {
			found = append(found, s)
		}
	}
	return found
}

func attribute(s *tracepb.Span, key string) string {
	for _, a := range s.GetAttributes() {
		if a.GetKey() == key {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}

func TestTheAttemptsOfAnExecutionAreInOneTraceWhicheverWorkerMakesThem(t *testing.T) {
	otlp := receive(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", otlp.url)
	one, two := start(t, telemetry.Options{}), start(t, telemetry.Options{})
	attempt(t, one.Attempts(), nightly(1), "5xx", "the host answered 500", time.Now())
	second := two.Attempts()
	attempt(t, second, nightly(2), "5xx", "the host answered 500", time.Time{})
	e := nightly(1)
	e.ErrorAction = true
	attempt(t, second, e, "2xx", "", time.Time{})
	one.Stop(t.Context())
	two.Stop(t.Context())

	require.Equal(t, "almanac-test", otlp.service)
	executions, attempts, errorAction := otlp.named("execution"), otlp.named("attempt"), otlp.named("error action attempt")
	require.Len(t, executions, 1)
	require.Len(t, attempts, 2)
	require.Len(t, errorAction, 1)
	execution := executions[0]
	require.Empty(t, execution.GetParentSpanId())
	require.Equal(t, "id", attribute(execution, "almanac.execution.id"))
	require.EqualValues(t, due.UnixNano(), execution.GetStartTimeUnixNano())
	require.Equal(t, tracepb.Status_STATUS_CODE_ERROR, execution.GetStatus().GetCode())
	for _, a := range append(attempts, errorAction...) {
		require.Equal(t, execution.GetTraceId(), a.GetTraceId())
		require.Equal(t, execution.GetSpanId(), a.GetParentSpanId())
		require.Equal(t, "id", attribute(a, "almanac.execution.id"))
	}
	require.Equal(t, "5xx", attribute(attempts[0], "almanac.answer"))
}

func TestAReceiverGetsTheSpanOfItsAttempt(t *testing.T) {
	otlp := receive(t)
	require.Nil(t, telemetry.Headers(t.Context()))
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", otlp.url+"/v1/traces")
	measured := start(t, telemetry.Options{})
	a := measured.Attempts()
	ctx, o := a.Begin(t.Context(), nightly(1))
	sent := telemetry.Headers(ctx)
	a.End(o, "2xx", "", due)
	measured.Stop(t.Context())
	span := otlp.named("attempt")[0]
	require.Equal(t, map[string]string{"traceparent": "00-" + hex.EncodeToString(span.GetTraceId()) + "-" + hex.EncodeToString(span.GetSpanId()) + "-01"}, sent)
}

func TestAnExecutionThatARequestAskedForIsInTheTraceOfTheRequest(t *testing.T) {
	otlp := receive(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", otlp.url)
	measured := start(t, telemetry.Options{})
	r := httptest.NewRequest(http.MethodPost, "/jobCollections/reports/jobs/nightly/run?secret=s3cret", nil)
	r.Header.Set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	ctx, end := measured.Spans()(r, "/jobCollections/{collection}/jobs/{job}/run", true)
	request := telemetry.SpanOf(ctx)
	end(http.StatusAccepted)
	a := measured.Attempts()
	for _, asked := range []bool{true, false} {
		e := nightly(1)
		e.Execution = map[bool]string{true: "asked", false: "created"}[asked]
		_, o := a.Begin(telemetry.WithOrigin(t.Context(), telemetry.Origin{Request: request, Asked: asked}), e)
		a.End(o, "2xx", "", due)
		a.Count(o, &telemetry.EndedAttempt{Attempt: e, Start: due, End: due.Add(time.Second), Answer: "2xx"})
	}
	measured.Stop(t.Context())

	received := otlp.named("POST /jobCollections/{collection}/jobs/{job}/run")
	require.Len(t, received, 1)
	require.Equal(t, "0af7651916cd43dd8448eb211c80319c", hex.EncodeToString(received[0].GetTraceId()), "the caller's trace")
	require.NotContains(t, received[0].String(), "s3cret")
	for _, execution := range otlp.named("execution") {
		if attribute(execution, "almanac.execution.id") == "asked" {
			require.Equal(t, received[0].GetTraceId(), execution.GetTraceId())
			require.Equal(t, received[0].GetSpanId(), execution.GetParentSpanId())
			continue
		}
		require.NotEqual(t, received[0].GetTraceId(), execution.GetTraceId(), "the executions of years are not one trace")
		require.Len(t, execution.GetLinks(), 1)
		require.Equal(t, received[0].GetSpanId(), execution.GetLinks()[0].GetSpanId())
	}
	require.Len(t, otlp.named("execution"), 2)
}

func TestTheSamplerOfTheVariablesDecidesForAWholeExecution(t *testing.T) {
	otlp := receive(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", otlp.url)
	t.Setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
	t.Setenv("OTEL_TRACES_SAMPLER_ARG", "0.5")
	measured := start(t, telemetry.Options{})
	a := measured.Attempts()
	for i := range 200 {
		for number := range 2 {
			e := nightly(number + 1)
			e.Execution = string(rune('a'+i%26)) + string(rune('a'+i/26))
			_, o := a.Begin(t.Context(), e)
			a.End(o, "5xx", "busy", due)
		}
	}
	measured.Stop(t.Context())
	byTrace := map[string]int{}
	for _, s := range otlp.named("attempt") {
		byTrace[string(s.GetTraceId())]++
	}
	require.InDelta(t, 100, len(byTrace), 40)
	for _, n := range byTrace {
		require.Equal(t, 2, n, "both attempts, or none")
	}
}

func TestMetricsAreSentByOTLP(t *testing.T) {
	otlp := receive(t)
	t.Setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", otlp.url+"/v1/metrics")
	measured := start(t, telemetry.Options{})
	require.False(t, measured.Traces(), "only metrics have an endpoint")
	attempt(t, measured.Attempts(), nightly(1), "2xx", "", time.Time{})
	counter, err := measured.Meter().Int64Counter("temporal_request")
	require.NoError(t, err)
	counter.Add(t.Context(), 1)
	measured.Stop(t.Context())
	for _, name := range []string{"almanac_executions_total", "almanac_execution_lateness_seconds", "temporal_request"} {
		require.Contains(t, otlp.metrics, name)
	}
}

func TestAStrangerHasNoPartInTheTracesOfOthers(t *testing.T) {
	otlp := receive(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", otlp.url)
	measured := start(t, telemetry.Options{})
	r := httptest.NewRequest(http.MethodGet, "/docs", nil)
	r.Header.Set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	r.Header.Set("tracestate", "vendor=stranger")
	_, end := measured.Spans()(r, "/docs", false)
	end(http.StatusOK)
	measured.Stop(t.Context())
	received := otlp.named("GET /docs")
	require.Len(t, received, 1)
	require.NotEqual(t, "0af7651916cd43dd8448eb211c80319c", hex.EncodeToString(received[0].GetTraceId()))
	require.Empty(t, received[0].GetTraceState())
	require.Empty(t, received[0].GetLinks())
}
