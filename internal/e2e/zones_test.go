package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"almanac/internal/workflowtest"
	"almanac/job"
	"almanac/workflows"
	"almanac/workflows/jobloop"
)

// A node is restarted with a newer release, in which a zone's clock is an hour ahead of what it was. A job that has not
// begun, since it was due in more than an hour, is due in a minute then, and runs in time.
func TestAJobThatIsDueAnHourEarlierWithNewTimeZonesRunsInTime(t *testing.T) {
	t.Parallel()
	older := workflowtest.ZonesDirectory(t, "2031a", map[string]string{"America/Vancouver": "PST8"})
	newer := workflowtest.ZonesDirectory(t, "2031b", map[string]string{"America/Vancouver": "MST7"})
	target := newSink(t, nil)
	var p *process
	var due time.Time // by the newer ones
	log := new(logged)
	restarted := func(lead time.Duration) {
		data := t.TempDir()
		p = dev(t, data, "--zoneinfo", older)
		require.Contains(t, call(t, http.MethodGet, p.url+"/healthz", "").body, `"zoneinfo":"2031a"`)
		due = time.Now().UTC().Truncate(time.Minute).Add(lead)
		local := due.Add(-7 * time.Hour)
		put := func(name, start, schedule string) {
			r := call(t, http.MethodPut, p.url+"/jobCollections/default/jobs/"+name, get(target.URL+"/"+name,
				`,"startTime":"`+start+`","recurrence":{"frequency":"day","timeZone":"America/Vancouver"`+schedule+`}`))
			require.Equal(t, http.StatusCreated, r.code, r.body)
			require.Equal(t, due.Add(time.Hour).Format(time.RFC3339), r.get("properties.status.nextExecutionTime"), r.body)
		}
		put("by-schedule", "2026-01-01T00:00", fmt.Sprintf(`,"schedule":{"hours":[%d],"minutes":[%d]}`, local.Hour(), local.Minute()))
		put("by-start", local.Format("2006-01-02T15:04"), "")
		p.kill(t)
		p = devTo(t, log, data, "--zoneinfo", newer)
	}
	restarted(2 * time.Minute)
	if time.Until(due) < 30*time.Second { // a slow machine has no time left to plan the jobs again
		p.kill(t)
		target, log = newSink(t, nil), new(logged)
		restarted(6 * time.Minute)
	}
	for _, name := range []string{"by-schedule", "by-start"} {
		got := target.await(t, "/"+name, 1)
		require.False(t, got[0].at.Before(due))
		jobs := p.url + "/jobCollections/default/jobs/" + name
		status(t, jobs, "properties.status.nextExecutionTime", due.AddDate(0, 0, 1).Format(time.RFC3339))
		history := call(t, http.MethodGet, jobs+"/history", "")
		require.Equal(t, 1, history.count("value"), history.body)
		require.Equal(t, due.Format(time.RFC3339), history.get("value.0.properties.expectedExecutionTime"), history.body)
		changes := call(t, http.MethodGet, jobs+"/changes", "")
		require.Contains(t, changes.body, "The job was planned again with the time zones of 2031b, before with those of 2031a; next occurrence: "+
			due.Format(time.RFC3339)+", before: "+due.Add(time.Hour).Format(time.RFC3339)+".")
		because(t, why(t, jobs, due.Add(time.Hour).Format(time.RFC3339)), "notDue", "zoneDataChanged", "newer time zone data moved it to ")
	}
	require.Equal(t, due.Format(time.RFC3339), call(t, http.MethodGet, p.url+"/jobCollections/default/jobs/by-start", "").get("properties.startTime"))
	require.Contains(t, log.String(), "release=2031b")
	require.Contains(t, log.String(), "jobs were asked to plan again")
	replayWithOtherZones(t, p)
}

// A worker with a newer release begins beside one with an older release, and both go on. What the newer one has planned
// the older one, which gets the workflow tasks of half of the jobs, plans no more: each job runs once at the new time,
// also after changes.
func TestWorkersWithTimeZonesOfDifferentReleases(t *testing.T) {
	t.Parallel()
	const jobs = 12
	older := workflowtest.ZonesDirectory(t, "2031a", map[string]string{"America/Vancouver": "PST8"})
	newer := workflowtest.ZonesDirectory(t, "2031b", map[string]string{"America/Vancouver": "MST7"})
	s, target := use(t), newSink(t, nil)
	namespace := newNamespace(t, s.address)
	address := freeAddress(t)
	inNamespace(t, s, namespace, "worker", "--zoneinfo", older)
	inNamespace(t, s, namespace, "api", "--listen", address, "--zoneinfo", older)
	collection := "http://" + address + "/jobCollections/c"
	eventually(t, "job collection", func() bool {
		r, err := tryCall(t.Context(), http.MethodPut, collection, `{"properties":{"sku":{"name":"Standard"}}}`)
		return err == nil && r.code/100 == 2
	})
	due := time.Now().UTC().Add(100 * time.Second).Truncate(time.Minute).Add(time.Minute) // by the newer ones
	daily := func(path string) string {
		return get(target.URL+path, `,"startTime":"`+due.Add(-7*time.Hour).Format("2006-01-02T15:04")+`","recurrence":{"frequency":"day","timeZone":"America/Vancouver"}`)
	}
	for i := range jobs {
		created(t, fmt.Sprintf("%s/jobs/j%d", collection, i), daily(fmt.Sprintf("/j%d", i)))
	}
	b := inNamespace(t, s, namespace, "worker", "--zoneinfo", newer)
	for i := range jobs {
		status(t, fmt.Sprintf("%s/jobs/j%d", collection, i), "properties.status.nextExecutionTime", due.Format(time.RFC3339))
	}
	for i := range jobs / 2 { // a change is a task of either worker
		ok(t, http.MethodPatch, fmt.Sprintf("%s/jobs/j%d", collection, i), `{"properties":{"state":"disabled"}}`)
		ok(t, http.MethodPatch, fmt.Sprintf("%s/jobs/j%d", collection, i), `{"properties":{"state":"enabled"}}`)
	}
	for i := range jobs {
		got := target.await(t, fmt.Sprintf("/j%d", i), 1)
		require.False(t, got[0].at.Before(due))
	}
	for i := range jobs {
		job := fmt.Sprintf("%s/jobs/j%d", collection, i)
		status(t, job, "properties.status.nextExecutionTime", due.AddDate(0, 0, 1).Format(time.RFC3339))
		history := call(t, http.MethodGet, job+"/history", "")
		require.Equal(t, 1, history.count("value"), history.body)
		require.Equal(t, due.Format(time.RFC3339), history.get("value.0.properties.expectedExecutionTime"), history.body)
	}
	eventually(t, "report of two releases", func() bool { return strings.Contains(b.log.String(), "workers have time zones of different releases") })
}

// replayWithOtherZones replays the jobs' histories in this process, which has Almanac's own time zones.
func replayWithOtherZones(t *testing.T, p *process) {
	t.Helper()
	var address string
	for _, line := range p.output {
		if text, ok := strings.CutPrefix(line, "Temporal "); ok {
			address = strings.TrimPrefix(strings.Fields(text)[0], "http://")
		}
	}
	temporal, err := client.Dial(client.Options{HostPort: address, Logger: workflowtest.Silent})
	require.NoError(t, err)
	defer temporal.Close()
	for _, name := range []string{"by-schedule", "by-start"} {
		h := &history.History{}
		id := job.CollectionKey{Subscription: "00000000-0000-0000-0000-000000000000", ResourceGroup: "default", Name: "default"}.Job(name).WorkflowID()
		events := temporal.GetWorkflowHistory(t.Context(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			e, err := events.Next()
			require.NoError(t, err)
			h.Events = append(h.Events, e)
		}
		r := worker.NewWorkflowReplayer()
		r.RegisterWorkflowWithOptions(jobloop.Workflow, workflow.RegisterOptions{Name: workflows.TypeJob})
		require.NoError(t, r.ReplayWorkflowHistory(workflowtest.Silent, h))
	}
}
