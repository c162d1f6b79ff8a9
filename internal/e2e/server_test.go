package e2e_test

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// The server logs JSON, has no Web UI, keeps jobs from this machine, and stops when it is asked to. Its data directory
// is then that of another node.
func TestServerIsANodeForOperators(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	h := &half{process: process{Cmd: exec.CommandContext(t.Context(), program(t), "server", "--data", data,
		"--listen", "127.0.0.1:0", "--temporal-listen", "127.0.0.1:0")}}
	h.Stdout, h.Stderr = &h.log, &h.log
	require.NoError(t, h.Start())
	t.Cleanup(func() { h.kill(t) })
	var ready struct{ Msg, API, UI, Data string }
	eventually(t, "line that says it is ready", func() bool {
		for line := range strings.Lines(h.log.String()) {
			if json.Unmarshal([]byte(line), &ready) == nil && ready.Msg == "ready" {
				return true
			}
		}
		return false
	})
	require.Equal(t, data, ready.Data)
	require.Empty(t, ready.UI)
	r := call(t, http.MethodGet, ready.API+"/readyz", "")
	require.Equal(t, http.StatusOK, r.code, r.body)
	r = call(t, http.MethodPut, ready.API+"/jobCollections/default/jobs/here", get("http://127.0.0.1:1/", ""))
	require.Equal(t, http.StatusBadRequest, r.code, "jobs do not call this machine: %s", r.body)
	created(t, ready.API+"/jobCollections/default/jobs/later", get("https://example.com/", inAYear()))

	require.NoError(t, h.Process.Signal(syscall.SIGTERM))
	require.NoError(t, h.Wait(), "%s", &h.log)
	for line := range strings.Lines(h.log.String()) {
		require.True(t, json.Valid([]byte(line)), line)
	}
	p := dev(t, data, "--min-free-disk", "1000000TiB")
	job := p.url + "/jobCollections/default/jobs/later"
	require.Equal(t, http.StatusOK, call(t, http.MethodGet, job, "").code)
	t.Run("with little space new jobs are refused", func(t *testing.T) {
		r := call(t, http.MethodGet, p.url+"/readyz", "")
		require.Equal(t, http.StatusServiceUnavailable, r.code)
		require.Contains(t, r.get("missing"), "the disk of the data directory has ")
		r = call(t, http.MethodPut, p.url+"/jobCollections/default/jobs/new", get("http://127.0.0.1:1/", ""))
		require.Equal(t, http.StatusServiceUnavailable, r.code)
		require.Equal(t, "InsufficientStorage", r.get("error.code"), r.body)
		ok(t, http.MethodPatch, job, `{"properties":{"state":"disabled"}}`)
		ok(t, http.MethodDelete, job, "")
	})
}
