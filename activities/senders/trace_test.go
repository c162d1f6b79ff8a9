package senders_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"almanac/activities"
	"almanac/activities/senders"
	"almanac/internal/sendertest"
	"almanac/job"
	"almanac/job/kind"
)

func TestAReceiverGetsTheTraceOfTheAttempt(t *testing.T) {
	t.Parallel()
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	const want = "00-01000000000000000000000000000000-0200000000000000-01"
	traced := trace.ContextWithSpanContext(t.Context(), span)
	target, requests := recording(t)
	for _, propagate := range []bool{true, false} {
		s := senders.NewHTTP(senders.Options{Guard: sendertest.Anywhere, PropagateTrace: propagate})
		_, err := s.Send(traced, sendertest.Execution, action(kind.Request{URI: target.URL}))
		require.NoError(t, err)
		require.Equal(t, map[bool]string{true: want, false: ""}[propagate], (<-requests).Header.Get("traceparent"))
		_, err = s.Send(traced, sendertest.Execution, action(kind.Request{URI: target.URL, Headers: job.Members{{Name: "Traceparent", Value: "own"}}}))
		require.NoError(t, err)
		require.Equal(t, []string{"own"}, (<-requests).Header.Values("traceparent"))
		for _, wanted := range []bool{true, false} {
			_, err = s.Send(traced, sendertest.Execution, action(kind.Request{URI: target.URL, Traceparent: &wanted}))
			require.NoError(t, err)
			require.Equal(t, map[bool]string{true: want, false: ""}[propagate && wanted], (<-requests).Header.Get("traceparent"))
		}
		_, err = s.Send(t.Context(), sendertest.Execution, action(kind.Request{URI: target.URL}))
		require.NoError(t, err)
		require.Empty(t, (<-requests).Header.Values("traceparent"), "without a trace")
	}
}

func TestAFailureHasTheClassOfTheAnswer(t *testing.T) {
	t.Parallel()
	for code, class := range map[int]activities.Answer{302: "3xx", 404: "4xx", 429: "4xx", 503: "5xx"} {
		target := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
		_, err := send(t, kind.Request{URI: target.URL})
		var answered *activities.AnsweredError
		require.ErrorAs(t, err, &answered)
		require.Equal(t, class, answered.Answer)
	}
}
