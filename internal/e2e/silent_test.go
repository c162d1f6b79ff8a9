package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"almanac/activities"
	"almanac/activities/lookups"
	"almanac/workflows"
)

// silence puts a workflow that no worker takes up in a job's place.
func (s *stack) silence(t *testing.T, id string) {
	t.Helper()
	require.NoError(t, s.temporal.TerminateWorkflow(t.Context(), id, "", "to make room for a silent one"))
	_, err := s.temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: "nobody's"}, workflows.TypeJob)
	require.NoError(t, err)
}

// requireTerminated requires that a workflow was terminated, and returns the reason.
func (s *stack) requireTerminated(t *testing.T, id string) string {
	t.Helper()
	found, err := s.temporal.DescribeWorkflowExecution(t.Context(), id, "")
	require.NoError(t, err)
	require.Equal(t, enums.WORKFLOW_EXECUTION_STATUS_TERMINATED, found.GetWorkflowExecutionInfo().GetStatus())
	events := s.temporal.GetWorkflowHistory(t.Context(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT)
	last, err := events.Next()
	require.NoError(t, err)
	return last.GetWorkflowExecutionTerminatedEventAttributes().GetReason()
}

func TestAJobThatDoesNotAnswerDoesNotTakeItsCollectionDown(t *testing.T) {
	t.Parallel()
	s := use(t)
	url := s.collection(t)
	const jobs = 210 // more than are told at once
	var group errgroup.Group
	group.SetLimit(16)
	require.NoError(t, expect(t, http.StatusCreated, http.MethodPut, url+"/jobs/silent", get("http://127.0.0.1:1/", later)))
	compute(func() {
		for i := range jobs {
			group.Go(func() error {
				return expect(t, http.StatusCreated, http.MethodPut, fmt.Sprintf("%s/jobs/j%d", url, i), get("http://127.0.0.1:1/", later))
			})
		}
		require.NoError(t, group.Wait())
	})
	silent := key(url+"/jobs", "silent").WorkflowID()
	s.silence(t, silent)

	r := call(t, http.MethodGet, url+"/jobs", "")
	require.Equal(t, http.StatusOK, r.code, r.body)
	require.Equal(t, 100, r.count("value"))
	require.True(t, strings.HasSuffix(r.get("value.0.id").(string), "/jobs/silent"), "it was created first")
	require.True(t, strings.HasSuffix(r.get("value.0.name").(string), "/silent"))
	require.Equal(t, "It could not be read: it did not answer in time.", r.get("value.0.properties.status.reason"))
	require.Nil(t, r.get("value.0.properties.state"))
	for i := 1; i < 100; i++ {
		require.Equal(t, "enabled", r.get(fmt.Sprintf("value.%d.properties.state", i)))
	}
	r = call(t, http.MethodGet, url+"/jobs?$filter=state%20eq%20enabled&$top=5", "")
	require.Equal(t, 5, r.count("value"), r.body)
	require.NotContains(t, r.body, "/silent", "nobody knows its state")
	require.Equal(t, http.StatusServiceUnavailable, call(t, http.MethodGet, url+"/jobs/silent", "").code)

	r = call(t, http.MethodPost, url+"/disable", "")
	require.Equal(t, http.StatusAccepted, r.code, r.body)
	for _, name := range []string{"j0", fmt.Sprint("j", jobs-1)} {
		eventually(t, "word to "+name, func() bool {
			return call(t, http.MethodGet, url+"/jobs/"+name, "").get("properties.status.nextExecutionTime") == nil
		})
	}
	operation := r.head.Get("Azure-AsyncOperation")
	eventually(t, "end of the operation", func() bool {
		r := call(t, http.MethodGet, operation, "")
		require.NotEqual(t, "Succeeded", r.get("status"))
		return r.get("status") == "Failed"
	})
	result := call(t, http.MethodGet, r.head.Get("Location"), "")
	require.Equal(t, http.StatusConflict, result.code, result.body)
	require.Equal(t, "JobsDidNotAnswer", result.get("error.code"))
	// 1, unless the machine is slow
	require.Contains(t, result.get("error.message"), "of its 211 jobs did not answer and may not know: 'silent' (no answer within 12s)")
	require.Equal(t, "Disabled", call(t, http.MethodGet, url, "").get("properties.state"))
	require.Equal(t, http.StatusOK, call(t, http.MethodPatch, url, `{"tags":{"a":"b"}}`).code, "which does not concern the job")

	finish(t, call(t, http.MethodDelete, url, ""))
	require.Equal(t, http.StatusNotFound, call(t, http.MethodGet, url, "").code)
	require.Equal(t, "its job collection was deleted, and it did not answer", s.requireTerminated(t, silent))
	created(t, url, `{"properties":{"sku":{"name":"Standard"}}}`)
	require.Equal(t, 0, call(t, http.MethodGet, url+"/jobs", "").count("value"))
}

func TestAJobThatDoesNotAnswerIsDeleted(t *testing.T) {
	t.Parallel()
	s := use(t)
	jobs := s.collection(t) + "/jobs"
	created(t, jobs+"/j", get("http://127.0.0.1:1/", later))
	id := key(jobs, "j").WorkflowID()
	s.silence(t, id)
	eventually(t, "the deletion", func() bool {
		// a collection that is not answered for in time, on a slow machine, makes it 503
		code := call(t, http.MethodDelete, jobs+"/j", "").code
		return code == http.StatusOK || code == http.StatusNotFound
	})
	require.Equal(t, "it was deleted, and did not answer", s.requireTerminated(t, id))
	require.Equal(t, http.StatusNotFound, call(t, http.MethodGet, jobs+"/j", "").code)
	require.Equal(t, 0, call(t, http.MethodGet, jobs, "").count("value"))
	created(t, jobs+"/j", get("http://127.0.0.1:1/", later))
}

func TestAJobWhoseTaskFailsIsShownAndDeleted(t *testing.T) {
	t.Parallel()
	s := use(t)
	jobs := s.collection(t) + "/jobs"
	created(t, jobs+"/j", get("http://127.0.0.1:1/", later))
	id := key(jobs, "j").WorkflowID()
	require.NoError(t, s.temporal.TerminateWorkflow(t.Context(), id, "", "to make room for one that fails"))
	_, err := s.temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: workflows.TaskQueue}, "NoWorkerKnowsThisType")
	require.NoError(t, err)
	r := call(t, http.MethodGet, jobs+"/j", "")
	require.Equal(t, http.StatusServiceUnavailable, r.code, r.body)
	require.Contains(t, r.get("error.message"), "'j' could not be read")
	require.Contains(t, call(t, http.MethodGet, jobs, "").get("value.0.properties.status.reason"), "could not be read")
	eventually(t, "the deletion", func() bool {
		// a collection that is not answered for in time, on a slow machine, makes it 503
		code := call(t, http.MethodDelete, jobs+"/j", "").code
		return code == http.StatusOK || code == http.StatusNotFound
	})
	require.Equal(t, "it was deleted, and did not answer", s.requireTerminated(t, id))
}

// Jobs are terminated at different times before they are due, when a worker holds them.
func TestNothingIsSentOnceAJobIsTerminated(t *testing.T) {
	t.Parallel()
	s, target := use(t), newSink(t, nil)
	jobs := s.collection(t) + "/jobs"
	due := time.Now().Add(8 * time.Second).Truncate(time.Second)
	const n = 8
	var ended [n]time.Time
	var group errgroup.Group
	for i := range n {
		name := fmt.Sprint("j", i)
		created(t, jobs+"/"+name, get(target.URL+"/"+name, `,"startTime":"`+due.UTC().Format(time.RFC3339)+`"`))
		group.Go(func() error {
			<-time.After(time.Until(due.Add(time.Duration(i-n+2) * 300 * time.Millisecond)))
			err := lookups.Terminate(t.Context(), s.temporal, nil, key(jobs, name).WorkflowID(), "it is time", 0)
			ended[i] = time.Now()
			return err
		})
	}
	require.NoError(t, group.Wait())
	created(t, jobs+"/last", get(target.URL+"/last", "")) // what the others may send comes before
	target.await(t, "/last", 1)
	for i := range n {
		for _, r := range target.got(fmt.Sprint("/j", i)) {
			require.False(t, r.at.After(ended[i]), "j%d arrived %s after it was certain that it would not", i, r.at.Sub(ended[i]))
		}
	}
}

func TestATerminatedJobCountsForNoQuota(t *testing.T) {
	t.Parallel()
	s := use(t)
	url := s.collection(t)
	require.Equal(t, http.StatusOK, call(t, http.MethodPatch, url, `{"properties":{"quota":{"maxJobCount":1}}}`).code)
	created(t, url+"/jobs/a", get("http://127.0.0.1:1/", later))
	require.NoError(t, s.temporal.TerminateWorkflow(t.Context(), key(url+"/jobs", "a").WorkflowID(), "", "by hand"))
	eventually(t, "room for another job, once it is certain that a start does not come any more", func() bool {
		return call(t, http.MethodPut, url+"/jobs/b", get("http://127.0.0.1:1/", later)).code == http.StatusCreated
	})
	require.Equal(t, http.StatusConflict, call(t, http.MethodPut, url+"/jobs/c", get("http://127.0.0.1:1/", later)).code)
}

// That is what the wait for leases after a termination relies on.
func TestATerminatedJobStillShowsWhatItWasSending(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	s, target := use(t), newSink(t, func(http.ResponseWriter, *http.Request) { <-done })
	t.Cleanup(func() { close(done) })
	jobs := s.collection(t) + "/jobs"
	created(t, jobs+"/j", get(target.URL+"/", ""))
	target.await(t, "/", 1)
	id := key(jobs, "j").WorkflowID()
	require.NoError(t, s.temporal.TerminateWorkflow(t.Context(), id, "", "by hand"))
	found, err := s.temporal.DescribeWorkflowExecution(t.Context(), id, "")
	require.NoError(t, err)
	require.Len(t, found.GetPendingActivities(), 1)
	require.Equal(t, activities.TypeAction, found.GetPendingActivities()[0].GetActivityType().GetName())
	require.NotNil(t, found.GetPendingActivities()[0].GetHeartbeatDetails())
	require.NotNil(t, found.GetWorkflowExecutionInfo().GetCloseTime())
}
