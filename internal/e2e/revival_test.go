package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"almanac/workflows"
)

// startSoon gives a job a start time that is due before long, and has not passed when the job is given it.
func startSoon(t *testing.T, job string) {
	t.Helper()
	eventually(t, "start time in time", func() bool {
		start := time.Now().UTC().Add(3 * time.Second).Format(time.RFC3339)
		r := call(t, http.MethodPatch, job, `{"properties":{"startTime":"`+start+`"}}`)
		require.Equal(t, http.StatusOK, r.code, r.body)
		return r.get("properties.status.nextExecutionTime") == start
	})
}

func TestACompletedOneTimeJobRunsOnDemandAndForANewStartTimeButNeverByItself(t *testing.T) {
	t.Parallel()
	s, target := use(t), newSink(t, nil)
	jobs := s.collection(t) + "/jobs"
	body := get(target.URL+"/once", "")
	created(t, jobs+"/j", body)
	status(t, jobs+"/j", "properties.state", "completed")

	ok(t, http.MethodPost, jobs+"/j/run", "")
	target.await(t, "/once", 2)
	eventually(t, "manual run in the history", func() bool { return call(t, http.MethodGet, jobs+"/j/history", "").count("value") == 2 })
	read := status(t, jobs+"/j", "properties.status.executionCount", float64(2))
	require.Equal(t, "completed", read.get("properties.state"))

	for what, same := range map[string]string{
		"as it was created": body, "as it is read": read.body, "with its default state": get(target.URL+"/once", `,"state":"Enabled"`),
	} {
		r := call(t, http.MethodPut, jobs+"/j", same)
		require.Equal(t, http.StatusOK, r.code, r.body)
		require.Equal(t, read.body, r.body, "a PUT of the job %s changes nothing", what)
	}
	r := call(t, http.MethodPatch, jobs+"/j", `{"properties":{"state":"enabled"}}`)
	require.Equal(t, http.StatusOK, r.code, r.body)
	require.Equal(t, read.body, r.body, "it has nothing to run")
	r = call(t, http.MethodPatch, jobs+"/j", `{"properties":{"action":{"request":{"uri":"`+target.URL+`/again"}}}}`)
	require.Equal(t, http.StatusOK, r.code, r.body)
	require.Equal(t, "completed", r.get("properties.state"))
	require.Contains(t, r.get("properties.status.reason"), "The job was to run once, at ")

	r = call(t, http.MethodPatch, jobs+"/j", `{"properties":{`+later[1:]+`}}`)
	require.Equal(t, http.StatusOK, r.code, r.body)
	require.Equal(t, "enabled", r.get("properties.state"))
	require.Equal(t, r.get("properties.startTime"), r.get("properties.status.nextExecutionTime"))
	require.Equal(t, float64(2), r.get("properties.status.executionCount"), "the counters go on")
	require.Equal(t, 1, call(t, http.MethodGet, jobs+"?$filter=state%20eq%20enabled", "").count("value"), "lists know")
	found, err := s.temporal.DescribeWorkflow(t.Context(), key(jobs, "j").WorkflowID(), "")
	require.NoError(t, err)
	state, _ := found.TypedSearchAttributes.GetKeyword(temporal.NewSearchAttributeKeyKeyword(workflows.AttributeState))
	require.Equal(t, "enabled", state, "so do Temporal's tools")
	startSoon(t, jobs+"/j")
	target.await(t, "/again", 1)
	status(t, jobs+"/j", "properties.state", "completed")
	require.Equal(t, 3, call(t, http.MethodGet, jobs+"/j/history", "").count("value"), "the history goes on")
	require.Len(t, target.got("/once"), 2)
	ok(t, http.MethodDelete, jobs+"/j", "")
}

func TestASeriesThatIsOverGoesOnWithAHigherCount(t *testing.T) {
	t.Parallel()
	s, target := use(t), newSink(t, nil)
	j := s.collection(t) + "/jobs/j"
	created(t, j, get(target.URL+"/", `,"recurrence":{"frequency":"minute","count":1}`))
	over := status(t, j, "properties.state", "completed")
	require.Equal(t, "The job's count, 1, is used up.", over.get("properties.status.reason"))

	r := call(t, http.MethodPatch, j, `{"properties":{"recurrence":{"count":3}}}`)
	require.Equal(t, http.StatusOK, r.code, r.body)
	require.Equal(t, "enabled", r.get("properties.state"))
	next, err := time.Parse(time.RFC3339, fmt.Sprint(r.get("properties.status.nextExecutionTime")))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), next, time.Minute, "the next minute of its grid")
	// What remains is told by a grid that is due sooner.
	for n := 2; n <= 3; n++ {
		startSoon(t, j)
		target.await(t, "/", n)
	}
	over = status(t, j, "properties.state", "completed")
	require.Equal(t, float64(3), over.get("properties.status.executionCount"), "two more")
	r = call(t, http.MethodPatch, j, `{"properties":{`+later[1:]+`}}`)
	require.Equal(t, "completed", r.get("properties.state"), "count counts what ran before: %s", r.body)
	ok(t, http.MethodDelete, j, "")
}

func TestAJobWhoseEndTimeIsPastIsRevivedByWhatWasReadWithALaterOne(t *testing.T) {
	t.Parallel()
	s, target := use(t), newSink(t, nil)
	j := s.collection(t) + "/jobs/j"
	created(t, j, get(target.URL+"/", later+`,"recurrence":{"frequency":"hour","endTime":"2020-01-01"}`))
	var read map[string]any
	require.NoError(t, json.Unmarshal([]byte(status(t, j, "properties.state", "completed").body), &read))
	read["properties"].(map[string]any)["recurrence"].(map[string]any)["endTime"] = "2999-12-31T00:00:00Z"
	body, err := json.Marshal(read)
	require.NoError(t, err)
	require.Contains(t, string(body), `"state":"completed"`)
	r := call(t, http.MethodPut, j, string(body))
	require.Equal(t, http.StatusOK, r.code, r.body)
	require.Equal(t, "enabled", r.get("properties.state"))
	require.Equal(t, r.get("properties.startTime"), r.get("properties.status.nextExecutionTime"))
	require.Nil(t, r.get("properties.status.reason"))
	require.Empty(t, target.got("/"), "nothing runs at once")
	ok(t, http.MethodDelete, j, "")
}

func TestAFaultedJobIsMendedAndRunsAgain(t *testing.T) {
	t.Parallel()
	s, target := use(t), newSink(t, fails)
	j := s.collection(t) + "/jobs/j"
	created(t, j, strings.Replace(failing(target.URL, ""), `"retryCount":2`, `"retryCount":1`, 1))
	status(t, j, "properties.state", "faulted")
	r := call(t, http.MethodPatch, j, `{"properties":{"action":{"request":{"uri":"`+target.URL+`/mended"}}}}`)
	require.Equal(t, http.StatusOK, r.code, r.body)
	require.Equal(t, "faulted", r.get("properties.state"))
	ok(t, http.MethodPost, j+"/run", "")
	target.await(t, "/mended", 1)
	r = status(t, j, "properties.status.executionCount", float64(2))
	require.Equal(t, "faulted", r.get("properties.state"), "its last occurrence failed")
	startSoon(t, j)
	target.await(t, "/mended", 2)
	r = status(t, j, "properties.state", "completed")
	require.Equal(t, float64(1), r.get("properties.status.faultedCount"))
	ok(t, http.MethodDelete, j, "")
}

func TestAJobIsRevivedOnlyAsItsPlanAllows(t *testing.T) {
	t.Parallel()
	s, target := use(t), newSink(t, nil)
	subscription := s.url + "/subscriptions/" + strings.ToLower(t.Name())
	collection := subscription + "/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c"
	const version = "?api-version=2016-03-01"
	created(t, collection+version, `{"properties":{"sku":{"name":"Free"}}}`)
	j := collection + "/jobs/j" + version
	created(t, j, get(target.URL+"/", ""))
	status(t, j, "properties.state", "completed")
	r := call(t, http.MethodPatch, j, `{"properties":{"recurrence":{"frequency":"minute"}}}`)
	require.Equal(t, http.StatusConflict, r.code, r.body)
	require.Contains(t, r.body, "sooner than the PT1H")
	require.Equal(t, "completed", call(t, http.MethodGet, j, "").get("properties.state"))
	r = call(t, http.MethodPatch, j, `{"properties":{"recurrence":{"frequency":"hour"}}}`)
	require.Equal(t, http.StatusOK, r.code, r.body)
	require.Equal(t, "enabled", r.get("properties.state"))
	finish(t, call(t, http.MethodDelete, collection+version, ""))
}

// Jobs created in the same second have the same creation time.
func TestAJobCreatedAnewHasOtherExecutions(t *testing.T) {
	t.Parallel()
	s, target := use(t), newSink(t, nil)
	jobs := s.collection(t) + "/jobs"
	const times = 4
	body := `{"properties":{"action":{"type":"http","request":{"method":"GET","uri":"` + target.URL + `/j"}},"startTime":"` +
		time.Now().AddDate(1, 0, 0).Format(time.RFC3339) + `"}}`
	keys := map[string]bool{}
	for n := range times {
		created(t, jobs+"/j", body)
		ok(t, http.MethodPost, jobs+"/j/run", "")
		keys[target.await(t, "/j", n+1)[n].key] = true
		ok(t, http.MethodDelete, jobs+"/j", "")
	}
	require.Len(t, keys, times)
}
