package e2e_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAListOfSummariesShowsWhatJobsDoAndWhatBecameOfThem(t *testing.T) {
	t.Parallel()
	s := use(t)
	target := newSink(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/fails" {
			http.Error(w, "not today", http.StatusServiceUnavailable)
		}
	})
	c := s.collection(t)
	created(t, c+"/jobs/failing", `{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":"`+target.URL+`/fails"},"retryPolicy":{"retryType":"none"}}}}`)
	start := time.Now().UTC().Truncate(time.Hour).Add(30*time.Minute + 7*time.Second)
	created(t, c+"/jobs/later", get(target.URL+"/later", `,"startTime":"`+start.Add(24*time.Hour).Format(time.RFC3339)+`","recurrence":{"frequency":"week"}`))
	status(t, c+"/jobs/failing", "properties.state", "faulted")

	one := func(query, member string) any {
		r := call(t, http.MethodGet, c+"/summaries?"+query, "")
		require.Equal(t, http.StatusOK, r.code, r.body)
		if r.count("value") != 1 {
			return nil
		}
		return r.get("value.0." + member)
	}
	eventually(t, "failure in the list", func() bool {
		return one(filter("lastOutcome eq Failed and state eq faulted"), "properties.recent.0.status") == "Failed"
	})
	require.Equal(t, start.Add(24*time.Hour).Format(time.RFC3339), one("search=week", "properties.nextExecutionTime"))
	require.Equal(t, strings.TrimPrefix(target.URL, "http://"), one("search=week+127.0.0.1", "properties.host"))
	etag, _ := one("search=later", "etag").(string)
	require.NotEmpty(t, etag)

	r := call(t, http.MethodPost, c+"/jobs/later/disable", "")
	require.Equal(t, http.StatusOK, r.code, r.body)
	require.Equal(t, "disabled", one("search=later", "properties.state"), "a change through the same API shows at once")
	require.NotEqual(t, etag, one("search=later", "etag"))
}
