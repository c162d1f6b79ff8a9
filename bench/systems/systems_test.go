package systems

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheReceiverRecordsWhichJobSentForWhichOccurrence(t *testing.T) {
	t.Parallel()
	r := NewReceiver()
	t.Cleanup(r.Close)
	due := time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC)
	send := func(header string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.target("herd", 7), nil)
		require.NoError(t, err)
		req.Header.Set(dueHeader, header)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}
	require.Equal(t, http.StatusNoContent, send(due.Format("2006-01-02T15:04:05")))
	require.Equal(t, http.StatusBadRequest, send("noon"))
	require.NoError(t, r.Await(t.Context(), "herd", 1, time.Minute))
	require.Equal(t, 1, r.Count("herd"))
	arrivals := r.Take("herd")
	require.Len(t, arrivals, 1)
	require.Equal(t, 7, arrivals[0].Job)
	require.Equal(t, due, arrivals[0].Due)
	require.Zero(t, r.Count("herd"), "what was taken is forgotten")
}

func TestAHerdIsCreatedThroughAllAPIsAlsoIfTheyAreBusyAtFirst(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	calls := map[string]int{} // by server and path
	serve := func(name string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			calls[name+" "+r.URL.Path]++
			if strings.Contains(r.URL.Path, "/jobs/") && calls[name+" "+r.URL.Path] == 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	r := NewReceiver()
	t.Cleanup(r.Close)
	a := NewAlmanac(r, []string{serve("first"), serve("second")})
	require.NoError(t, a.Create(t.Context(), Herd{Name: "herd", Jobs: 2, First: time.Now(), Schedule: Minutely}))
	require.Equal(t, map[string]int{
		"first /jobCollections/herd": 1, "first /jobCollections/herd/jobs/herd-0": 2, "second /jobCollections/herd/jobs/herd-1": 2,
	}, calls)
}
