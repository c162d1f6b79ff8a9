package telemetry_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/internal/build"
	"almanac/internal/telemetry"
)

func start(t testing.TB, o telemetry.Options) *telemetry.Telemetry {
	t.Helper()
	o.Log, o.Role, o.Build = slog.New(slog.DiscardHandler), "test", build.Info{Version: "1.2.3"}
	measured, err := telemetry.Start(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { measured.Stop(t.Context()) })
	return measured
}

func scrape(t testing.TB, measured *telemetry.Telemetry) string {
	t.Helper()
	w := httptest.NewRecorder()
	measured.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, telemetry.Path, nil))
	require.Equal(t, http.StatusOK, w.Code)
	text, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	return string(text)
}

// lines returns the lines of a scrape that begin with a name.
func lines(text, name string) (found []string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, name) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

var due = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// attempt makes an attempt of an execution that began a quarter of a second late and took two.
func attempt(t testing.TB, a *telemetry.Attempts, e telemetry.Attempt, answer, failure string, retry time.Time) {
	t.Helper()
	_, o := a.Begin(t.Context(), e)
	begun := due.Add(250 * time.Millisecond)
	r := telemetry.EndedAttempt{Attempt: e, Start: begun, End: begun.Add(2 * time.Second), Answer: answer, Failure: failure, Retry: retry}
	a.End(o, answer, failure, r.End)
	a.Count(o, &r)
	a.Count(o, &r) // the outcome is reported again, as after a lost answer
}

func nightly(number int) telemetry.Attempt {
	return telemetry.Attempt{Execution: "id", Job: "nightly", Collection: "reports", Kind: "Https", Number: number, Due: due}
}

func TestExecutionsAreCountedByTheirOutcome(t *testing.T) {
	measured := start(t, telemetry.Options{})
	a := measured.Attempts()
	attempt(t, a, nightly(1), "2xx", "", time.Time{})
	attempt(t, a, nightly(1), "5xx", "the host answered 500", time.Now().Add(time.Hour))
	attempt(t, a, nightly(2), "timeout", "timed out", time.Time{})
	e := nightly(1)
	e.ErrorAction, e.Kind = true, ""
	attempt(t, a, e, "4xx", "the host answered 404", time.Time{})
	text := scrape(t, measured)
	require.Equal(t, []string{
		`almanac_executions_total{kind="Https",outcome="completed"} 1`,
		`almanac_executions_total{kind="Https",outcome="failed"} 1`,
	}, lines(text, "almanac_executions_total{"))
	require.Equal(t, []string{
		`almanac_attempts_total{action="error",answer="4xx",kind="other"} 1`,
		`almanac_attempts_total{action="main",answer="2xx",kind="Https"} 1`,
		`almanac_attempts_total{action="main",answer="5xx",kind="Https"} 1`,
		`almanac_attempts_total{action="main",answer="timeout",kind="Https"} 1`,
	}, lines(text, "almanac_attempts_total{"))
	require.Equal(t, []string{`almanac_error_actions_total{kind="other",outcome="failed"} 1`}, lines(text, "almanac_error_actions_total{"))
	require.Equal(t, []string{`almanac_execution_lateness_seconds_count{kind="Https"} 2`}, lines(text, "almanac_execution_lateness_seconds_count"), "of first attempts")
	require.Contains(t, text, `almanac_execution_lateness_seconds_bucket{kind="Https",le="0.1"} 0`)
	require.Contains(t, text, `almanac_execution_lateness_seconds_bucket{kind="Https",le="0.25"} 2`)
	require.Equal(t, []string{`almanac_attempt_duration_seconds_sum{kind="Https"} 6`, `almanac_attempt_duration_seconds_sum{kind="other"} 2`},
		lines(text, "almanac_attempt_duration_seconds_sum"))
	require.Contains(t, text, "almanac_retries_waiting 1\n")
	require.Contains(t, text, "almanac_attempts_in_flight 0\n")
	require.NotContains(t, text, "nightly", "no label has the name of a job")
	require.NotContains(t, text, "reports", "nor, unless asked for, of a collection")
}

func TestAnAttemptIsInFlightUntilItEndsOrItsRequestDoesNotLeave(t *testing.T) {
	measured := start(t, telemetry.Options{})
	a := measured.Attempts()
	_, ended := a.Begin(t.Context(), nightly(1))
	_, dropped := a.Begin(t.Context(), nightly(1))
	require.Contains(t, scrape(t, measured), "almanac_attempts_in_flight 2\n")
	a.End(ended, "2xx", "", due)
	a.Drop(dropped)
	text := scrape(t, measured)
	require.Contains(t, text, "almanac_attempts_in_flight 0\n")
	require.Empty(t, lines(text, "almanac_attempts_total"), "an attempt is counted when its outcome is known")
}

func TestTheLabelCollectionIsOptInAndBounded(t *testing.T) {
	measured := start(t, telemetry.Options{Collections: true})
	a := measured.Attempts()
	for i := range 60 {
		e := nightly(1)
		e.Collection = fmt.Sprintf("c%02d", i)
		attempt(t, a, e, "2xx", "", time.Time{})
	}
	found := lines(scrape(t, measured), "almanac_executions_total{")
	require.Len(t, found, 51)
	require.Contains(t, found, `almanac_executions_total{collection="c49",kind="Https",outcome="completed"} 1`)
	require.Contains(t, found, `almanac_executions_total{collection="other",kind="Https",outcome="completed"} 10`)
}

func TestARetryWaitsUntilItsTimeComes(t *testing.T) {
	measured := start(t, telemetry.Options{})
	a := measured.Attempts()
	attempt(t, a, nightly(1), "5xx", "busy", time.Now().Add(-time.Second))
	attempt(t, a, nightly(1), "5xx", "busy", time.Now().Add(time.Hour))
	require.Contains(t, scrape(t, measured), "almanac_retries_waiting 1\n")
}

func TestRequestsAreCountedByRouteAndStatus(t *testing.T) {
	measured := start(t, telemetry.Options{})
	observe := measured.Requests()
	for _, r := range []struct {
		method, route string
		status        int
	}{
		{"GET", "/jobCollections/{collection}", 200}, {"GET", "/jobCollections/{collection}", 404}, {"BREW", "", 404},
	} {
		end := observe(httptest.NewRequest(r.method, "/", nil), r.route)
		end(r.status)
	}
	text := scrape(t, measured)
	require.Equal(t, []string{
		`almanac_api_requests_total{method="GET",route="/jobCollections/{collection}",status="200"} 1`,
		`almanac_api_requests_total{method="GET",route="/jobCollections/{collection}",status="404"} 1`,
		`almanac_api_requests_total{method="other",route="none",status="404"} 1`,
	}, lines(text, "almanac_api_requests_total{"))
	require.Contains(t, text, `almanac_api_request_duration_seconds_count{method="GET",route="/jobCollections/{collection}"} 2`)
}

func TestNothingIsMeasuredWithoutTelemetry(t *testing.T) {
	t.Parallel()
	var none *telemetry.Telemetry
	require.False(t, none.Traces())
	require.Nil(t, none.Requests())
	require.Nil(t, none.Spans())
	none.Stop(t.Context())
	w := httptest.NewRecorder()
	none.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, telemetry.Path, nil))
	require.Equal(t, http.StatusNotFound, w.Code)
	var a *telemetry.Attempts
	ctx, o := a.Begin(t.Context(), nightly(1))
	require.Equal(t, t.Context(), ctx)
	a.Drop(o)
	a.End(o, "2xx", "", due)
	a.Count(o, &telemetry.EndedAttempt{})
	require.Equal(t, t.Context(), o.Context(ctx))
}

func TestAWrongVariableStopsTheStart(t *testing.T) {
	for name, values := range map[string][2]string{
		`$OTEL_TRACES_EXPORTER: "zipkin" is not known; allowed: otlp, none`:                     {"OTEL_TRACES_EXPORTER", "zipkin"},
		`$OTEL_METRICS_EXPORTER: "console" is not known; allowed: otlp, none`:                   {"OTEL_METRICS_EXPORTER", "console"},
		`$OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" is not known; allowed: grpc, http/protobuf`:  {"OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"},
		`$OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "udp" is not known; allowed: grpc, http/protobuf`: {"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "udp"},
	} {
		t.Run(values[0], func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
			t.Setenv(values[0], values[1])
			_, err := telemetry.Start(t.Context(), telemetry.Options{Log: slog.New(slog.DiscardHandler)})
			require.EqualError(t, err, name)
		})
	}
}

func TestALogLineHasItsTrace(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receive(t).url)
	var text bytes.Buffer
	log := slog.New(telemetry.LogHandler(slog.NewJSONHandler(&text, nil))).With("component", "test")
	ctx, o := start(t, telemetry.Options{}).Attempts().Begin(t.Context(), nightly(1))
	log.InfoContext(ctx, "within")
	var line map[string]any
	require.NoError(t, json.Unmarshal(text.Bytes(), &line))
	require.Regexp(t, "^[0-9a-f]{32}$", line["trace_id"])
	require.Regexp(t, "^[0-9a-f]{16}$", line["span_id"])
	require.Equal(t, "test", line["component"])
	text.Reset()
	log.InfoContext(t.Context(), "without")
	require.NotContains(t, text.String(), "trace_id")
	log.InfoContext(o.Context(t.Context()), "after it has ended")
	require.Contains(t, text.String(), line["span_id"])
}
