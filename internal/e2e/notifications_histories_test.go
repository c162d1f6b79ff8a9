package e2e_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// notified lets a job fail until it is disabled, with alerts by its collection's notifications and then by its own, and
// deletes the collection. It returns the ids of the workflows of the job, the collection and the notifications.
func notified(t *testing.T, jobs string) (ofJob, ofCollection, ofNotifications string) {
	t.Helper()
	target := newSink(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/fails" {
			w.WriteHeader(http.StatusNotFound)
		}
	})
	silent := httptest.NewServer(http.NotFoundHandler()) // an alert fails, too
	t.Cleanup(silent.Close)
	hook := func(name, url string) string {
		return `{"name":"` + name + `","on":["failed","disabled","quiet"],"within":"PT1M","target":{"type":"Http","request":{"uri":"` + url + `"},"retryPolicy":{"retryType":"none"}}}`
	}
	collection := strings.TrimSuffix(jobs, "/jobs")
	require.Equal(t, http.StatusOK, call(t, http.MethodPatch, collection, `{"properties":{"notifications":[`+hook("all", target.URL+"/all")+`,`+hook("silent", silent.URL)+`,`+
		`{"on":["failed","recovered"],"target":{"type":"PagerDuty","pagerDuty":{"routingKey":"0123456789abcdef0123456789abcdef","uri":"`+target.URL+`/duty"}}}]}}`).code)
	const properties = `"recurrence":{"frequency":"minute"},"action":{"type":"Http","request":{"uri":"`
	created(t, jobs+"/j", `{"properties":{`+properties+target.URL+`/fails"},"retryPolicy":{"retryType":"none"}}}}`)
	target.await(t, "/all", 1)
	changed := call(t, http.MethodPatch, jobs+"/j", `{"properties":{"disableAfter":2,"notifications":[`+hook("own", target.URL+"/own")+`]}}`)
	require.Equal(t, http.StatusOK, changed.code, changed.body)
	require.Equal(t, http.StatusOK, call(t, http.MethodPost, jobs+"/j/run", "").code)
	target.await(t, "/own", 1)
	status(t, jobs+"/j", "properties.state", "disabled")
	require.Equal(t, http.StatusOK, call(t, http.MethodPatch, jobs+"/j", `{"properties":{"state":"enabled"}}`).code)
	require.Equal(t, http.StatusOK, call(t, http.MethodPost, jobs+"/j/testNotification", "").code)
	require.Equal(t, http.StatusOK, call(t, http.MethodPost, collection+"/testNotification", "").code)
	k := key(jobs, "j")
	call(t, http.MethodDelete, collection, "")
	return k.WorkflowID(), k.Collection.WorkflowID(), k.Collection.NotificationsWorkflowID(0)
}

func jobNotifications(t *testing.T, _ *stack, jobs string) string {
	t.Helper()
	id, _, _ := notified(t, jobs)
	return id
}

func collectionNotifications(t *testing.T, _ *stack, jobs string) string {
	t.Helper()
	_, id, _ := notified(t, jobs)
	return id
}

func notificationsLife(t *testing.T, _ *stack, jobs string) string {
	t.Helper()
	_, _, id := notified(t, jobs)
	return id
}
