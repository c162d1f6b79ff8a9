package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"almanac/internal/codec"
	"almanac/job"
	"almanac/job/listing"
	"almanac/workflows"
)

// trailOf returns the changes in a list, newest first, following the links: operation, status, and the paths and values
// that changed.
func trailOf(t *testing.T, list string) (lines []string, bodies string) {
	t.Helper()
	for list != "" {
		r := call(t, http.MethodGet, list, "")
		require.Equal(t, http.StatusOK, r.code, r.body)
		bodies += r.body
		for i := range r.count("value") {
			at := func(member string) any { return r.get(fmt.Sprintf("value.%d.properties.%s", i, member)) }
			operation, _ := at("operationName").(string)
			line := strings.TrimPrefix(operation, "Microsoft.Scheduler/jobCollections/") + " " + fmt.Sprint(at("status"))
			for d := range r.count(fmt.Sprintf("value.%d.properties.differences", i)) {
				member := func(name string) any { return at(fmt.Sprintf("differences.%d.%s", d, name)) }
				line += fmt.Sprintf("; %s: %v to %v", member("path"), member("from"), member("to"))
			}
			if at("client") == nil {
				require.Equal(t, "127.0.0.1", at("clientIpAddress"))
				require.NotEmpty(t, at("correlationId"))
				line += " [API]"
			}
			lines = append(lines, line)
		}
		list, _ = r.get("nextLink").(string)
	}
	return lines, bodies
}

func TestChangesTellWhoChangedWhat(t *testing.T) {
	t.Parallel()
	keys, err := codec.ParseKeys("k:" + codec.GenerateKey())
	require.NoError(t, err)
	s := newStack(t, setup{data: t.TempDir(), keys: keys})
	target := newSink(t, func(http.ResponseWriter, *http.Request) {})
	c := s.collection(t)
	later := `,"startTime":"` + time.Now().UTC().AddDate(1, 0, 0).Format(time.RFC3339) + `","recurrence":{"frequency":"day"}`
	body := func(path, password, more string) string {
		return `{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":"` + target.URL + path + `","authentication":{"type":"Basic","username":"ann","password":"` + password + `"}}}` + more + `}}`
	}
	one := c + "/jobs/one"
	created(t, one, body("/a", "hunter2", later))
	do := func(method, url, body string) {
		t.Helper()
		r := call(t, method, url, body)
		require.Less(t, r.code, 300, r.body)
	}
	do(http.MethodPut, one, body("/b", "hunter3", later))
	do(http.MethodPatch, one, `{"properties":{"state":"disabled"}}`)
	do(http.MethodPost, one+"/run", "")
	eventually(t, "manual run in the history", func() bool { return call(t, http.MethodGet, one+"/history", "").count("value") == 1 })
	require.Equal(t, "127.0.0.1", call(t, http.MethodGet, one+"/history", "").get("value.0.properties.caller"))
	do(http.MethodPost, c+"/disable", "")
	k := job.CollectionKey{Subscription: "00000000-0000-0000-0000-000000000000", ResourceGroup: "default", Name: c[strings.LastIndexByte(c, '/')+1:]}
	require.NoError(t, s.temporal.SignalWorkflow(t.Context(), k.Job("one").WorkflowID(), "", workflows.UpdateEnable, nil))
	eventually(t, "job that the signal enabled", func() bool { return call(t, http.MethodGet, one, "").get("properties.state") == "enabled" })
	do(http.MethodPost, c+"/enable", "")
	next := call(t, http.MethodGet, one, "").get("properties.status.nextExecutionTime").(string)
	do(http.MethodPost, one+"/skip?due="+next, "")
	require.Equal(t, http.StatusConflict, call(t, http.MethodPost, one+"/skip?due=2001-01-01", "").code, "it is over")
	do(http.MethodPost, one+"/disable", "")
	require.Equal(t, "disabled", call(t, http.MethodGet, one, "").get("properties.state"))
	do(http.MethodPost, one+"/disable", "") // it stays disabled
	do(http.MethodDelete, one, "")

	want := []string{
		"jobs/delete Succeeded [API]",
		"jobs/disable/action Succeeded [API]",
		"jobs/disable/action Succeeded; properties.state: enabled to disabled [API]",
		"jobs/skip/action Failed [API]",
		"jobs/skip/action Succeeded [API]",
		"enable/action Succeeded",
		"jobs/enable/action Succeeded",
		"disable/action Succeeded",
		"jobs/run/action Succeeded [API]",
		"jobs/write Succeeded; properties.state: enabled to disabled [API]",
		"jobs/write Succeeded; properties.action.request.authentication.password: <nil> to <nil>; properties.action.request.uri: " + target.URL + "/a to " + target.URL + "/b [API]",
		"jobs/write Succeeded [API]",
	}
	got, bodies := trailOf(t, one+"/changes")
	require.Equal(t, want, got)
	require.NotContains(t, bodies, "hunter")
	page := listing.Page{Top: 2}
	for i := 0; i < len(want); i += 2 {
		found, next, err := s.service.JobChanges(t.Context(), k.Job("one"), page)
		require.NoError(t, err)
		require.Len(t, found, min(2, len(want)-i), "page %d", i/2)
		require.True(t, strings.HasPrefix(want[i], strings.TrimPrefix(string(found[0].Operation), "Microsoft.Scheduler/jobCollections/")), "page %d", i/2)
		page.After = next
	}
	require.Empty(t, page.After)
	require.Equal(t, http.StatusNotFound, call(t, http.MethodGet, c+"/jobs/none/changes", "").code)
	require.Equal(t, http.StatusBadRequest, call(t, http.MethodGet, one+"/changes?$skiptoken=x", "").code)

	got, _ = trailOf(t, c+"/changes")
	require.Equal(t, []string{
		"enable/action Succeeded; properties.state: Disabled to Enabled [API]", "disable/action Succeeded; properties.state: Enabled to Disabled [API]", "write Succeeded [API]",
	}, got)

	do(http.MethodPost, c+"/enable", "")
	created(t, c+"/jobs/two", get(target.URL+"/two", later))
	require.NoError(t, s.temporal.TerminateWorkflow(t.Context(), k.Job("two").WorkflowID(), "", "tidy up"))
	got, bodies = trailOf(t, c+"/jobs/two/changes")
	require.Equal(t, []string{"jobs/delete Succeeded", "jobs/write Succeeded [API]"}, got)
	require.Contains(t, bodies, "terminated: tidy up")

	answer, err := s.temporal.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: k.WorkflowID(), UpdateName: workflows.UpdateDisable, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	require.NoError(t, err)
	require.NoError(t, answer.Get(t.Context(), nil))
	got, _ = trailOf(t, c+"/changes?$top=1")
	require.Equal(t, "disable/action Succeeded; properties.state: Enabled to Disabled", got[0], "an update without an actor")
}
