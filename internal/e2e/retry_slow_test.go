package e2e_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"almanac/activities"
	"almanac/job"
	"almanac/job/input"
	"almanac/workflows"
	"almanac/workflows/jobloop/state"
	"almanac/workflows/plan"
)

// The server tells a retry the heartbeat timeout with which its activity was scheduled, which is not the one that
// counts.
func TestASlowRetryOfAHeldRequestDoesNotCountAsLost(t *testing.T) {
	t.Parallel()
	s := newStack(t, setup{data: t.TempDir()})
	// On a busy machine the heartbeat of one may be late. A retry without one always counts as lost.
	for round := range 3 {
		if attempt := slowRetry(t, s, fmt.Sprint("j", round)); attempt == 2 {
			return
		}
	}
	t.Fatal("the server counted each retry as lost")
}

// slowRetry returns the number of the attempt with which an execution ends whose second request takes long.
func slowRetry(t *testing.T, s *stack, name string) int32 {
	t.Helper()
	var requests atomic.Int32
	target := newSink(t, func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		select {
		case <-time.After(2 * activities.UnsentLoss): // longer than a retry without a heartbeat is kept
		case <-r.Context().Done():
		}
	})
	created := time.Now().UTC().Truncate(time.Second)
	due := created.Add(15 * time.Second)
	body := `{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":"` + target.URL + `/retried"},"retryPolicy":{"retryType":"fixed","retryInterval":"PT1S","retryCount":3}}}}`
	limits := input.DefaultLimits()
	limits.MinRetryInterval = time.Second
	d, err := input.ParseDefinition([]byte(body), input.ParseOptions{Now: created, Limits: &limits})
	require.NoError(t, err)
	k := job.CollectionKey{Name: "retried"}.Job(name)
	in, err := state.New(k, d, int(created.UnixMicro()), workflows.CollectionState{}, created)
	require.NoError(t, err)
	in.Loss, in.Hold, in.Plan = int(activities.MinHeldLoss.Milliseconds()), int(time.Minute.Milliseconds()), plan.Plan{Due: []time.Time{due}, Done: true}
	_, err = s.temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: k.WorkflowID(), TaskQueue: workflows.TaskQueue}, workflows.TypeJob, in)
	require.NoError(t, err)
	eventually(t, "end of the execution", func() bool { return startedAttempt(t, s.temporal, k.WorkflowID()) > 0 })
	require.Len(t, target.got("/retried"), 2)
	return startedAttempt(t, s.temporal, k.WorkflowID())
}
