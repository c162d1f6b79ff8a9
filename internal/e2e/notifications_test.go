package e2e_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
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

	first := target.await(t, "/all", 1)[0]
	a := alertOf(t, first)
	require.Equal(t, "io.almanac.job.failed", a.Type)
	require.Equal(t, "inherits", a.Subject)
	require.Equal(t, "Job 'inherits' failed: 404 Not Found: no", a.Data.Text)
	require.Equal(t, a.Data.Text, "Job 'inherits' failed: "+status(t, jobs+"/inherits", "properties.state", "faulted").get("properties.status.lastError.message").(string))
	user, password, _ := (&http.Request{Header: first.header}).BasicAuth()
	require.Equal(t, []string{"u", secret}, []string{user, password})
	ended := call(t, http.MethodGet, jobs+"/inherits/history", "")
	end, err := time.Parse(time.RFC3339, ended.get("value.0.properties.endTime").(string))
	require.NoError(t, err)
	t.Logf("the alert arrived %s after the execution had ended", first.at.Sub(end))

	disabled := status(t, jobs+"/own", "properties.state", "disabled")
	require.Contains(t, disabled.get("properties.status.reason"), "because an execution failed and disableAfter is 1")
	require.NotContains(t, disabled.body, secret)
	changes := call(t, http.MethodGet, jobs+"/own/changes", "")
	require.Equal(t, []any{"Microsoft.Scheduler/jobCollections/jobs/disable/action", "Succeeded", "almanac", disabled.get("properties.status.reason")},
		[]any{changes.get("value.0.properties.operationName"), changes.get("value.0.properties.status"), changes.get("value.0.properties.caller"), changes.get("value.0.properties.message")})
	require.Equal(t, []any{"properties.state", "disabled"}, []any{changes.get("value.0.properties.differences.0.path"), changes.get("value.0.properties.differences.0.to")})
	own := target.await(t, "/own", 1)
	require.Contains(t, own[0].body, "Job 'own' ")

	test := call(t, http.MethodPost, jobs+"/inherits/testNotification", "")
	require.Equal(t, http.StatusOK, test.code, test.body)
	require.Equal(t, []any{"Delivered", "all"}, []any{test.get("value.0.status"), test.get("value.0.name")})
	require.Equal(t, "io.almanac.job.test", alertOf(t, target.await(t, "/all", 2)[1]).Type)
	test = call(t, http.MethodPost, jobs+"/own/testNotification", "")
	require.Equal(t, "own", test.get("value.0.name"), test.body)
	test = call(t, http.MethodPost, collection+"/testNotification", "")
	require.Equal(t, "Delivered", test.get("value.0.status"), test.body)

	sent := call(t, http.MethodGet, collection+"/notifications", "")
	require.Equal(t, http.StatusOK, sent.code, sent.body)
	require.GreaterOrEqual(t, sent.count("value"), 2, sent.body)
	require.NotContains(t, sent.body, secret)
}

func TestPagerDutyGetsAnIncidentThatTheRecoveryOfTheJobResolves(t *testing.T) {
	t.Parallel()
	var works atomic.Bool
	target := newSink(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/duty":
			w.WriteHeader(http.StatusAccepted)
		case !works.Load():
			w.WriteHeader(http.StatusNotFound)
		}
	})
	const routingKey = "0123456789abcdef0123456789abcdef"
	collection := use(t).collection(t)
	answers := call(t, http.MethodPatch, collection, `{"properties":{"notifications":[{"name":"duty","on":["failed","recovered"],`+
		`"target":{"type":"PagerDuty","pagerDuty":{"routingKey":"`+routingKey+`","uri":"`+target.URL+`/duty"}}}]}}`).body
	require.Contains(t, answers, `"pagerDuty":{"uri":"`+target.URL+`/duty"}`)
	jobs := collection + "/jobs"
	created(t, jobs+"/j", `{"properties":{"action":{"type":"Http","request":{"method":"POST","uri":"`+target.URL+`/j","body":"since {{if .LastSuccess}}{{.LastSuccess}}{{else}}never{{end}}","template":true},`+
		`"retryPolicy":{"retryType":"none"}},"recurrence":{"frequency":"day"}}}`)
	incident := func(r received) (e struct {
		RoutingKey string `json:"routing_key"`
		Action     string `json:"event_action"`
		Key        string `json:"dedup_key"`
	}) {
		require.Equal(t, "application/json; charset=utf-8", r.header.Get("Content-Type"))
		require.NoError(t, json.Unmarshal([]byte(r.body), &e), r.body)
		require.Equal(t, routingKey, e.RoutingKey)
		return e
	}
	triggered := incident(target.await(t, "/duty", 1)[0])
	require.Equal(t, "trigger", triggered.Action)
	works.Store(true)
	for n := range 2 {
		require.Equal(t, http.StatusOK, call(t, http.MethodPost, jobs+"/j/run", "").code)
		target.await(t, "/j", n+2)
		status(t, jobs+"/j", "properties.status.lastOutcome.status", "Completed")
	}
	resolved := incident(target.await(t, "/duty", 2)[1])
	require.Equal(t, "resolve", resolved.Action)
	require.Equal(t, triggered.Key, resolved.Key)
	runs := target.got("/j")
	require.Equal(t, []string{"since never", "since never"}, []string{runs[0].body, runs[1].body})
	require.Regexp(t, `^since \d{4}-\d\d-\d\dT`, runs[2].body)

	var sent reply
	eventually(t, "two deliveries", func() bool {
		sent = call(t, http.MethodGet, collection+"/notifications", "")
		return sent.count("value") == 2 && sent.get("value.0.status") == "Delivered"
	})
	answers += sent.body + call(t, http.MethodGet, collection, "").body + call(t, http.MethodGet, collection+"/changes", "").body + call(t, http.MethodGet, jobs+"/j/history", "").body
	require.NotContains(t, answers, routingKey)
}
