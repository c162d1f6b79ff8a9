package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"

	"almanac/api"
	"almanac/job"
	"almanac/job/input"
	"almanac/scheduler"
	"almanac/workflows"
	"almanac/workflows/jobloop/state"
)

// begun returns whether the workflow of a job has begun, and after what delay it does
// by itself.
func (s *stack) begun(t *testing.T, k job.Key) (begun bool, delay time.Duration) {
	t.Helper()
	events := s.temporal.GetWorkflowHistory(t.Context(), k.WorkflowID(), "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	var first *history.WorkflowExecutionStartedEventAttributes
	for events.HasNext() {
		e, err := events.Next()
		require.NoError(t, err)
		if first == nil {
			first = e.GetWorkflowExecutionStartedEventAttributes()
		}
		begun = begun || e.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED
	}
	return begun, first.GetFirstWorkflowTaskBackoff().AsDuration()
}

func TestAJobThatIsNotDueSoonIsReadAndListedWithoutAWorkflowTask(t *testing.T) {
	t.Parallel()
	s, target := use(t), newSink(t, nil)
	collection := s.collection(t)
	url := collection + "/jobs/j"
	put := call(t, http.MethodPut, url, get(target.URL+"/", later+`,"recurrence":{"frequency":"day","count":3}`))
	require.Equal(t, http.StatusCreated, put.code, put.body)
	read := call(t, http.MethodGet, url, "")
	require.Equal(t, http.StatusOK, read.code, read.body)
	require.JSONEq(t, put.body, read.body)
	for range 2 { // the second list is answered from memory
		list := call(t, http.MethodGet, collection+"/jobs", "")
		require.Equal(t, 1, list.count("value"), list.body)
		require.Equal(t, put.get("properties"), list.get("value.0.properties"))
	}
	require.Zero(t, call(t, http.MethodGet, url+"/history", "").count("value"))
	begun, delay := s.begun(t, key(collection+"/jobs", "j"))
	require.False(t, begun)
	require.Greater(t, delay, 300*24*time.Hour)
}

func TestAChangeHasAJobBegin(t *testing.T) {
	t.Parallel()
	s, target := use(t), newSink(t, nil)
	for _, tt := range []struct {
		name   string
		change func(t *testing.T, collection, url string)
		path   string // of what the job shows then
		want   any
	}{
		{"PUT", func(t *testing.T, _, url string) {
			t.Helper()
			ok(t, http.MethodPut, url, get(target.URL+"/put", later+`,"recurrence":{"frequency":"week"}`))
		}, "properties.recurrence.frequency", "week"},
		{"PATCH", func(t *testing.T, _, url string) {
			t.Helper()
			ok(t, http.MethodPatch, url, `{"properties":{"recurrence":{"frequency":"month"}}}`)
		}, "properties.recurrence.frequency", "month"},
		{"disabled", func(t *testing.T, _, url string) {
			t.Helper()
			ok(t, http.MethodPatch, url, `{"properties":{"state":"disabled"}}`)
		}, "properties.state", "disabled"},
		{"run", func(t *testing.T, _, url string) {
			t.Helper()
			ok(t, http.MethodPost, url+"/run", "")
			target.await(t, "/run", 1)
			status(t, url, "properties.status.executionCount", float64(1))
		}, "properties.status.executionCount", float64(1)},
		{"deleted", func(t *testing.T, _, url string) {
			t.Helper()
			ok(t, http.MethodDelete, url, "")
		}, "error.code", "ResourceNotFound"},
		{"with its collection disabled", func(t *testing.T, collection, _ string) {
			t.Helper()
			finish(t, call(t, http.MethodPost, collection+"/disable", ""))
		}, "properties.status.nextExecutionTime", nil},
		{"deleted with its collection", func(t *testing.T, collection, _ string) {
			t.Helper()
			finish(t, call(t, http.MethodDelete, collection, ""))
		}, "error.code", "ResourceNotFound"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			collection := s.collection(t)
			url := collection + "/jobs/j"
			created(t, url, get(target.URL+"/run", later+`,"recurrence":{"frequency":"day"}`))
			begun, _ := s.begun(t, key(collection+"/jobs", "j"))
			require.False(t, begun)
			tt.change(t, collection, url)
			after := call(t, http.MethodGet, url, "")
			require.Equal(t, tt.want, after.get(tt.path), after.body)
			begun, _ = s.begun(t, key(collection+"/jobs", "j"))
			require.True(t, begun)
		})
	}
}

// The server keeps a question until a workflow begins if whoever asks would wait for so long.
func TestAJobThatIsAboutToBeginIsReadAtOnce(t *testing.T) {
	t.Parallel()
	s, target := use(t), newSink(t, nil)
	jobs := s.collection(t) + "/jobs"
	definition := func(due time.Time) string {
		return get(target.URL+"/", fmt.Sprintf(`,"startTime":%q`, due.Format(time.RFC3339)))
	}
	inTime := func(name string) bool {
		k, now := key(jobs, name), time.Now().UTC().Truncate(time.Second)
		d, err := input.ParseDefinition([]byte(definition(now.Add(time.Hour))), input.ParseOptions{Now: now})
		require.NoError(t, err)
		in, err := state.New(k, d, int(now.UnixMicro()), workflows.CollectionState{}, now)
		require.NoError(t, err)
		begin := now.Add(15 * time.Second)
		created(t, jobs+"/"+name, definition(begin.Add(now.Add(time.Hour).Sub(in.Begin())).Truncate(time.Second)))
		if _, delay := s.begun(t, k); delay <= 0 {
			return false
		}
		sleepUntil(t, begin.Add(-6*time.Second))
		read := call(t, http.MethodGet, jobs+"/"+name, "")
		require.Equal(t, http.StatusOK, read.code, read.body)
		begun, _ := s.begun(t, k)
		return !begun
	}
	for round := range 3 {
		// a slow machine may answer after the job has begun; an API that waits for that does so in all rounds
		if inTime(fmt.Sprint("j", round)) {
			return
		}
	}
	t.Fatal("no job was read before it began")
}

// With this lead a job begins 15 s before it is due, and not minutes.
func TestJobsThatWereNotDueSoonRunWhenTheyAre(t *testing.T) {
	t.Parallel()
	s, target := use(t), newSink(t, nil)
	service := scheduler.New(scheduler.Options{Client: s.temporal, Lead: 15 * time.Second})
	front := httptest.NewServer(api.New(service, api.Options{}))
	t.Cleanup(front.Close)
	jobs := strings.Replace(s.collection(t), s.url, front.URL, 1) + "/jobs"
	due := time.Now().Add(30 * time.Second).UTC().Truncate(time.Second)
	const n = 60
	waiting := 0
	for i := range n {
		name := fmt.Sprint("j", i)
		created(t, jobs+"/"+name, get(target.URL+"/", fmt.Sprintf(`,"startTime":%q`, due.Format(time.RFC3339))))
		begun, delay := s.begun(t, key(jobs, name))
		if delay <= 0 {
			continue
		}
		waiting++
		if time.Now().Before(due.Add(-15 * time.Second)) {
			require.False(t, begun)
		}
	}
	require.Positive(t, waiting, "none has a delay")
	for _, got := range target.await(t, "/", n) {
		require.False(t, got.at.Before(due))
	}
	for i := range n {
		status(t, fmt.Sprint(jobs, "/j", i), "properties.state", "completed")
	}
}
