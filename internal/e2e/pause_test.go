package e2e_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A job and a job collection are paused until some seconds from now, while an occurrence of each comes due.
func TestPausesEndByThemselvesAndRecoverWhatTheyHeld(t *testing.T) {
	t.Parallel()
	s := use(t)
	target := newSink(t, nil)
	collection := s.collection(t)
	jobs := collection + "/jobs"
	due := time.Now().UTC().Add(15 * time.Second).Truncate(time.Second)
	until := due.Add(2 * time.Second)
	created(t, jobs+"/one", get(target.URL+"/one", `,"startTime":"`+rfc(due)+`","recurrence":{"frequency":"hour"}`))
	ok(t, http.MethodPost, jobs+"/one/disable?note=move&recover=latest&until="+rfc(until), "")
	one := call(t, http.MethodGet, jobs+"/one", "")
	require.Equal(t, []any{"disabled", "move", rfc(until), "latest", "127.0.0.1"}, []any{
		one.get("properties.state"), one.get("properties.status.disabled.note"), one.get("properties.status.disabled.until"),
		one.get("properties.status.disabled.recover"), one.get("properties.status.disabled.caller"),
	}, one.body)
	held := call(t, http.MethodPost, jobs+"/one/previewPause?action=disable&recover=latest&until="+rfc(until), "")
	require.Equal(t, []any{float64(1), float64(1), float64(0)}, []any{held.get("held"), held.get("runs"), held.get("leftOut")}, held.body)

	target.await(t, "/one", 1)
	eventually(t, "the entry of the occurrence", func() bool { return call(t, http.MethodGet, jobs+"/one/history", "").count("value") == 1 })
	entry := call(t, http.MethodGet, jobs+"/one/history", "")
	require.Equal(t, []any{true, rfc(due), "Completed"}, []any{
		entry.get("value.0.properties.recovered"), entry.get("value.0.properties.expectedExecutionTime"), entry.get("value.0.properties.status"),
	}, entry.body)
	require.Equal(t, "enabled", call(t, http.MethodGet, jobs+"/one", "").get("properties.state"))
	changes := call(t, http.MethodGet, jobs+"/one/changes", "")
	require.Equal(t, []any{"Microsoft.Scheduler/jobCollections/jobs/enable/action", "almanac"}, []any{
		changes.get("value.0.properties.operationName"), changes.get("value.0.properties.caller"),
	}, changes.body)

	until = time.Now().UTC().Add(time.Hour).Truncate(time.Second)
	ok(t, http.MethodPost, collection+"/disable?recover=none&until="+rfc(until), "")
	require.Equal(t, rfc(until), call(t, http.MethodGet, collection, "").get("properties.disabled.until"))
	require.Contains(t, call(t, http.MethodGet, jobs+"/one", "").get("properties.status.reason"), "until "+rfc(until))
	until = time.Now().UTC().Add(3 * time.Second).Truncate(time.Second)
	ok(t, http.MethodPost, collection+"/disable?recover=none&until="+rfc(until), "") // it ends sooner
	eventually(t, "the collection is enabled by itself", func() bool {
		return call(t, http.MethodGet, collection, "").get("properties.state") == "Enabled"
	})
	eventually(t, "its job runs again", func() bool {
		return call(t, http.MethodGet, jobs+"/one", "").get("properties.status.nextExecutionTime") != nil
	})
	changes = call(t, http.MethodGet, collection+"/changes", "")
	require.Equal(t, []any{"Microsoft.Scheduler/jobCollections/enable/action", "almanac"}, []any{
		changes.get("value.0.properties.operationName"), changes.get("value.0.properties.caller"),
	}, changes.body)
}

func TestABackfillRunsWhatWasDue(t *testing.T) {
	t.Parallel()
	s := use(t)
	target := newSink(t, nil)
	jobs := s.collection(t) + "/jobs"
	from := time.Now().UTC().Add(-5 * time.Hour).Truncate(time.Hour)
	created(t, jobs+"/j", get(target.URL+"/j", `,"startTime":"`+rfc(from)+`","recurrence":{"frequency":"hour"}`))
	span := "?from=" + rfc(from) + "&until=" + rfc(from.Add(5*time.Hour))
	require.Equal(t, float64(5), call(t, http.MethodPost, jobs+"/j/previewBackfill"+span, "").get("total"))
	begun := call(t, http.MethodPost, jobs+"/j/backfill"+span+"&name=again&atOnce=2", "")
	require.Equal(t, []any{"running", float64(5)}, []any{begun.get("properties.state"), begun.get("properties.total")}, begun.body)
	eventually(t, "all have run", func() bool {
		return call(t, http.MethodGet, jobs+"/j/backfills", "").get("value.0.properties.state") == "done"
	})
	require.Len(t, target.all(), 5)
	entries := call(t, http.MethodGet, jobs+"/j/history", "")
	require.Equal(t, 5, entries.count("value"))
	require.Equal(t, "again", entries.get("value.0.properties.backfill"))
	require.Equal(t, http.StatusConflict, call(t, http.MethodPost, jobs+"/j/backfill"+span+"&name=again", "").code)
}

// jobBackfill has more occurrences run again than are planned at a time, in a zone of its own, and another backfill end.
func jobBackfill(t *testing.T, _ *stack, jobs string) string {
	target := newSink(t, nil)
	url, from := jobs+"/j", time.Now().UTC().Add(-120*time.Hour).Truncate(time.Hour)
	created(t, url, get(target.URL+"/", `,"startTime":"`+rfc(from)+`","recurrence":{"frequency":"hour","timeZone":"Asia/Kathmandu"}`))
	span := "/backfill?from=" + rfc(from) + "&until=" + rfc(from.Add(120*time.Hour))
	ok(t, http.MethodPost, url+span+"&name=again&atOnce=10", "")
	eventually(t, "all have run", func() bool {
		return call(t, http.MethodGet, url+"/backfills", "").get("value.0.properties.state") == "done"
	})
	ok(t, http.MethodPost, url+span+"&name=ends&every=PT1H", "")
	ok(t, http.MethodPost, url+"/backfills/ends?action=end", "")
	ok(t, http.MethodDelete, url, "")
	return key(jobs, "j").WorkflowID()
}
