//go:build unix

package e2e_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// The embedded server has workers of its own, which start before Almanac's and share
// their memory for workflows.
func TestDevKeepsAsManyWorkflowsInMemoryAsItIsTold(t *testing.T) {
	t.Parallel()
	const most, jobs = 5, 40
	var stacks bytes.Buffer
	receiver := newSink(t, nil)
	p := devTo(t, &stacks, t.TempDir(), "--max-cached-workflows", fmt.Sprint(most))
	for i := range jobs {
		created(t, fmt.Sprintf("%s/jobCollections/default/jobs/j%d", p.url, i), get(receiver.URL, `,"recurrence":{"frequency":"week"}`))
	}
	eventually(t, "end of the first executions", func() bool {
		r := call(t, http.MethodGet, fmt.Sprintf("%s/jobCollections/default/jobs/j%d", p.url, jobs-1), "")
		return r.get("properties.status.executionCount") == float64(1)
	})
	require.NoError(t, p.Process.Signal(syscall.SIGQUIT)) // a program in Go prints its goroutines and ends
	_ = p.Wait()
	waiting := strings.Count(stacks.String(), "jobloop.(*loop).sleep(")
	require.Positive(t, waiting)
	require.LessOrEqual(t, waiting, 2*most, "those that make room may not have ended yet")
}
