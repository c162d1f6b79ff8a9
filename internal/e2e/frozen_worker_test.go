package e2e_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"almanac/activities"
	"almanac/job"
	"almanac/job/input"
	"almanac/workflows"
	"almanac/workflows/jobloop/state"
	"almanac/workflows/plan"
)

// A worker that is stopped closes no connection, so the server still has the polls that it left open.
func TestWhatAFrozenWorkerHoldsIsSentByAnother(t *testing.T) {
	t.Parallel()
	const n = 12
	target := newSink(t, nil)
	server := newServer(t, t.TempDir(), slog.New(slog.DiscardHandler))
	raw, err := client.DialContext(t.Context(), client.Options{HostPort: server.Address(), Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	require.NoError(t, err)
	t.Cleanup(raw.Close)
	s := &stack{temporal: raw}
	workers := []*half{startHalf(t, server.Address(), "", "worker"), startHalf(t, server.Address(), "", "worker")}
	jobs := 0
	held := map[string]int{} // by worker
	due := s.held(t, 20*time.Second, 8*time.Second, func(round int, due time.Time) (ids []string) {
		jobs, held = round, map[string]int{}
		for i := range n {
			k := job.CollectionKey{Name: "frozen"}.Job(fmt.Sprintf("j%d-%d", round, i))
			ids = append(ids, s.ahead(t, k, get(fmt.Sprintf("%s/%d", target.URL, round), ""), due))
		}
		return ids
	})
	for i := range n {
		id := job.CollectionKey{Name: "frozen"}.Job(fmt.Sprintf("j%d-%d", jobs, i)).WorkflowID()
		found, err := raw.DescribeWorkflowExecution(t.Context(), id, "")
		require.NoError(t, err)
		for _, a := range found.GetPendingActivities() { // none if it is due already
			pid, _, _ := strings.Cut(a.GetLastWorkerIdentity(), "@")
			held[pid]++
		}
	}
	victim := workers[0]
	if other := workers[1]; held[fmt.Sprint(other.Process.Pid)] > held[fmt.Sprint(victim.Process.Pid)] {
		victim = other
	}
	require.NoError(t, victim.Process.Signal(syscall.SIGSTOP))
	require.Positive(t, held[fmt.Sprint(victim.Process.Pid)], "%v", held)
	got := target.await(t, fmt.Sprintf("/%d", jobs), n) // the worker stays stopped until the test ends
	require.Len(t, got, n)
	again := 0 // on a slow machine polls stay open for longer, so that the frozen worker may get some again
	for i := range n {
		id := job.CollectionKey{Name: "frozen"}.Job(fmt.Sprintf("j%d-%d", jobs, i)).WorkflowID()
		eventually(t, "record of the attempt of "+id, func() bool { return startedAttempt(t, raw, id) > 0 })
		if startedAttempt(t, raw, id) > 2 {
			again++
		}
	}
	latest := due
	for _, r := range got {
		if r.at.After(latest) {
			latest = r.at
		}
	}
	t.Logf("%v jobs were held, of %d; the latest was sent %s late; the frozen worker got %d again", held, victim.Process.Pid, latest.Sub(due), again)
}

// startedAttempt returns the number of the attempt that ended the first activity of a workflow; 0 if none has.
func startedAttempt(t *testing.T, c client.Client, id string) int32 {
	t.Helper()
	events := c.GetWorkflowHistory(t.Context(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(t, err)
		if started := event.GetActivityTaskStartedEventAttributes(); started != nil {
			return started.GetAttempt()
		}
	}
	return 0
}

// A worker that a slow machine stops for longer than the short timeout loses its attempt. So one of three jobs is
// enough.
func TestARequestThatIsNotAnsweredSoonLengthensItsHeartbeatTimeout(t *testing.T) {
	t.Parallel()
	s := newStack(t, setup{data: t.TempDir()})
	for round := range 3 {
		if s.lengthensItsHeartbeatTimeout(t, fmt.Sprint("j", round)) == 1 {
			return
		}
	}
	t.Fatal("each request was sent more than once")
}

// lengthensItsHeartbeatTimeout has a job send a request that is answered once the timeout is long, and returns how
// often it was sent.
func (s *stack) lengthensItsHeartbeatTimeout(t *testing.T, name string) (sent int) {
	t.Helper()
	answer := make(chan struct{})
	target := newSink(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-answer:
		case <-r.Context().Done():
		}
	})
	created := time.Now().UTC().Truncate(time.Second)
	d, err := input.ParseDefinition([]byte(get(target.URL+"/slow", "")), input.ParseOptions{Now: created})
	require.NoError(t, err)
	k := job.CollectionKey{Name: "slow"}.Job(name)
	in, err := state.New(k, d, int(created.UnixMicro()), workflows.CollectionState{}, created)
	require.NoError(t, err)
	in.Loss, in.Plan = int(activities.MinHeldLoss.Milliseconds()), plan.Plan{Due: []time.Time{created}, Done: true}
	_, err = s.temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: k.WorkflowID(), TaskQueue: workflows.TaskQueue}, workflows.TypeJob, in)
	require.NoError(t, err)
	timeout := func() time.Duration {
		found, err := s.temporal.DescribeWorkflowExecution(t.Context(), k.WorkflowID(), "")
		if err != nil || len(found.GetPendingActivities()) != 1 {
			return 0
		}
		return found.GetPendingActivities()[0].GetActivityOptions().GetHeartbeatTimeout().AsDuration()
	}
	eventually(t, "long heartbeat timeout", func() bool { return timeout() == activities.SentLoss })
	close(answer)
	eventually(t, "end of the execution", func() bool { return timeout() == 0 })
	return len(target.got("/slow"))
}
