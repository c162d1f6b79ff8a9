package e2e_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"

	"almanac/job"
)

// The names of the collection and the job in the whole life of a job.
var lives = []struct{ collection, job string }{
	{"täglich", "Bericht für Öre"},
	{"カフェ", "毎日 十七時"},
	{"🗓️", "👩‍💻🚀"},
	{"a'b", `c!$(d),[e]=@{f}~^;+`},
	{"k", "\u212a"}, // the Kelvin sign, which is a k to those who fold all of Unicode
	{strings.Repeat("長", 100), strings.Repeat("𒀭", 255)},
}

func TestAJobLivesUnderAnyName(t *testing.T) {
	t.Parallel()
	s, target := use(t), newSink(t, nil)
	for i, life := range lives {
		t.Run(life.collection, func(t *testing.T) {
			t.Parallel()
			group := fmt.Sprintf("gruppe-ß-%d", i)
			base := s.url + "/subscriptions/täglich-s/resourceGroups/" + url.PathEscape(group) + "/providers/Microsoft.Scheduler/jobCollections"
			within := base + "/" + url.PathEscape(life.collection)
			const version = "?api-version=2016-03-01"
			r := call(t, http.MethodPut, within+version, `{"location":"here","properties":{"sku":{"name":"Standard"}}}`)
			require.Equal(t, http.StatusCreated, r.code, r.body)
			require.Equal(t, life.collection, r.get("name"))
			require.Equal(t, life.collection, call(t, http.MethodGet, base+version, "").get("value.0.name"))

			one := within + "/jobs/" + url.PathEscape(life.job)
			r = call(t, http.MethodPut, one+version, get(fmt.Sprintf("%s/%d", target.URL, i), later+`,"recurrence":{"frequency":"day"}`))
			require.Equal(t, http.StatusCreated, r.code, r.body)
			id := "/subscriptions/täglich-s/resourceGroups/" + group + "/providers/Microsoft.Scheduler/jobCollections/" + life.collection + "/jobs/" + life.job
			require.Equal(t, id, r.get("id"))
			require.Equal(t, life.collection+"/"+life.job, r.get("name"))
			require.Equal(t, id, call(t, http.MethodGet, one+version, "").get("id"))

			r = call(t, http.MethodPost, within+"/jobs"+version, get(target.URL+"/", later))
			require.Equal(t, http.StatusCreated, r.code, r.body)
			require.Equal(t, r.get("id"), call(t, http.MethodGet, r.head.Get("Location"), "").get("id"))
			r = call(t, http.MethodGet, within+"/jobs"+version+"&$top=1", "")
			require.Equal(t, life.collection+"/"+life.job, r.get("value.0.name"), r.body)
			require.Nil(t, r.get("nextLink"), "$top asks for one page")
			r = call(t, http.MethodGet, within+"/jobs"+version+"&$filter=state%20eq%20enabled", "")
			require.Equal(t, 2, r.count("value"), r.body)

			require.Equal(t, http.StatusOK, call(t, http.MethodPost, one+"/run"+version, "").code)
			sent := target.await(t, fmt.Sprintf("/%d", i), 1)[0]
			decoded, err := url.PathUnescape(sent.header.Get("x-ms-scheduler-jobid"))
			require.NoError(t, err)
			require.Equal(t, life.job, decoded)
			status(t, one+version, "properties.status.executionCount", 1.0)
			eventually(t, "entry in the history", func() bool {
				r = call(t, http.MethodGet, one+"/history"+version, "")
				return r.count("value") == 1
			})
			require.True(t, strings.HasPrefix(fmt.Sprint(r.get("value.0.name")), life.collection+"/"+life.job+"/"), r.body)

			found := s.workflowOf(t, life.job, group)
			require.LessOrEqual(t, len(found), 255)
			require.Equal(t, job.CollectionKey{Subscription: "täglich-s", ResourceGroup: group, Name: life.collection}.Job(life.job).WorkflowID(), found)

			require.Equal(t, http.StatusOK, call(t, http.MethodPatch, one+version, `{"properties":{"state":"disabled"}}`).code)
			finish(t, call(t, http.MethodPost, within+"/disable"+version, ""))
			require.Equal(t, "Disabled", call(t, http.MethodGet, within+version, "").get("properties.state"))
			require.Equal(t, http.StatusOK, call(t, http.MethodDelete, one+version, "").code)
			require.Equal(t, http.StatusNotFound, call(t, http.MethodGet, one+version, "").code)
			finish(t, call(t, http.MethodDelete, within+version, ""))
			require.Equal(t, http.StatusNotFound, call(t, http.MethodGet, within+version, "").code)
		})
	}
}

// workflowOf returns the id of the workflow that the search attributes of a job find.
func (s *stack) workflowOf(t *testing.T, name, group string) string {
	t.Helper()
	var id string
	query := fmt.Sprintf(`AlmanacJob = "%s" AND AlmanacResourceGroup = "%s" AND ExecutionStatus = "Running"`, job.NormalizeName(name), group)
	eventually(t, "workflow found by "+query, func() bool {
		found, err := s.temporal.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: query})
		require.NoError(t, err)
		if len(found.Executions) == 1 {
			id = found.Executions[0].GetExecution().GetWorkflowId()
		}
		return id != ""
	})
	return id
}

func TestNamesDifferByMoreThanTheCaseOfASCII(t *testing.T) {
	t.Parallel()
	s := use(t)
	within := s.collection(t) + "/jobs/"
	names := []string{"k", "\u212a", "Istanbul", "\u0130stanbul", "s", "\u017f", "täglich", "tÄglich", "e\u0301", "\u00e9"}
	for _, name := range names {
		r := call(t, http.MethodPut, within+url.PathEscape(name), get("http://127.0.0.1/", later))
		require.Equal(t, http.StatusCreated, r.code, "%q: %s", name, r.body)
	}
	for _, same := range []string{"K", "iSTANBUL", "\u0130STANBUL", "S", "TäGLICH", "TÄGLICH", "E\u0301"} {
		r := call(t, http.MethodPut, within+url.PathEscape(same), get("http://127.0.0.1/", later))
		require.Equal(t, http.StatusOK, r.code, "%q: %s", same, r.body)
	}
	r := call(t, http.MethodGet, strings.TrimSuffix(within, "/"), "")
	require.Equal(t, len(names), r.count("value"), r.body)
}

func TestNextLinksLeadThroughCollectionsOfAnyName(t *testing.T) {
	t.Parallel()
	s := use(t)
	base := s.url + "/subscriptions/seiten-ü/resourceGroups/ö/providers/Microsoft.Scheduler/jobCollections"
	const version = "?api-version=2016-03-01"
	var want []string
	for i := range 101 { // a page has 100
		name := fmt.Sprintf("カフェ %03d", i)
		want = append(want, name)
		require.NoError(t, expect(t, http.StatusCreated, http.MethodPut, base+"/"+url.PathEscape(name)+version, `{"properties":{"sku":{"name":"P20Premium"}}}`))
	}
	var got []string
	for next := any(base + version); next != nil; {
		r := call(t, http.MethodGet, next.(string), "")
		require.Equal(t, http.StatusOK, r.code, r.body)
		for i := range r.count("value") {
			got = append(got, r.get(fmt.Sprintf("value.%d.name", i)).(string))
		}
		next = r.get("nextLink")
	}
	require.Equal(t, want, got)
}
