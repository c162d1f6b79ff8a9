package e2e_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"almanac/job/presence"
	"almanac/workflows"
	"almanac/workflows/installation"
	"almanac/workflows/jobloop/state"
)

// why asks why the occurrence of a job at a time was as it was.
func why(t *testing.T, job, at string) reply {
	t.Helper()
	r := call(t, http.MethodGet, job+"/explain?at="+url.QueryEscape(at), "")
	require.Equal(t, http.StatusOK, r.code, r.body)
	return r
}

// because requires an outcome, a cause and what the sentence says.
func because(t *testing.T, r reply, outcome, cause string, says ...string) {
	t.Helper()
	require.Equal(t, cause, r.get("properties.cause"), r.body)
	require.Equal(t, outcome, r.get("properties.outcome"), r.body)
	for _, part := range says {
		require.Contains(t, r.get("properties.sentence"), part, r.body)
	}
	require.NotZero(t, r.count("properties.facts"), r.body)
}

func rfc(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func TestExplainWhatTheScheduleDoesNotHave(t *testing.T) {
	t.Parallel()
	s := use(t)
	jobs := s.collection(t) + "/jobs"
	created(t, jobs+"/daily", get("http://127.0.0.1:1/", `,"startTime":"2026-01-01T00:00:00Z","recurrence":{"frequency":"day","timeZone":"Europe/Stockholm","endTime":"2027-12-31T00:00:00Z","schedule":{"hours":[2],"minutes":[30]}}`))
	next, err := time.Parse(time.RFC3339, status(t, jobs+"/daily", "properties.state", "enabled").get("properties.status.nextExecutionTime").(string))
	require.NoError(t, err)

	because(t, why(t, jobs+"/daily", rfc(next.Add(time.Minute))), "notDue", "noSuchTime", "The nearest are ", next.Format("2006-01-02T"))
	because(t, why(t, jobs+"/daily", "2027-03-28T02:30"), "notDue", "clockSkips", "the clock skips 02:00 to 03:00 that night in Europe/Stockholm", "2027-03-28T03:30:00+02:00")
	because(t, why(t, jobs+"/daily", "2027-10-31T01:30:00Z"), "notDue", "clockRepeat", "2027-10-31T02:30:00+02:00")
	because(t, why(t, jobs+"/daily", "2028-01-01T02:30"), "notDue", "afterEnd", "endTime")
	because(t, why(t, jobs+"/daily", "2020-01-01T02:30"), "notDue", "notCreated")
	because(t, why(t, jobs+"/daily", rfc(next)), "willRun", "onSchedule", "It will run at")
	require.Equal(t, rfc(next), why(t, jobs+"/daily", rfc(next.Add(-time.Second))).get("properties.nextExecutionTime"))
	require.Equal(t, http.StatusNotFound, call(t, http.MethodGet, jobs+"/none/explain", "").code)

	later := time.Now().UTC().Add(48 * time.Hour).Truncate(time.Hour)
	created(t, jobs+"/later", get("http://127.0.0.1:1/", `,"startTime":"`+rfc(later)+`","recurrence":{"frequency":"hour","count":3}`))
	because(t, why(t, jobs+"/later", rfc(later.Add(-time.Hour))), "notDue", "beforeStart", "startTime", "The first one is "+rfc(later))
	because(t, why(t, jobs+"/later", rfc(later.Add(3*time.Hour))), "willNotRun", "countReached", "count, 3")
	ok(t, http.MethodPatch, jobs+"/later", `{"properties":{"startTime":"`+rfc(later.Add(30*time.Minute))+`"}}`)
	because(t, why(t, jobs+"/later", rfc(later.Add(30*time.Minute))), "willRun", "onSchedule")
}

func TestExplainWhoDisabledAndSkipped(t *testing.T) {
	t.Parallel()
	s := use(t)
	collection := s.collection(t)
	jobs := collection + "/jobs"
	target := newSink(t, nil)
	created(t, jobs+"/j", get(target.URL+"/", `,"recurrence":{"frequency":"hour","interval":2,"count":20}`))
	target.await(t, "/", 1)
	nextOf := func() time.Time {
		next, err := time.Parse(time.RFC3339, call(t, http.MethodGet, jobs+"/j", "").get("properties.status.nextExecutionTime").(string))
		require.NoError(t, err)
		return next
	}
	next := nextOf()
	ok(t, http.MethodPost, jobs+"/j/skip", "")
	because(t, why(t, jobs+"/j", rfc(next)), "willNotRun", "skipped", "127.0.0.1 skipped it at ")
	next = nextOf()
	ok(t, http.MethodPost, jobs+"/j/disable", "")
	because(t, why(t, jobs+"/j", rfc(next)), "willNotRun", "disabled", "127.0.0.1 disabled the job at ")
	ok(t, http.MethodPost, jobs+"/j/enable", "")
	ok(t, http.MethodPost, collection+"/disable", "")
	r := why(t, jobs+"/j", rfc(next))
	because(t, r, "willNotRun", "collectionDisabled", "127.0.0.1 disabled the job collection at ")
	require.Contains(t, r.body, `"source":"collectionChanges","id":"/subscriptions/`)
}

// An execution waits for its retry when the next occurrence is due, a minute later.
func TestExplainWhatWasLeftOutForAnotherExecution(t *testing.T) {
	t.Parallel()
	s := use(t)
	jobs := s.collection(t) + "/jobs"
	var tried atomic.Bool
	target := newSink(t, func(w http.ResponseWriter, _ *http.Request) {
		if !tried.Swap(true) {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	due := time.Now().UTC().Truncate(time.Second).Add(5 * time.Second)
	job := jobs + "/j"
	created(t, job, `{"properties":{"startTime":"`+rfc(due)+`","recurrence":{"frequency":"minute","overlapPolicy":"Skip"},"action":{"type":"Http",
		"request":{"method":"GET","uri":"`+target.URL+`/"},"retryPolicy":{"retryType":"fixed","retryInterval":"PT61S","retryCount":1}}}}`)
	eventually(t, "occurrence that was skipped", func() bool {
		return call(t, http.MethodGet, job+"/history?$filter=status%20eq%20Skipped", "").count("value") > 0
	})
	r := why(t, job, rfc(due.Add(time.Minute)))
	because(t, r, "skipped", "overlapped", "the execution that was due at "+rfc(due)+" was still running, until", "overlapPolicy is Skip")
	require.Contains(t, r.get("properties.otherExecution"), "/executions/", r.body)
	because(t, why(t, job, rfc(due)), "late", "earlierAttempts", "succeeded at attempt 2")
}

// The record of workers says that none was there for ten minutes until now; the job is of that time.
func TestExplainWhatWasMissedWhileNoWorkerCheckedIn(t *testing.T) {
	t.Parallel()
	server := newServer(t, t.TempDir(), quiet)
	temporal, err := client.Dial(client.Options{HostPort: server.Address()})
	require.NoError(t, err)
	defer temporal.Close()
	now := time.Now().UTC().Truncate(time.Second)
	gone := now.Add(-11 * time.Minute)
	in := installation.Input{State: presence.State{Since: now.Add(-time.Hour)}}
	in.Spans = []presence.Span{{
		Worker:  presence.Worker{ID: "gone", Identity: "1@gone", Version: "0.1"},
		Segment: presence.Segment{From: now.Add(-time.Hour), To: gone, End: presence.Lost},
	}}
	_, err = temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: workflows.InstallationID, TaskQueue: workflows.TaskQueue}, workflows.TypeInstallation, in)
	require.NoError(t, err)
	s := newStack(t, setup{server: server})
	eventually(t, "worker that has checked in", func() bool { return len(workersOf(t, s.temporal).Here) == 1 })

	target := newSink(t, nil)
	jobs := s.collection(t) + "/jobs"
	begin := now.Add(-10*time.Minute - 2*time.Second)
	s.started(t, jobs, get(target.URL+"/late", `,"recurrence":{"frequency":"minute","catchUpWindow":"PT3M"}`), begin, func(*state.Input) {})
	target.await(t, "/late", 3)
	r := why(t, jobs+"/j", rfc(begin.Add(2*time.Minute)))
	because(t, r, "missed", "noWorker", "no worker checked in between "+rfc(gone)+" and ", "longer than the catch-up window, PT3M")
	require.Contains(t, r.body, "Worker 1@gone, version 0.1, checked in for the last time: it was lost.")
	r = why(t, jobs+"/j", rfc(begin.Add(8*time.Minute)))
	because(t, r, "late", "noWorker", "no worker checked in between "+rfc(gone))
	require.Greater(t, r.get("properties.split.worker"), 60.0, r.body)
}

func TestExplainARetryAndAFailure(t *testing.T) {
	t.Parallel()
	s := use(t)
	jobs := s.collection(t) + "/jobs"
	target := newSink(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/well" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	begin := func(name, retry string) string {
		created(t, jobs+"/"+name, `{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":"`+target.URL+"/"+name+`"},"retryPolicy":`+retry+`}}}`)
		eventually(t, "first attempt of "+name, func() bool { return call(t, http.MethodGet, jobs+"/"+name+"/history", "").count("value") > 0 })
		return call(t, http.MethodGet, jobs+"/"+name+"/history", "").get("value.0.properties.expectedExecutionTime").(string)
	}
	due := begin("retried", `{"retryType":"fixed","retryInterval":"PT1H","retryCount":2}`)
	r := why(t, jobs+"/retried", due)
	because(t, r, "pending", "waitingForRetry", "1 of 3 attempts failed", "The next one begins at ")
	due = begin("failed", `{"retryType":"none"}`)
	eventually(t, "end", func() bool { return why(t, jobs+"/failed", due).get("properties.outcome") == "failed" })
	because(t, why(t, jobs+"/failed", due), "failed", "targetFailed", "It ran and failed once: ")
	due = begin("well", `{"retryType":"none"}`)
	r = call(t, http.MethodGet, jobs+"/well/explain", "")
	require.Equal(t, due, r.get("properties.time"), "without a time it is the latest occurrence")
	require.Contains(t, []any{"onTime", "late"}, r.get("properties.outcome"), r.body)
	require.NotNil(t, r.get("properties.split.send"), r.body)
}

func TestExplainAChangeOfTheSchedule(t *testing.T) {
	t.Parallel()
	s := use(t)
	jobs := s.collection(t) + "/jobs"
	now := time.Now().UTC().Truncate(time.Second)
	created(t, jobs+"/j", get("http://127.0.0.1:1/", `,"startTime":"`+rfc(now.Add(time.Hour))+`","recurrence":{"frequency":"minute","interval":10}`))
	eventually(t, "another second", func() bool { return time.Now().After(now.Add(2 * time.Second)) })
	ok(t, http.MethodPatch, jobs+"/j", `{"properties":{"startTime":"`+rfc(now.Add(time.Hour+time.Minute))+`"}}`)
	because(t, why(t, jobs+"/j", rfc(now.Add(2*time.Hour))), "notDue", "changed", "127.0.0.1 changed the schedule at ")
}

func TestExplainAHostThatHasAllTheRequestsItMay(t *testing.T) {
	t.Parallel()
	s := newStack(t, setup{data: t.TempDir(), perHost: 1})
	answers := make(chan struct{})
	answer := sync.OnceFunc(func() { close(answers) })
	target := newSink(t, func(http.ResponseWriter, *http.Request) { <-answers })
	t.Cleanup(answer)
	jobs := s.collection(t) + "/jobs"
	created(t, jobs+"/first", get(target.URL+"/first", ""))
	target.await(t, "/first", 1)
	created(t, jobs+"/second", get(target.URL+"/second", ""))
	eventually(t, "attempt that was put off", func() bool {
		return strings.Contains(call(t, http.MethodGet, jobs+"/second/explain", "").body, `"cause":"hostLimit"`)
	})
	because(t, call(t, http.MethodGet, jobs+"/second/explain", ""), "pending", "hostLimit")
	answer()
	target.await(t, "/second", 1)
	status(t, jobs+"/second", "properties.state", "completed")
	r := call(t, http.MethodGet, jobs+"/second/explain", "")
	because(t, r, "late", "hostLimit", "was put off")
	require.Equal(t, r.get("properties.split.lateness"), r.get("properties.split.place"), r.body)
}

func TestExplainASlowTarget(t *testing.T) {
	t.Parallel()
	s := use(t)
	target := newSink(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(10200 * time.Millisecond):
		case <-r.Context().Done():
		}
	})
	jobs := s.collection(t) + "/jobs"
	due := time.Now().UTC().Truncate(time.Second).Add(10 * time.Second) // so that it is held
	created(t, jobs+"/j", get(target.URL+"/", `,"startTime":"`+rfc(due)+`"`))
	status(t, jobs+"/j", "properties.state", "completed")
	r := why(t, jobs+"/j", rfc(due))
	require.Equal(t, "targetSlow", r.get("properties.cause"), r.body)
	require.Contains(t, r.get("properties.sentence"), "the target took 10 s to answer")
}

func TestLatenessOfAJobAndOfItsCollection(t *testing.T) {
	t.Parallel()
	s := use(t)
	collection := s.collection(t)
	target := newSink(t, nil)
	const jobs, runs = 20, 3 // more than one request reads at least
	for i := range jobs {
		created(t, fmt.Sprintf("%s/jobs/j%d", collection, i), get(fmt.Sprintf("%s/j%d", target.URL, i), ""))
	}
	for range runs - 1 {
		ok(t, http.MethodPost, collection+"/jobs/j0/run", "")
	}
	for i := range jobs {
		status(t, fmt.Sprintf("%s/jobs/j%d", collection, i), "properties.state", "completed")
	}
	eventually(t, "manual runs that ended", func() bool {
		return call(t, http.MethodGet, collection+"/jobs/j0/lateness", "").get("properties.executions") == float64(runs)
	})
	one := call(t, http.MethodGet, collection+"/jobs/j0/lateness", "")
	require.Equal(t, true, one.get("properties.complete"), one.body)
	require.Equal(t, runs, one.count("properties.slowest"))

	all := call(t, http.MethodGet, collection+"/lateness", "")
	for range jobs {
		next, more := all.get("nextLink").(string)
		if !more {
			break
		}
		require.Equal(t, false, all.get("properties.complete"), all.body)
		all = call(t, http.MethodGet, next, "")
	}
	require.Equal(t, true, all.get("properties.complete"), all.body)
	require.Equal(t, float64(jobs), all.get("properties.jobsRead"), all.body)
	require.Equal(t, float64(jobs+runs-1), all.get("properties.executions"), all.body)
	require.Equal(t, 10, all.count("properties.slowest"))
	require.GreaterOrEqual(t, all.get("properties.percentiles.lateness.p99"), all.get("properties.percentiles.lateness.p50"))
	require.NotZero(t, all.get("properties.percentiles.send.max"), "it is recorded when each began to send: %s", all.body)
	execution := all.get("properties.slowest.0.id").(string)
	require.Equal(t, http.StatusOK, call(t, http.MethodGet, strings.SplitN(s.url, "/jobCollections", 2)[0]+execution+"?api-version=2016-03-01", "").code, execution)
	require.Equal(t, float64(0), call(t, http.MethodGet, collection+"/lateness?from=2026-01-01&until=2026-01-02", "").get("properties.executions"))
}

func TestExplainWhileNoWorkerIsThere(t *testing.T) {
	t.Parallel()
	s := newStack(t, setup{data: t.TempDir()})
	target := newSink(t, nil)
	jobs := s.collection(t) + "/jobs"
	due := time.Now().UTC().Truncate(time.Second).Add(5 * time.Second)
	created(t, jobs+"/j", get(target.URL+"/", `,"startTime":"`+rfc(due)+`","recurrence":{"frequency":"minute"}`))
	eventually(t, "entry of the first one", func() bool { return call(t, http.MethodGet, jobs+"/j/history", "").count("value") > 0 })
	s.stopWorker()

	r := why(t, jobs+"/j", rfc(due))
	because(t, r, "onTime", "onSchedule", "It ran on time")
	require.Contains(t, r.body, "the state of the job, since no worker answered for it")
	because(t, why(t, jobs+"/j", rfc(due.Add(time.Second))), "notDue", "noSuchTime", rfc(due.Add(time.Minute)))
	eventually(t, "explanation of the second one", func() bool {
		r = why(t, jobs+"/j", rfc(due.Add(time.Minute)))
		return r.get("properties.outcome") != "willRun"
	})
	because(t, r, "pending", "noWorker", "Nothing is recorded of it yet: no worker has checked in since ")
	require.Equal(t, http.StatusNotFound, call(t, http.MethodGet, jobs+"/none/explain", "").code)
}
