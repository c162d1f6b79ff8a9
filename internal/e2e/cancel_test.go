package e2e_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"golang.org/x/sync/errgroup"

	"almanac/workflows"
)

// isAsleep reports whether a job's workflow has set a timer.
func (s *stack) isAsleep(t *testing.T, id string) bool {
	t.Helper()
	events := s.temporal.GetWorkflowHistory(t.Context(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		require.NoError(t, err)
		if e.GetEventType() == enums.EVENT_TYPE_TIMER_STARTED {
			return true
		}
	}
	return false
}

// Whoever cancels the workflow of a job, in Temporal's Web UI or by its CLI, deletes the job.
func TestToCancelTheWorkflowOfAJobDeletesIt(t *testing.T) {
	t.Parallel()
	s, target := use(t), newSink(t, nil)
	var cases group
	for _, tt := range []struct {
		name  string
		due   time.Duration // from its creation
		ready func(t *testing.T, id string) bool
	}{
		{"asleep", time.Minute, s.isAsleep},
		{"held", 15 * time.Second, s.isHeld},
		{"delayed", 24 * time.Hour, func(t *testing.T, id string) bool {
			t.Helper()
			return !s.isAsleep(t, id)
		}},
	} {
		cases.run(t, tt.name, func(t *testing.T) {
			collection := s.collection(t)
			url := collection + "/jobs/j"
			due := time.Now().UTC().Truncate(time.Second).Add(tt.due)
			created(t, url, get(target.URL+"/"+tt.name, `,"startTime":"`+due.Format(time.RFC3339)+`","recurrence":{"frequency":"hour"}`))
			created(t, collection+"/jobs/other", get(target.URL+"/other", later+`,"recurrence":{"frequency":"day"}`))
			id := key(collection+"/jobs", "j").WorkflowID()
			eventually(t, tt.name, func() bool { return tt.ready(t, id) })

			require.NoError(t, s.temporal.CancelWorkflow(t.Context(), id, ""))
			eventually(t, "deletion", func() bool {
				return call(t, http.MethodGet, url, "").code == http.StatusNotFound
			})
			list := call(t, http.MethodGet, collection+"/jobs", "")
			require.Equal(t, 1, list.count("value"), list.body)
			created(t, url, get(target.URL+"/again", later))
		})
	}
	cases.Wait()
}

// While a job ends, a query may be answered together with its last workflow tasks. Whoever reads it then finds it, or
// does not, and never finds it again.
func TestAJobThatIsBeingDeletedIsThereOrNot(t *testing.T) {
	t.Parallel()
	const readers, jobs = 4, 10
	s, target := use(t), newSink(t, nil)
	c := s.collection(t)
	read := func(name string) error {
		url := c + "/jobs/" + name
		if err := expect(t, http.StatusCreated, http.MethodPut, url, get(target.URL, `,"recurrence":{"frequency":"week"}`)); err != nil {
			return err
		}
		id := key(c+"/jobs", name).WorkflowID()
		if err := s.temporal.SignalWorkflow(t.Context(), id, "", workflows.UpdateDelete, nil); err != nil {
			return err
		}
		for closed, gone := false, false; !closed; {
			found, err := s.temporal.DescribeWorkflowExecution(t.Context(), id, "")
			if err != nil {
				return err
			}
			closed = found.GetWorkflowExecutionInfo().GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING
			r, err := tryCall(t.Context(), http.MethodGet, url, "")
			switch {
			case err != nil:
				return err
			case r.code != http.StatusNotFound && (r.code != http.StatusOK || gone || closed):
				return fmt.Errorf("%s: %d %s, gone before: %t", name, r.code, r.body, gone)
			}
			gone = gone || r.code == http.StatusNotFound
		}
		return nil
	}
	var all errgroup.Group
	for i := range readers {
		all.Go(func() error {
			for k := range jobs {
				if err := read(fmt.Sprintf("j%d-%d", i, k)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, all.Wait())
}
