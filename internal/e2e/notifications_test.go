package e2e_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An alert is what a webhook gets.
type alert struct {
	SpecVersion, ID, Type, Source, Subject string
	Data                                   struct {
		Event, Text, Job, ExecutionID string
		Time                          time.Time
	}
}

func alertOf(t *testing.T, r received) (a alert) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(r.body), &a), r.body)
	require.Equal(t, "1.0", a.SpecVersion)
	require.Equal(t, "application/cloudevents+json; charset=utf-8", r.header.Get("Content-Type"))
	require.Equal(t, a.ID, r.header.Get("Idempotency-Key"))
	return a
}

func TestAnAlertFollowsAnExecutionThatFailed(t *testing.T) {
	t.Parallel()
	target := newSink(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/broken") {
			http.Error(w, "no", http.StatusNotFound)
		}
	})
	collection := use(t).collection(t)
	jobs := collection + "/jobs"
	const secret = "canary-of-notifications"
	hook := func(name string) string {
		return `{"name":"` + name + `","on":["failed","recovered","disabled"],"target":{"type":"Http","request":{"uri":"` + target.URL + `/` + name + `",` +
			`"authentication":{"type":"Basic","username":"u","password":"` + secret + `"}}}}`
	}
	patched := call(t, http.MethodPatch, collection, `{"properties":{"notifications":[`+hook("all")+`]}}`)
	require.Equal(t, http.StatusOK, patched.code, patched.body)
	require.NotContains(t, patched.body, secret)

	fails := `{"type":"Http","request":{"uri":"` + target.URL + `/broken"},"retryPolicy":{"retryType":"none"}}`
	created(t, jobs+"/inherits", `{"properties":{"action":`+fails+`}}`)
	created(t, jobs+"/own", `{"properties":{"action":`+fails+`,"recurrence":{"frequency":"day"},"disableAfter":1,"notifications":[`+hook("own")+`]}}`)

	first := target.await(t, "/all", 1, 30*time.Second)[0]
	a := alertOf(t, first)
	require.Equal(t, "io.almanac.job.failed", a.Type)
	require.Equal(t, "inherits", a.Subject)
	require.Contains(t, a.Data.Text, "Job 'inherits' failed: Http Action")
	user, password, _ := (&http.Request{Header: first.header}).BasicAuth()
	require.Equal(t, []string{"u", secret}, []string{user, password})
	ended := call(t, http.MethodGet, jobs+"/inherits/history", "")
	end, err := time.Parse(time.RFC3339, ended.get("value.0.properties.endTime").(string))
	require.NoError(t, err)
	t.Logf("the alert arrived %s after the execution had ended", first.at.Sub(end))
	require.Less(t, first.at.Sub(end), 30*time.Second) // the figure belongs in a benchmark; this machine may be busy

	disabled := status(t, jobs+"/own", "properties.state", "disabled")
	require.Contains(t, disabled.get("properties.status.reason"), "because 1 executions in a row failed and disableAfter is 1")
	require.NotContains(t, disabled.body, secret)
	own := target.await(t, "/own", 1, 90*time.Second)
	require.Contains(t, own[0].body, "Job 'own' ")

	test := call(t, http.MethodPost, jobs+"/inherits/testNotification", "")
	require.Equal(t, http.StatusOK, test.code, test.body)
	require.Equal(t, []any{"Delivered", "all"}, []any{test.get("value.0.status"), test.get("value.0.name")})
	require.Equal(t, "io.almanac.job.test", alertOf(t, target.await(t, "/all", 2, time.Second)[1]).Type)
	test = call(t, http.MethodPost, jobs+"/own/testNotification", "")
	require.Equal(t, "own", test.get("value.0.name"), test.body)
	test = call(t, http.MethodPost, collection+"/testNotification", "")
	require.Equal(t, "Delivered", test.get("value.0.status"), test.body)

	sent := call(t, http.MethodGet, collection+"/notifications", "")
	require.Equal(t, http.StatusOK, sent.code, sent.body)
	require.GreaterOrEqual(t, sent.count("value"), 2, sent.body)
	require.NotContains(t, sent.body, secret)
}
