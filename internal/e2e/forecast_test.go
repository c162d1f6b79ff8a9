package e2e_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhatIsDueTogetherAndWhatAChangeDoesToIt(t *testing.T) {
	t.Parallel()
	s := use(t)
	target := newSink(t, func(http.ResponseWriter, *http.Request) {})
	c := s.collection(t)
	due := time.Now().UTC().Truncate(time.Hour).Add(48*time.Hour + 17*time.Minute + 3*time.Second)
	starts := func(at time.Time, of string) string {
		return get(target.URL+"/x", `,"startTime":"`+at.Format(time.RFC3339)+`","recurrence":{"frequency":"`+of+`"}`)
	}
	for _, name := range []string{"a", "b"} {
		created(t, c+"/jobs/"+name, starts(due, "week"))
	}
	created(t, c+"/jobs/c", starts(due.Add(time.Minute), "week"))

	window := "from=" + url.QueryEscape(due.Add(-time.Minute).Format(time.RFC3339)) + "&until=" + url.QueryEscape(due.Add(2*time.Minute).Format(time.RFC3339)) + "&step=PT1S"
	r := call(t, http.MethodGet, c+"/forecast?"+window, "")
	require.Equal(t, http.StatusOK, r.code, r.body)
	require.Equal(t, []any{float64(3), due.Format(time.RFC3339), float64(2), true}, []any{r.get("due"), r.get("fullest.0.time"), r.get("fullest.0.due"), r.get("complete")}, r.body)
	r = call(t, http.MethodGet, c+"/forecast?"+window+"&except=a", "")
	require.Equal(t, float64(2), r.get("due"), r.body)
	r = call(t, http.MethodPost, c+"/forecast", starts(due, "day"))
	require.Equal(t, http.StatusOK, r.code, r.body)
	require.Equal(t, []any{due.Format(time.RFC3339), float64(2)}, []any{r.get("occurrences.0.time"), r.get("occurrences.0.due")}, r.body)

	moved := starts(due.Add(-time.Hour), "week")
	r = call(t, http.MethodPost, c+"/jobs/c/previewChange?take=3", moved)
	require.Equal(t, http.StatusOK, r.code, r.body)
	require.Equal(t, due.Add(-time.Hour).Format(time.RFC3339), r.get("nextExecutionTime"), r.body)
	ok(t, http.MethodPut, c+"/jobs/c", moved)
	require.Equal(t, r.get("nextExecutionTime"), call(t, http.MethodGet, c+"/jobs/c", "").get("properties.status.nextExecutionTime"))
}
