//go:build linux

package e2e_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sys/unix"

	"almanac/scheduler"
	"almanac/workflows"
)

// While the disk is full, /readyz and changes answer 503. A job that was due
// then runs once, after the disk has room again.
func TestAFullDiskIsNotReady(t *testing.T) {
	t.Parallel()
	target := newSink(t, nil)
	p := dev(t, t.TempDir())
	job := p.url + "/jobCollections/default/jobs/once"
	require.Equal(t, http.StatusOK, call(t, http.MethodGet, p.url+"/readyz", "").code)

	due := time.Now().UTC().Add(30 * time.Second).Truncate(time.Second)
	r := call(t, http.MethodPut, job, get(target.URL+"/once", `,"startTime":"`+due.Format(time.RFC3339)+`"`))
	require.Equal(t, http.StatusCreated, r.code, r.body)

	var before unix.Rlimit
	require.NoError(t, unix.Prlimit(p.Process.Pid, unix.RLIMIT_FSIZE, nil, &before))
	// 0 and not the size of a file: SQLite writes over its log from the start.
	full := unix.Rlimit{Cur: 0, Max: before.Max}
	require.NoError(t, unix.Prlimit(p.Process.Pid, unix.RLIMIT_FSIZE, &full, nil))
	eventually(t, "503 of /readyz", func() bool {
		r = call(t, http.MethodGet, p.url+"/readyz", "")
		return r.code == http.StatusServiceUnavailable
	})
	require.Contains(t, r.get("missing"), "temporal takes no writes: ")
	r = call(t, http.MethodPut, p.url+"/jobCollections/default/jobs/other", get(target.URL+"/other", ""))
	require.Equal(t, http.StatusServiceUnavailable, r.code, r.body)
	eventually(t, "due time", func() bool { return time.Now().After(due) })
	require.Empty(t, target.got("/once"))

	require.NoError(t, unix.Prlimit(p.Process.Pid, unix.RLIMIT_FSIZE, &before, nil))
	eventually(t, "200 of /readyz", func() bool {
		return call(t, http.MethodGet, p.url+"/readyz", "").code == http.StatusOK
	})
	target.await(t, "/once", 1)
	r = status(t, job, "properties.state", "completed")
	require.EqualValues(t, 1, r.get("properties.status.executionCount"), r.body)
	require.Len(t, target.got("/once"), 1)
}

// However often readiness is asked for, Temporal has no more workflows.
func TestReadinessLeavesNoWorkflows(t *testing.T) {
	t.Parallel()
	s := newStack(t, setup{data: t.TempDir()})
	eventually(t, "ready stack", func() bool { return s.service.Ready(t.Context()) == nil })
	for range 10 { // a new service probes at once
		eventually(t, "ready service", func() bool { return scheduler.New(scheduler.Options{Client: s.temporal}).Ready(t.Context()) == nil })
	}
	r, err := s.temporal.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{
		Query: "WorkflowType != '" + workflows.TypeInstallation + "'", // which a worker has started
	})
	require.NoError(t, err)
	require.Zero(t, r.Count)
}
