package workload

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/lab/client"
	"almanac/lab/record"
)

var job = record.Job{Collection: "c", Name: "j", Incarnation: 2}

// serve returns a client of an API that answers each request, by method and path, with a body.
func serve(t *testing.T, answers map[string]string) *client.Client {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, ok := answers[r.Method+" "+r.URL.RequestURI()]; ok {
			_, _ = w.Write([]byte(body))
			return
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(s.Close)
	return client.New("", s.URL)
}

func TestAJobIsReadWithAllPagesOfItsHistory(t *testing.T) {
	t.Parallel()
	c := serve(t, map[string]string{
		"GET /jobCollections/c/jobs/j": `{"name": "c/j", "properties": {"state": "enabled",
			"action": {"request": {"uri": "http://receiver/c/j/2/3/main?do=ok"}}, "status": {"executionCount": 2}}}`,
		"GET /jobCollections/c/jobs/j/history": `{"value": [{"properties": {"status": "Completed", "repeatCount": 2}}], "nextLink": "http://api/next?page=2"}`,
		"GET /next?page=2":                     `{"value": [{"properties": {"status": "Failed", "repeatCount": 1, "actionName": "ErrorAction"}}]}`,
	})
	read := readJob(t.Context(), c, job)
	read.Issued = time.Time{}
	require.Equal(t, record.Read{
		Job: job, Status: 200, State: "enabled", Version: 3, HasStatus: true, ExecutionCount: 2, ListedCount: -1,
		Entries: []record.Entry{
			{Status: "Completed", Repeat: 2, Action: record.MainAction},
			{Status: "Failed", Repeat: 1, Action: record.ErrorAction},
		},
	}, read)
}

func TestAJobThatDoesNotExistIsReadAsSuch(t *testing.T) {
	t.Parallel()
	read := readJob(t.Context(), serve(t, nil), job)
	require.Equal(t, http.StatusNotFound, read.Status)
}

func TestAtTheEndAJobIsReadByItselfAndInItsList(t *testing.T) {
	t.Parallel()
	c := serve(t, map[string]string{
		"GET /jobCollections/c/jobs":           `{"value": [{"name": "c/j", "properties": {"state": "completed", "status": {"executionCount": 7}}}]}`,
		"GET /jobCollections/c/jobs/j":         `{"name": "c/j", "properties": {"state": "enabled"}}`,
		"GET /jobCollections/c/jobs/j/history": `{"value": []}`,
	})
	reads, err := ReadAll(t.Context(), c, []string{"c"}, []record.Job{job})
	require.NoError(t, err)
	require.Len(t, reads, 1)
	require.True(t, reads[0].Final)
	require.Equal(t, "enabled", reads[0].State)
	require.Equal(t, "completed", reads[0].ListedState)
	require.Equal(t, 7, reads[0].ListedCount)
}

func TestAChangeThatIsAcceptedIsAnsweredWhenItsOperationEnds(t *testing.T) {
	t.Parallel()
	var polls atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost && r.URL.Path == "/jobCollections/c/disable":
			w.Header().Set("Location", "http://"+r.Host+"/operations/1")
			w.WriteHeader(http.StatusAccepted)
		case r.URL.Path == "/operations/1" && polls.Add(1) == 1:
			w.WriteHeader(http.StatusAccepted)
		case r.URL.Path != "/operations/1":
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer s.Close()
	try := makeChange(t.Context(), client.New("", s.URL), 0, http.MethodPost, "/jobCollections/c/disable", nil)
	require.Equal(t, http.StatusOK, try.Status)
	require.EqualValues(t, 2, polls.Load())
}

func TestAChangeWithoutAnAnswerHasStatusZero(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	try := makeChange(t.Context(), client.New("", s.URL), 0, http.MethodDelete, jobPath(job), nil)
	require.Zero(t, try.Status)
	require.NotEmpty(t, try.Error)
	require.True(t, try.Unanswered())
}
