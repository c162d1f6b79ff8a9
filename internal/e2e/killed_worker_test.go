package e2e_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Temporal asks the worker that has a workflow in its cache, for some seconds
// also when that was killed.
func TestReadsAndChangesAreAnsweredRightAfterAWorkerWasKilled(t *testing.T) {
	t.Parallel()
	const n = 50
	temporal := newServer(t, t.TempDir(), slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))).Address()
	worker := startHalf(t, temporal, "", "worker")
	api := startHalf(t, temporal, "", "api", "--listen", "127.0.0.1:0", "--max-in-flight-per-caller", "0")
	jobs := api.url + "/jobCollections/killed/jobs"
	require.Equal(t, http.StatusCreated, call(t, http.MethodPut, api.url+"/jobCollections/killed", `{"properties":{"sku":{"name":"Standard"}}}`).code)
	for i := range n {
		created(t, fmt.Sprintf("%s/j%d", jobs, i), `{"properties":{"state":"disabled","action":{"type":"Http","request":{"method":"GET","uri":"http://127.0.0.1:1/"}}}}`)
	}
	ok(t, http.MethodGet, jobs, "")

	worker.kill(t)
	startHalf(t, temporal, "", "worker")
	var mu sync.Mutex
	var slowest time.Duration
	var all sync.WaitGroup
	timed := func(method, url, body string) {
		all.Go(func() {
			start := time.Now()
			err := expect(t, http.StatusOK, method, url, body)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			slowest = max(slowest, time.Since(start))
		})
	}
	timed(http.MethodGet, jobs, "")
	for i := range n {
		timed(http.MethodGet, fmt.Sprintf("%s/j%d", jobs, i), "")
	}
	all.Wait()
	t.Logf("the slowest of %d reads took %s", n+1, slowest)
	slowest = 0
	timed(http.MethodPatch, jobs+"/j0", `{"properties":{"state":"enabled"}}`)
	all.Wait()
	t.Logf("a change took %s", slowest)
}
