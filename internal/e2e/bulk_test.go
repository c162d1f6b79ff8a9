package e2e_test

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/input"
)

// selectJobs selects jobs of a collection for an action, and returns the answer.
func selectJobs(t *testing.T, c, question string) reply {
	t.Helper()
	r := call(t, http.MethodPost, c+"/bulkPreview", question)
	require.Equal(t, http.StatusOK, r.code, r.body)
	return r
}

// changed changes the jobs that an answer selected, and returns each job with what became of it.
func changedTogether(t *testing.T, c, verb string, selected reply) (all []string) {
	t.Helper()
	r := call(t, http.MethodPost, c+"/"+verb, fmt.Sprintf(`{"selection":%q}`, selected.get("selection")))
	require.Equal(t, http.StatusOK, r.code, r.body)
	for i := range r.count("value") {
		one := fmt.Sprintf("value.%d.", i)
		all = append(all, fmt.Sprint(r.get(one+"name"), " ", r.get(one+"properties.status")))
	}
	return all
}

func TestManyJobsAreChangedTogether(t *testing.T) {
	t.Parallel()
	s := use(t)
	target := newSink(t, func(http.ResponseWriter, *http.Request) {})
	c := s.collection(t)
	name := path.Base(c)
	start := time.Now().UTC().Truncate(time.Hour).Add(30*time.Minute + 7*time.Second).Add(-24 * time.Hour)
	daily := `,"startTime":"` + start.Format(time.RFC3339) + `","recurrence":{"frequency":"week"}`
	for _, job := range []string{"a", "b"} {
		created(t, c+"/jobs/"+job, get(target.URL+"/"+job, daily))
	}
	created(t, c+"/jobs/once", get(target.URL+"/once", `,"state":"disabled","startTime":"2026-01-01T00:00:00Z"`))

	off := selectJobs(t, c, `{"action":"disable","names":["A","b","once","none"]}`)
	require.Equal(t, []any{float64(2), "none"}, []any{off.get("changes"), off.get("missing.0")}, off.body)
	r := call(t, http.MethodPatch, c+"/jobs/b", `{"properties":{"disableAfter":5}}`)
	require.Equal(t, http.StatusOK, r.code, r.body)
	require.Equal(t, []string{name + "/a Done", name + "/b ChangedSince"}, changedTogether(t, c, "bulkDisable", off))
	require.Equal(t, []string{name + "/a Unchanged", name + "/b ChangedSince"}, changedTogether(t, c, "bulkDisable", off), "it can be repeated")
	status(t, c+"/jobs/a", "properties.state", "disabled")
	status(t, c+"/jobs/b", "properties.state", "enabled")

	on := selectJobs(t, c, `{"action":"enable","filter":"state eq disabled"}`)
	require.Equal(t, []any{float64(2), float64(1), name + "/once", true}, []any{on.get("changes"), on.get("runAtOnce"), on.get("jobs.0.name"), on.get("jobs.0.runsAtOnce")}, on.body)
	require.Empty(t, target.all(), "nothing has run")
	require.Equal(t, []string{name + "/a Done", name + "/once Done"}, changedTogether(t, c, "bulkEnable", on))
	eventually(t, "the job that runs once ran at once", func() bool { return len(target.all()) == 1 })

	run := selectJobs(t, c, `{"action":"run","names":["a"]}`)
	for range 3 {
		require.Equal(t, []string{name + "/a Done"}, changedTogether(t, c, "bulkRun", run))
	}
	eventually(t, "one manual run", func() bool { return len(target.all()) == 2 })
	skip := selectJobs(t, c, `{"action":"skip","names":["a"]}`)
	require.Equal(t, []string{name + "/a Done"}, changedTogether(t, c, "bulkSkip", skip))
	require.Equal(t, []string{name + "/a Unchanged"}, changedTogether(t, c, "bulkSkip", skip))
	rerun := selectJobs(t, c, `{"action":"rerun","names":["a"]}`)
	require.Equal(t, float64(0), rerun.get("changes"), "it has not failed")

	gone := selectJobs(t, c, `{"action":"delete","search":"week"}`)
	require.Equal(t, []string{name + "/a Done", name + "/b Done"}, changedTogether(t, c, "bulkDelete", gone))
	require.Equal(t, []string{name + "/a Missing", name + "/b Missing"}, changedTogether(t, c, "bulkDelete", gone))
	require.Len(t, target.all(), 2, "and nothing else ran")
	r = call(t, http.MethodPost, c+"/bulkRun", fmt.Sprintf(`{"selection":%q}`, gone.get("selection")))
	require.Equal(t, http.StatusBadRequest, r.code, "a selection is for its action")
}

// selectionOf returns a selection of two jobs of which the second was changed since, and of many that are not there.
func selectionOf(t *testing.T, s *stack, jobs string) string {
	t.Helper()
	found, err := s.service.Job(t.Context(), key(jobs, "a"))
	require.NoError(t, err)
	many := input.Selection{Action: job.BulkDisable, Jobs: []job.BulkJob{{Name: "a", Generation: found.Generation}, {Name: "b", Generation: 1}}}
	for i := range 199 {
		many.Jobs = append(many.Jobs, job.BulkJob{Name: fmt.Sprint("none", i), Generation: 1})
	}
	return `{"selection":"` + many.Text(time.Now()) + `"}`
}

// disabledByOperation disables jobs by an operation, and returns where its results are and the results.
func disabledByOperation(t *testing.T, jobs, selection string) (location string, results reply) {
	t.Helper()
	r := call(t, http.MethodPost, strings.TrimSuffix(jobs, "/jobs")+"/bulkDisable", selection)
	require.Equal(t, http.StatusAccepted, r.code, r.body)
	location = r.head.Get("Location")
	eventually(t, "end of the operation", func() bool {
		results = call(t, http.MethodGet, location, "")
		return results.code == http.StatusOK
	})
	return location, results
}

func TestMoreThanTwoHundredJobsAreChangedByAnOperationThatIsRepeatedSafely(t *testing.T) {
	t.Parallel()
	s := use(t)
	jobs := s.collection(t) + "/jobs"
	created(t, jobs+"/a", get("http://127.0.0.1:1/", later))
	created(t, jobs+"/b", get("http://127.0.0.1:1/", later))
	selection := selectionOf(t, s, jobs)
	location, results := disabledByOperation(t, jobs, selection)
	require.Equal(t, 201, results.count("value"))
	require.Equal(t, "Done", results.get("value.0.properties.status"), results.body)
	require.Equal(t, "ChangedSince", results.get("value.1.properties.status"))
	require.Equal(t, "Missing", results.get("value.200.properties.status"))
	status(t, jobs+"/a", "properties.state", "disabled")
	status(t, jobs+"/b", "properties.state", "enabled")
	require.Equal(t, "127.0.0.1", call(t, http.MethodGet, jobs+"/a/changes", "").get("value.0.properties.clientIpAddress"), "who asked for it")

	again, same := disabledByOperation(t, jobs, selection)
	require.Equal(t, location, again)
	require.Equal(t, results.body, same.body)
	u, err := url.Parse(location)
	require.NoError(t, err)
	operation := call(t, http.MethodGet, strings.TrimSuffix(jobs, "/jobs")+"/operations/"+path.Base(u.Path), "")
	require.Equal(t, "Succeeded", operation.get("status"), operation.body)
	require.Equal(t, http.StatusNotFound, call(t, http.MethodGet, strings.TrimSuffix(jobs, "/jobs")+"/bulkResults/bulk.none", "").code)
}

func bulkLife(t *testing.T, s *stack, jobs string) string {
	t.Helper()
	created(t, jobs+"/a", get("http://127.0.0.1:1/", later))
	location, _ := disabledByOperation(t, jobs, selectionOf(t, s, jobs))
	u, err := url.Parse(location)
	require.NoError(t, err)
	return key(jobs, "a").Collection.BulkWorkflowID(path.Base(u.Path)[len("bulk."):])
}
