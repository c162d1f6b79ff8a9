//go:build linux

package main

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/faults/laws"
	"almanac/job"
)

// Every job that is made up is one that Almanac takes, and says to the receiver
// what the checker has to know.
func TestJobsAreValid(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 3, 1, 12, 0, 10, 0, time.UTC)
	r := &receiver{url: "http://127.0.0.1:1"}
	for _, s := range newSubjects(500, begin, time.Minute, stream(1, 1)) {
		d, err := job.ParseDefinition([]byte(r.definitionBody(s.at, s.definition)), job.ParseOptions{Now: begin})
		require.NoError(t, err)
		require.False(t, d.StartTime.Before(begin))
		require.Equal(t, 1+s.definition.Retries, d.Action.RetryPolicy.Attempts())

		uri, err := url.Parse(d.Action.Request.URI)
		require.NoError(t, err)
		require.Equal(t, s.definition.Behaviour, uri.Query().Get("do"))
		req := httptest.NewRequest(http.MethodGet, d.Action.Request.URI, http.NoBody)
		req.Header.Set("x-ms-scheduler-expected-execution-time", "2026-03-01T12:00:10")
		got, err := read(req, begin)
		require.NoError(t, err)
		require.Equal(t, laws.Request{Job: s.at, Version: 1, Action: laws.Main, Due: begin, Arrived: begin}, got)

		due, ok := s.next(begin.Add(90 * time.Second))
		require.Equal(t, due.After(begin.Add(90*time.Second)), ok)
	}
}

func TestTheSameSeedMakesTheSameJobs(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 3, 1, 12, 0, 10, 0, time.UTC)
	once := newSubjects(50, begin, time.Minute, stream(1, 1))
	again := newSubjects(50, begin, time.Minute, stream(1, 1))
	require.Equal(t, once, again)
	require.NotEqual(t, once, newSubjects(50, begin, time.Minute, stream(2, 1)))
}

func TestTheReceiverDecides(t *testing.T) {
	t.Parallel()
	require.Equal(t, answer{status: 200}, decide(1, "ok", "id", laws.Main, 1))
	require.Equal(t, answer{after: 20 * time.Second, status: 200}, decide(1, "slow-20", "id", laws.Main, 1))
	require.Equal(t, answer{status: 500}, decide(1, "fail", "id", laws.Main, 9))
	require.Equal(t, answer{status: 503, retryAfter: 3 * time.Second}, decide(1, "throttle-3", "id", laws.Main, 1))
	require.Equal(t, answer{status: 429, retryAfter: 4 * time.Second}, decide(1, "throttle-4", "id", laws.Main, 1))
	require.Equal(t, answer{status: 200}, decide(1, "throttle-4", "id", laws.Main, 2))
	failed := 0
	for n := range 1000 {
		if decide(1, "flaky-30", "id", laws.Main, n).status == 500 {
			failed++
		}
	}
	require.InDelta(t, 300, failed, 60)
}
