package e2e_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tryBody returns a job whose request has a user, and a password unless that is "".
func tryBody(uri, password string) string {
	if password != "" {
		password = `,"password":"` + password + `"`
	}
	return `{"properties":{"action":{"type":"Http","request":{"method":"POST","uri":"` + uri + `","body":"{{.Job.Name}} {{.Attempt}}","template":true,` +
		`"authentication":{"type":"Basic","username":"u"` + password + `}},"retryPolicy":{"retryType":"fixed","retryCount":3},` +
		`"errorAction":{"type":"Http","request":{"method":"GET","uri":"` + uri + `/error"}}}` + later + `}}`
}

func TestAnActionIsTriedOnceWithTheSecretsThatAPutWouldKeepAndNothingIsSaved(t *testing.T) {
	t.Parallel()
	s := use(t)
	target := newSink(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Answer", "yes")
		if strings.Contains(r.URL.Path, "fails") {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = io.WriteString(w, "the answer")
	})
	other := newSink(t, nil)
	collection := s.collection(t)
	url := collection + "/jobs/j"

	missing := call(t, http.MethodPost, url+"/try", tryBody(target.URL+"/new", ""))
	require.Equal(t, http.StatusBadRequest, missing.code, missing.body)
	require.Equal(t, "properties.action.request.authentication.password", missing.get("error.details.0.target"))
	tried := call(t, http.MethodPost, url+"/try", tryBody(target.URL+"/new", canary("new")))
	require.Equal(t, http.StatusOK, tried.code, tried.body)
	require.Equal(t, "Completed", tried.get("status"), tried.body)
	require.Contains(t, tried.get("message"), "the answer", "as in the history")
	require.Contains(t, tried.get("message"), "X-Answer")
	got := target.await(t, "/new", 1)[0]
	require.Equal(t, "j 1", got.body, "with placeholders")
	require.Equal(t, tried.get("executionId"), got.header.Get("Idempotency-Key"))
	require.Equal(t, http.StatusNotFound, call(t, http.MethodGet, url, "").code, "nothing is saved")

	// Of a job that is stored, whose workflow has not begun.
	require.Equal(t, http.StatusCreated, call(t, http.MethodPut, url, tryBody(target.URL+"/saved", canary("kept"))).code)
	before := call(t, http.MethodGet, url, "").body
	tried = call(t, http.MethodPost, url+"/try", tryBody(target.URL+"/fails", ""))
	require.Equal(t, http.StatusOK, tried.code, tried.body)
	require.Equal(t, "Failed", tried.get("status"), tried.body)
	require.Contains(t, tried.get("reason"), "500 Internal Server Error: the answer")
	_, password, _ := (&http.Request{Header: target.await(t, "/fails", 1)[0].header}).BasicAuth()
	require.Equal(t, canary("kept"), password)
	require.Empty(t, target.got("/fails/error"), "there is no error action")
	require.Equal(t, before, call(t, http.MethodGet, url, "").body)
	require.Empty(t, call(t, http.MethodGet, url+"/history", "").get("value"))

	elsewhere := call(t, http.MethodPost, url+"/try", tryBody(other.URL+"/x", ""))
	require.Equal(t, http.StatusBadRequest, elsewhere.code, "a stored secret is not sent to another host")
	require.Contains(t, elsewhere.body, "because the target changed")
	require.Empty(t, other.got("/x"))

	changes := call(t, http.MethodGet, collection+"/changes", "")
	require.Contains(t, changes.get("value.0.properties.operationName"), "jobs/try/action")
	require.Equal(t, "The action of the job 'j' was tried, and not saved.", changes.get("value.0.properties.message"))
}

// trialLife tries the action of a job, and returns the id of the workflow, which has no stored secret.
func trialLife(t *testing.T, s *stack, jobs string) string {
	t.Helper()
	target := newSink(t, nil)
	require.Equal(t, http.StatusCreated, call(t, http.MethodPut, jobs+"/j", tryBody(target.URL+"/saved", canary("kept"))).code)
	tried := call(t, http.MethodPost, jobs+"/j/try", tryBody(target.URL+"/tried", ""))
	require.Equal(t, "Completed", tried.get("status"), tried.body)
	id := key(jobs, "j").Collection.TrialWorkflowID(tried.get("executionId").(string))
	require.NotContains(t, s.histories(t, id)[0].String(), canary("kept"))
	return id
}
