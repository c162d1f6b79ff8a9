package receiver

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/lab/record"
)

func TestTheBehaviourDeterminesTheAnswer(t *testing.T) {
	t.Parallel()
	require.Equal(t, answer{status: 200}, decide(1, "ok", "id", record.MainAction, 1))
	require.Equal(t, answer{after: 20 * time.Second, status: 200}, decide(1, "slow-20", "id", record.MainAction, 1))
	require.Equal(t, answer{status: 500}, decide(1, "fail", "id", record.MainAction, 9))
	require.Equal(t, answer{status: 503, retryAfter: 3 * time.Second},
		decide(1, "throttle-3", "id", record.MainAction, 1))
	require.Equal(t, answer{status: 429, retryAfter: 4 * time.Second},
		decide(1, "throttle-4", "id", record.MainAction, 1))
	require.Equal(t, answer{status: 200}, decide(1, "throttle-4", "id", record.MainAction, 2))
	failed := 0
	for n := range 1000 {
		if decide(1, "flaky-30", "id", record.MainAction, n).status == 500 {
			failed++
		}
	}
	require.InDelta(t, 300, failed, 60)
}

func TestARequestIsRecordedAndReportedToWhoeverAwaitsIt(t *testing.T) {
	t.Parallel()
	r, err := Start(1)
	require.NoError(t, err)
	defer r.Close()
	job := record.Job{Collection: "c", Name: "j", Incarnation: 2}
	reached := make(chan record.Job, 1)
	go func() {
		j, _ := r.Await(t.Context(), Answered, time.Minute)
		reached <- j
	}()
	require.Eventually(t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.waiter != nil
	}, time.Minute, time.Millisecond)

	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.URI(job, 3, record.MainAction, "fail"),
		http.NoBody)
	require.NoError(t, err)
	req.Header.Set("Idempotency-Key", "id")
	req.Header.Set("x-ms-scheduler-expected-execution-time", "2026-03-01T12:00:10")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, resp.Body) // closed before its end, it would end the connection, and the request be cut off
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusInternalServerError, resp.StatusCode)

	require.Equal(t, job, <-reached)
	require.NoError(t, r.AwaitIdle(t.Context(), time.Minute))
	got := r.Requests()
	require.Len(t, got, 1)
	require.Equal(t, job, got[0].Job)
	require.Equal(t, 3, got[0].Version)
	require.Equal(t, 500, got[0].Status)
	require.Equal(t, time.Date(2026, 3, 1, 12, 0, 10, 0, time.UTC), got[0].Due)
}

func TestTheReceiverRecordsWhichJobSentForWhichOccurrence(t *testing.T) {
	t.Parallel()
	r, err := Start(0)
	require.NoError(t, err)
	t.Cleanup(r.Close)
	due := time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC)
	send := func(header string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.Target("herd", "7"), nil)
		require.NoError(t, err)
		req.Header.Set(dueHeader, header)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}
	require.Equal(t, http.StatusNoContent, send(due.Format("2006-01-02T15:04:05")))
	require.Equal(t, http.StatusBadRequest, send("noon"))
	require.NoError(t, r.AwaitCount(t.Context(), "herd", 1, time.Minute))
	require.Equal(t, 1, r.Count("herd"))
	requests := r.Take("herd")
	require.Len(t, requests, 1)
	require.Equal(t, record.Job{Collection: "herd", Name: "7"}, requests[0].Job)
	require.Equal(t, due, requests[0].Due)
	require.Zero(t, r.Count("herd"), "what was taken is forgotten")
}
