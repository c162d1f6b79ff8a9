package console_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/console"
	"almanac/internal/apitest"
)

const bulkAsked = `{"action":"disable","changes":2,"runAtOnce":1,"missing":["gone"],"selection":"s1","jobs":[
{"id":"x","name":"reports/a","effect":"changes","runsAtOnce":true},{"id":"x","name":"reports/b","effect":"changes"},
{"id":"x","name":"reports/c","effect":"unchanged"},{"id":"x","name":"reports/d","effect":"refused","reason":"It is <over>."}]}`

const bulkDone = `{"nextLink":null,"value":[{"id":"x","type":"t","name":"reports/a","properties":{"status":"Done","execution":"/x/executions/1-2"}},
{"id":"x","type":"t","name":"reports/b","properties":{"status":"ChangedSince"}},{"id":"x","type":"t","name":"reports/d","properties":{"status":"Refused","error":{"code":"ConflictError","message":"It is <over>."}}}]}`

func TestManyJobsAreChangedAfterTheConsoleHasSaidWhatThatDoes(t *testing.T) {
	t.Parallel()
	c, h := stored(t, new(apitest.Memory))
	_, err := c.PutJob(t.Context(), "reports", "a", daily())
	require.NoError(t, err)
	b := browse(t, answering(h, map[string]string{"/bulkPreview": bulkAsked, "/bulkDisable": bulkDone, "/bulkDelete": bulkDone}), console.Options{})
	const list = "/console/jobs/reports"
	b.get(list).has(`aria-label="Select a"`, "all 1", "Delete…", "Rerun failed")
	require.NotContains(t, b.get("/console/jobs").text, `name="job"`, "jobs are selected in a collection")
	asked := b.post(list, list+"/bulk", url.Values{"action": {"disable"}, "job": {"a", "b", "c", "d", "gone"}})
	asked.has("Pause: 2 jobs of reports?", "<b>1 job</b> would run at once", "1 job would stay as it is", "It is &lt;over&gt;.", "There is no job <b>gone</b>", `value="s1"`, ">Pause: 2 jobs</button>")
	requireHarmless(t, asked)
	done := b.post(list, list+"/bulk/do", url.Values{"action": {"disable"}, "selection": {"s1"}, "changes": {"2"}})
	done.has("1 done", "1 changed since, and left alone", "1 refused", "Undo…", `name="job" value="a"`, "/executions/1-2")
	requireHarmless(t, done)
	for name, form := range map[string]url.Values{
		"nothing selected": {"action": {"disable"}}, "no action": {"job": {"a"}}, "another action": {"action": {"explode"}, "job": {"a"}},
	} {
		require.Equal(t, http.StatusBadRequest, b.post(list, list+"/bulk", form).status, name)
	}
	require.Equal(t, http.StatusBadRequest, b.post(list, list+"/bulk/do", url.Values{"action": {"delete"}, "selection": {"s1"}, "changes": {"2"}, "number": {"3"}}).status)
	b.post(list, list+"/bulk/do", url.Values{"action": {"delete"}, "selection": {"s1"}, "changes": {"2"}, "number": {"2"}}).has("1 done").lacks("Undo")
	b.post(list, list+"/bulk", url.Values{"action": {"delete"}, "all": {"yes"}}).has("Type 2", "btn-xx")
}

// An operation has a page of its own, which is loaded again until the results are there.
func TestMoreJobsThanARequestChangesAreWatched(t *testing.T) {
	t.Parallel()
	_, h := stored(t, new(apitest.Memory))
	over := false
	m := &meddler{Handler: h, instead: func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case strings.HasSuffix(r.URL.Path, "/bulkDisable"):
			w.Header().Set("Location", "http://localhost/jobCollections/reports/bulkResults/op-1")
			w.WriteHeader(http.StatusAccepted)
		case strings.HasSuffix(r.URL.Path, "/bulkResults/op-1") && !over:
			w.WriteHeader(http.StatusAccepted)
		case strings.HasSuffix(r.URL.Path, "/bulkResults/op-1"):
			_, _ = io.WriteString(w, `{"value":[{"name":"reports/a","properties":{"status":"Done"}},{"name":"reports/b","properties":{"status":"Refused","error":{"message":"<no>"}}}]}`)
		default:
			return false
		}
		return true
	}}
	b := browse(t, m, console.Options{})
	const list = "/console/jobs/reports"
	got := b.post(list, list+"/bulk/do", url.Values{"action": {"disable"}, "selection": {"s1"}, "changes": {"2"}})
	require.Equal(t, http.StatusSeeOther, got.status, got.text)
	require.Equal(t, "/console/bulk/reports/op-1?action=disable", got.location)
	b.get(got.location).has("Working…", `data-reload="2"`).lacks("Undo")
	over = true
	b.get(got.location).has("1 done", "1 refused", "&lt;no&gt;", "Undo…").lacks("Working…", "data-reload")
	require.Equal(t, http.StatusNotFound, b.get("/console/bulk/reports/op-1?action=explode").status)
}

// answering returns an API that answers what ends in a path with a text, and all else as h.
func answering(h http.Handler, answers map[string]string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for end, text := range answers {
			if strings.HasSuffix(r.URL.Path, end) {
				if strings.Contains(text, `"error":{"code":"BadRequest"`) {
					w.WriteHeader(http.StatusBadRequest)
				}
				_, _ = io.WriteString(w, text)
				return
			}
		}
		h.ServeHTTP(w, r)
	})
}
