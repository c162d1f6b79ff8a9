package e2e_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// One of two workers is killed when it has sent a herd, and has reported little of it.
func aWorkerFindsWhatAKilledOneKept(t *testing.T) {
	const n = 100
	temporal := newServer(t, t.TempDir(), quiet).Address()
	dir := filepath.Join(t.TempDir(), "journal")
	worker := startHalf(t, temporal, "", "worker", "--journal", dir)
	api := startHalf(t, temporal, "", "api", "--listen", "127.0.0.1:0", "--max-in-flight-per-caller", "0")
	target := newSink(t, nil)
	jobs := api.url + "/jobCollections/journal/jobs"
	require.Equal(t, http.StatusCreated, call(t, http.MethodPut, api.url+"/jobCollections/journal", `{"properties":{"sku":{"name":"P20Premium"}}}`).code)
	due := time.Now().Add(30 * time.Second).UTC().Format(time.RFC3339)
	for i := range n {
		policy := []string{`{"retryType":"fixed","retryInterval":"PT15S","retryCount":4}`, `{"retryType":"none"}`}[i%2]
		created(t, fmt.Sprintf("%s/j%d", jobs, i), fmt.Sprintf(`{"properties":{"startTime":%q,"action":{"type":"Http","request":{"method":"GET","uri":"%s/j%d"},"retryPolicy":%s}}}`,
			due, target.URL, i, policy))
	}
	require.Eventually(t, func() bool { return linesIn(t, dir) == n }, patience, 2*time.Millisecond)
	worker.kill(t)
	startHalf(t, temporal, "", "worker", "--journal", dir)

	found := 0
	for i := range n {
		job := fmt.Sprintf("%s/j%d", jobs, i)
		status(t, job, "properties.state", "completed")
		require.Len(t, target.got(fmt.Sprintf("/j%d", i)), 1)
		history := call(t, http.MethodGet, job+"/history", "").body
		require.Contains(t, history, `"status":"Completed"`)
		if strings.Contains(history, "What it answered was lost") {
			found++
		}
	}
	require.Positive(t, found, "outcomes that were in the journal only")
}

// linesIn returns the number of lines in the files of a directory.
func linesIn(t *testing.T, dir string) (n int) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		n += bytes.Count(text, []byte("\n"))
	}
	return n
}
