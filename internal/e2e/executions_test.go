package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// location returns the address of the execution that a manual run starts.
func location(t *testing.T, url string) string {
	t.Helper()
	run := call(t, http.MethodPost, url, "")
	require.Equal(t, http.StatusOK, run.code, run.body)
	require.NotEmpty(t, run.head.Get("Location"))
	return run.head.Get("Location")
}

func TestAnExecutionIsFollowedFromItsRunToItsEnd(t *testing.T) {
	t.Parallel()
	s := use(t)
	answers := make(chan int)
	target := newSink(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/asks") {
			return
		}
		select {
		case code := <-answers:
			w.WriteHeader(code)
		case <-r.Context().Done():
		}
	})
	jobs := s.collection(t) + "/jobs"
	created(t, jobs+"/j", `{"properties":{"state":"disabled","action":{"type":"Http","request":{"method":"GET","uri":"`+target.URL+`/asks"},
		"retryPolicy":{"retryType":"fixed","retryInterval":"PT1M","retryCount":2}},"recurrence":{"frequency":"day"}}}`)
	at := location(t, jobs+"/j/run")
	running := status(t, at, "properties.status", "running")
	require.Empty(t, running.get("properties.history"))
	require.Nil(t, running.get("properties.retry"))
	require.Equal(t, http.StatusNotFound, call(t, http.MethodGet, at+"0", "").code, "it never was")
	require.Equal(t, http.StatusNotFound, call(t, http.MethodGet, jobs+"/j/executions/1", "").code)

	answers <- http.StatusInternalServerError
	waiting := status(t, at, "properties.status", "waiting")
	require.Equal(t, 1, waiting.count("properties.history"), waiting.body)
	for _, r := range []reply{waiting, call(t, http.MethodGet, jobs+"/j", "")} {
		retry := "properties.retry."
		if r.get("properties.action") != nil {
			retry = "properties.status.retry."
			require.Contains(t, r.get("properties.status.lastError.message"), "500", "also while the job is disabled")
		}
		require.Equal(t, []any{2.0, 3.0}, []any{r.get(retry + "attempt"), r.get(retry + "maxAttempts")}, r.body)
		require.Contains(t, r.get(retry+"lastError.message"), "500", r.body)
		next, err := time.Parse(time.RFC3339, fmt.Sprint(r.get(retry+"nextAttemptTime")))
		require.NoError(t, err, r.body)
		failed, err := time.Parse(time.RFC3339, fmt.Sprint(r.get(retry+"lastError.endTime")))
		require.NoError(t, err, r.body)
		require.WithinRange(t, next, failed.Add(time.Minute), failed.Add(2*time.Minute), "the interval counts from when the failure is recorded")
	}
	require.Contains(t, waiting.get("properties.reason"), "next attempt begins at")
	listed := call(t, http.MethodGet, jobs, "")
	require.Equal(t, 2.0, listed.get("value.0.properties.status.retry.attempt"), listed.body)

	answers <- http.StatusInternalServerError // a minute later
	status(t, jobs+"/j", "properties.status.retry.attempt", 3.0)
	answers <- http.StatusOK
	ended := status(t, at, "properties.status", "ended")
	require.Equal(t, "Completed", ended.get("properties.outcome"), ended.body)
	require.Equal(t, 3, ended.count("properties.history"))
	require.Nil(t, ended.get("properties.retry"))
	after := call(t, http.MethodGet, jobs+"/j", "")
	require.Nil(t, after.get("properties.status.retry"))
	require.Nil(t, after.get("properties.status.lastError"), "in the end it succeeded")
}

func TestAFailureCountsFromTheFirstAttemptOnAndNotIfALaterOneSucceeds(t *testing.T) {
	t.Parallel()
	s := use(t)
	var works atomic.Bool
	target := newSink(t, func(w http.ResponseWriter, _ *http.Request) {
		if !works.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	jobs := s.collection(t) + "/jobs"
	created(t, jobs+"/j", `{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":"`+target.URL+`/"},
		"retryPolicy":{"retryType":"fixed","retryInterval":"PT15S","retryCount":5}},"recurrence":{"frequency":"day"}}}`)
	failing := status(t, jobs+"/j", "properties.status.failureCount", 1.0)
	require.Equal(t, []any{1.0, 0.0}, []any{failing.get("properties.status.executionCount"), failing.get("properties.status.faultedCount")})
	require.NotNil(t, failing.get("properties.status.retry"), failing.body)
	require.Contains(t, failing.get("properties.status.lastError.message"), "503")
	require.Nil(t, failing.get("properties.status.lastOutcome"))
	works.Store(true)
	recovered := status(t, jobs+"/j", "properties.status.lastOutcome.status", "Completed")
	require.Equal(t, 0.0, recovered.get("properties.status.failureCount"))
	require.Nil(t, recovered.get("properties.status.retry"))
}

func TestAnOldExecutionAndOneOfAnEarlierJobOfTheName(t *testing.T) {
	t.Parallel()
	s := use(t)
	target := newSink(t, nil)
	jobs := s.collection(t) + "/jobs"
	body := get(target.URL+"/", `,"state":"disabled","recurrence":{"frequency":"day"}`)
	created(t, jobs+"/j", body)
	first := location(t, jobs+"/j/run")
	status(t, first, "properties.status", "ended")
	before := key(jobs, "j").WorkflowID()
	runID := func() string {
		found, err := s.temporal.DescribeWorkflowExecution(t.Context(), before, "")
		require.NoError(t, err)
		return found.GetWorkflowExecutionInfo().GetExecution().GetRunId()
	}
	run := runID()
	for range 55 { // the workflow continues as new after 50
		status(t, location(t, jobs+"/j/run"), "properties.status", "ended")
	}
	require.NotEqual(t, run, runID())
	old := call(t, http.MethodGet, first, "")
	require.Equal(t, []any{"ended", "Completed", 1.0}, []any{old.get("properties.status"), old.get("properties.outcome"), old.get("properties.repeatCount")}, old.body)
	require.Equal(t, 1, old.count("properties.history"))

	ok(t, http.MethodDelete, jobs+"/j", "")
	require.Equal(t, http.StatusNotFound, call(t, http.MethodGet, first, "").code)
	created(t, jobs+"/j", body)
	again := location(t, jobs+"/j/run")
	require.NotEqual(t, first, again)
	require.Equal(t, http.StatusNotFound, call(t, http.MethodGet, first, "").code, "it is the first of another job")
	status(t, again, "properties.status", "ended")
}
