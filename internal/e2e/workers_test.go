package e2e_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"almanac/job/presence"
	"almanac/recurrence"
	"almanac/scheduler"
	almanacworker "almanac/worker"
	"almanac/workflows"
)

// workersOf returns who was there, in the order in which they came.
func workersOf(t *testing.T, temporal client.Client) *presence.Log {
	t.Helper()
	log, err := scheduler.New(scheduler.Options{Client: temporal}).Workers(t.Context())
	require.NoError(t, err)
	return &log
}

// another starts a worker of the stack's server. Stop ends it.
func (s *stack) another(t *testing.T) (stop func()) {
	t.Helper()
	c, err := almanacworker.Dial(t.Context(), client.Options{HostPort: s.address}, 0)
	require.NoError(t, err)
	w := almanacworker.New(almanacworker.Options{Client: c, Version: "another"})
	require.NoError(t, w.Start())
	return func() {
		w.Stop()
		c.Close()
	}
}

// A worker comes, is handed over to another run, and goes, beside another one that stays.
func TestHistoriesReplayOfAnInstallation(t *testing.T) {
	t.Parallel()
	s := newStack(t, setup{data: t.TempDir()})
	here := func(versions ...string) func() bool {
		return func() bool {
			var found []string
			for _, w := range workersOf(t, s.temporal).Here {
				found = append(found, w.Version)
			}
			return len(found) == len(versions) && found[0] == versions[0] && found[len(found)-1] == versions[len(versions)-1]
		}
	}
	began := time.Now()
	eventually(t, "worker that has checked in", here("e2e"))
	require.Empty(t, workersOf(t, s.temporal).Spans)
	stop := s.another(t)
	eventually(t, "worker that came", here("e2e", "another"))

	first := func() string {
		found, err := s.temporal.DescribeWorkflowExecution(t.Context(), workflows.InstallationID, "")
		require.NoError(t, err)
		return found.GetWorkflowExecutionInfo().GetExecution().GetRunId()
	}
	run := first()
	for range 1000 {
		require.NoError(t, s.temporal.SignalWorkflow(t.Context(), workflows.InstallationID, "", workflows.SignalWorker, presence.Worker{}))
	}
	eventually(t, "another run", func() bool { return first() != run })
	eventually(t, "workers that were handed over", here("e2e", "another"))
	stop()
	eventually(t, "worker that has gone", here("e2e"))

	log := workersOf(t, s.temporal)
	require.Len(t, log.Spans, 2, "that of the worker that stays ended with the first run, and goes on")
	gone, stays := log.Spans[1], log.Here[0]
	require.Equal(t, "another", gone.Version)
	require.Equal(t, presence.Stopped, gone.End)
	require.Equal(t, recurrence.CurrentZones().Release(), gone.Zones)
	require.Contains(t, gone.Identity, "@")
	require.Equal(t, log.Spans[0].ID, stays.ID)
	require.Empty(t, gone.Gaps)
	require.WithinRange(t, gone.From, began.Add(-time.Second), time.Now())
	require.Empty(t, log.Absences(began.Add(5*time.Second), time.Now(), time.Now()), "one was always there")
	require.NoError(t, s.temporal.CancelWorkflow(t.Context(), workflows.InstallationID, ""))
	replay(t, "installation", s.histories(t, workflows.InstallationID))
}
