package e2e_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAJobFromPutToHistory(t *testing.T) {
	t.Parallel()
	s, target := use(t), newSink(t, nil)
	jobs := s.collection(t) + "/jobs"

	r := call(t, http.MethodPut, jobs+"/Hello", `{"properties":{"action":{"type":"Http","request":{
		"method":"POST","uri":"`+target.URL+`/in?a=1&b=2","headers":{"X-Mine":"yes"},"body":"hello <world> & all"}}}}`)
	require.Equal(t, http.StatusCreated, r.code, r.body)
	require.Equal(t, "enabled", r.get("properties.state"))
	require.Contains(t, r.body, "?a=1&b=2", "a URI comes back as it was sent")

	got := target.await(t, "/in", 1)[0]
	require.Equal(t, "POST", got.method)
	require.Equal(t, "hello <world> & all", got.body)
	require.Equal(t, "yes", got.header.Get("X-Mine"))
	require.Equal(t, "Hello", got.header.Get("X-Ms-Scheduler-Jobid"))
	require.Equal(t, "Almanac/e2e", got.header.Get("User-Agent"))
	require.NotEmpty(t, got.key)
	require.Equal(t, got.key, got.header.Get("X-Ms-Client-Request-Id"))

	r = status(t, jobs+"/hello", "properties.state", "completed")
	require.Equal(t, float64(1), r.get("properties.status.executionCount"))
	require.Nil(t, r.get("properties.status.nextExecutionTime"))

	r = call(t, http.MethodGet, jobs+"/HELLO/history", "")
	require.Equal(t, http.StatusOK, r.code, r.body)
	require.Equal(t, 1, r.count("value"))
	require.Equal(t, "Completed", r.get("value.0.properties.status"))
	require.Equal(t, "MainAction", r.get("value.0.properties.actionName"))
	require.Contains(t, r.get("value.0.properties.message"), "'OK'")

	r = call(t, http.MethodPut, jobs+"/hello", get(target.URL, ""))
	require.Equal(t, http.StatusOK, r.code, r.body)
	require.Equal(t, "completed", r.get("properties.state"), "its time has passed: %s", r.body)
	r = call(t, http.MethodDelete, jobs+"/hello", "")
	require.Equal(t, http.StatusOK, r.code, r.body)
	require.Empty(t, r.body)
	require.Equal(t, http.StatusNotFound, call(t, http.MethodGet, jobs+"/hello", "").code)
	require.Equal(t, `{"value":[],"nextLink":null}`, call(t, http.MethodGet, jobs, "").body)
	require.Equal(t, http.StatusNotFound, call(t, http.MethodDelete, jobs+"/hello", "").code)

	r = call(t, http.MethodPut, jobs+"/hello", get(target.URL+"/again", `,"state":"disabled"`))
	require.Equal(t, http.StatusCreated, r.code, r.body)
	require.Equal(t, 0, call(t, http.MethodGet, jobs+"/hello/history", "").count("value"), "a new job has no old history")
}

func TestAJobIsNeverEarly(t *testing.T) {
	t.Parallel()
	s, target := use(t), newSink(t, nil)
	jobs := s.collection(t) + "/jobs"
	due := time.Now().UTC().Add(10 * time.Second).Truncate(time.Second)
	r := call(t, http.MethodPut, jobs+"/later", get(target.URL+"/later", `,"startTime":"`+due.Format(time.RFC3339)+`"`))
	require.Equal(t, http.StatusCreated, r.code, r.body)
	require.Equal(t, due.Format(time.RFC3339), r.get("properties.status.nextExecutionTime"))
	at := target.await(t, "/later", 1)[0].at
	require.False(t, at.Before(due), "due %s, came %s", due, at)
	t.Logf("came %s after it was due", at.Sub(due))
}

func TestRetriesThenErrorAction(t *testing.T) {
	t.Parallel()
	s := use(t)
	target := newSink(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/fails" {
			http.Error(w, "not today", http.StatusServiceUnavailable)
		}
	})
	jobs := s.collection(t) + "/jobs"
	r := call(t, http.MethodPut, jobs+"/j", `{"properties":{"action":{"type":"Http",
		"request":{"method":"GET","uri":"`+target.URL+`/fails"},
		"retryPolicy":{"retryType":"fixed","retryInterval":"PT1S","retryCount":2},
		"errorAction":{"type":"Http","request":{"method":"POST","uri":"`+target.URL+`/alarm","body":"it failed"}}}}}`)
	require.Equal(t, http.StatusCreated, r.code, r.body)

	alarm := target.await(t, "/alarm", 1)
	attempts := target.got("/fails")
	require.Len(t, attempts, 3)
	for i, a := range attempts {
		require.Equal(t, attempts[0].key, a.key, "all attempts have the execution's id")
		require.False(t, a.at.After(alarm[0].at), "the error action comes last")
		if i > 0 {
			require.GreaterOrEqual(t, a.at.Sub(attempts[i-1].at), time.Second)
		}
	}

	r = status(t, jobs+"/j", "properties.state", "faulted")
	require.Equal(t, float64(1), r.get("properties.status.executionCount"))
	require.Equal(t, float64(1), r.get("properties.status.failureCount"))
	require.Equal(t, float64(1), r.get("properties.status.faultedCount"))
	require.Len(t, target.got("/alarm"), 1)

	history := call(t, http.MethodGet, jobs+"/j/history", "")
	require.Equal(t, 4, history.count("value"), history.body)
	for i, want := range []struct {
		action, status string
		retry          float64
	}{{"ErrorAction", "Completed", 0}, {"MainAction", "Failed", 2}, {"MainAction", "Failed", 1}, {"MainAction", "Failed", 0}} {
		entry := fmt.Sprintf("value.%d.properties.", i)
		require.Equal(t, want.action, history.get(entry+"actionName"))
		require.Equal(t, want.status, history.get(entry+"status"))
		require.Equal(t, want.retry, history.get(entry+"retryCount"))
		require.Equal(t, float64(1), history.get(entry+"repeatCount"))
	}
	require.Contains(t, history.get("value.1.properties.message"), "not today")
	failed := call(t, http.MethodGet, jobs+"/j/history?$filter=status%20eq%20Failed", "")
	require.Equal(t, 3, failed.count("value"), failed.body)
}

func TestDisableStopsAWaitingRetryAndKeepsItsAttempts(t *testing.T) {
	t.Parallel()
	s := use(t)
	target := newSink(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	jobs := s.collection(t) + "/jobs"
	r := call(t, http.MethodPut, jobs+"/j", `{"properties":{"recurrence":{"frequency":"day"},"action":{"type":"Http",
		"request":{"method":"GET","uri":"`+target.URL+`/fails"},"retryPolicy":{"retryInterval":"PT5S"},
		"errorAction":{"type":"Http","request":{"method":"GET","uri":"`+target.URL+`/alarm"}}}}}`)
	require.Equal(t, http.StatusCreated, r.code, r.body)
	target.await(t, "/fails", 1)
	eventually(t, "attempt in the history", func() bool {
		return call(t, http.MethodGet, jobs+"/j/history", "").count("value") >= 1
	})

	r = call(t, http.MethodPatch, jobs+"/j", `{"properties":{"state":"disabled"}}`)
	require.Equal(t, http.StatusOK, r.code, r.body)
	require.Nil(t, r.get("properties.status.executionCount"), "a disabled job shows no status of Azure Scheduler's")
	require.Nil(t, r.get("properties.status.nextExecutionTime"))
	require.Equal(t, float64(1), r.get("properties.status.consecutiveFailures"))
	sent := len(target.got("/fails"))

	r = call(t, http.MethodPost, jobs+"/j/run", "")
	require.Equal(t, http.StatusOK, r.code, r.body)
	target.await(t, "/fails", sent+1) // run now works still
	r = call(t, http.MethodPatch, jobs+"/j", `{"properties":{"action":{"request":{"uri":"`+target.URL+`/other"}}}}`)
	require.Equal(t, http.StatusOK, r.code, r.body)

	// What must not happen would have happened before another job's time comes.
	later := time.Now().UTC().Add(8 * time.Second).Truncate(time.Second)
	created(t, jobs+"/later", get(target.URL+"/later", `,"startTime":"`+later.Format(time.RFC3339)+`"`))
	target.await(t, "/later", 1)
	require.Len(t, target.got("/fails"), sent+1)
	require.Empty(t, target.got("/alarm"))
	require.Empty(t, target.got("/other"))
	history := call(t, http.MethodGet, jobs+"/j/history", "")
	require.Equal(t, sent+1, history.count("value"), history.body)
}

func TestListsAreCompleteUnderConcurrentWrites(t *testing.T) {
	t.Parallel()
	s, target := use(t), newSink(t, nil)
	jobs := s.collection(t) + "/jobs"
	const writers, each = 4, 5
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for i := range each {
				name := fmt.Sprintf("%s/j-%d-%d", jobs, w, i)
				r, err := tryCall(t.Context(), http.MethodPut, name, get(target.URL, `,"state":"disabled"`))
				if err != nil || r.code != http.StatusCreated {
					t.Errorf("PUT %s: %d %s %v", name, r.code, r.body, err)
				}
			}
		})
	}
	group.Wait()
	require.Equal(t, writers*each, call(t, http.MethodGet, jobs, "").count("value"))
	page := call(t, http.MethodGet, jobs+"?$top=7&$skip=14", "")
	require.Equal(t, 6, page.count("value"))
	require.Nil(t, page.get("nextLink"))
}

func TestQuotaHoldsUnderARace(t *testing.T) {
	t.Parallel()
	s, target := use(t), newSink(t, nil)
	collection := s.url + "/jobCollections/" + t.Name()
	r := call(t, http.MethodPut, collection, `{"properties":{"sku":{"name":"Standard"},"quota":{"maxJobCount":3}}}`)
	require.Equal(t, http.StatusCreated, r.code, r.body)
	var group sync.WaitGroup
	var mu sync.Mutex
	codes := map[int]int{}
	for i := range 12 {
		group.Go(func() {
			r, err := tryCall(t.Context(), http.MethodPut, fmt.Sprintf("%s/jobs/j%d", collection, i), get(target.URL, `,"state":"disabled"`))
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				codes[r.code]++
			}
		})
	}
	group.Wait()
	require.Equal(t, map[int]int{http.StatusCreated: 3, http.StatusConflict: 9}, codes)
	require.Equal(t, 3, call(t, http.MethodGet, collection+"/jobs", "").count("value"))
}

func TestDeletingACollectionDeletesItsJobs(t *testing.T) {
	t.Parallel()
	s, target := use(t), newSink(t, nil)
	collection := s.collection(t)
	for i := range 10 {
		r := call(t, http.MethodPut, fmt.Sprintf("%s/jobs/j%d", collection, i), get(target.URL+"/tick", `,"recurrence":{"frequency":"minute"}`))
		require.Equal(t, http.StatusCreated, r.code, r.body)
	}
	finish(t, call(t, http.MethodDelete, collection, ""))
	require.Equal(t, http.StatusNotFound, call(t, http.MethodGet, collection, "").code)
	require.Equal(t, http.StatusNotFound, call(t, http.MethodGet, collection+"/jobs/j3", "").code)
	require.Equal(t, http.StatusNotFound, call(t, http.MethodPut, collection+"/jobs/j3", get(target.URL, "")).code)
	require.NotContains(t, call(t, http.MethodGet, s.url+"/jobCollections", "").body, t.Name())
}

func TestADisabledCollectionKeepsItsJobsResting(t *testing.T) {
	t.Parallel()
	s, target := use(t), newSink(t, nil)
	collection := s.collection(t)
	r := call(t, http.MethodPut, collection, `{"properties":{"sku":{"name":"Standard"},"state":"Disabled"}}`)
	require.Equal(t, http.StatusOK, r.code, r.body)
	r = call(t, http.MethodPut, collection+"/jobs/j", get(target.URL+"/rest", ""))
	require.Equal(t, http.StatusCreated, r.code, r.body)
	require.Equal(t, "enabled", r.get("properties.state"))
	require.Empty(t, target.got("/rest"))
	r = call(t, http.MethodPut, collection, `{"properties":{"sku":{"name":"Standard"},"state":"Enabled"}}`)
	require.Equal(t, http.StatusOK, r.code, r.body)
	target.await(t, "/rest", 1)
}

func TestWritersDoNotLoseEachOthersFields(t *testing.T) {
	t.Parallel()
	s, target := use(t), newSink(t, nil)
	jobs := s.collection(t) + "/jobs"
	call(t, http.MethodPut, jobs+"/j", get(target.URL, `,"state":"disabled","recurrence":{"frequency":"day"}`))
	patches := []string{
		`{"properties":{"recurrence":{"interval":3}}}`, `{"properties":{"recurrence":{"count":7}}}`,
		`{"properties":{"action":{"request":{"method":"PUT"}}}}`, `{"properties":{"action":{"request":{"body":"b"}}}}`,
		`{"properties":{"startTime":"2026-01-02T03:04:05Z"}}`, `{"properties":{"action":{"retryPolicy":{"retryType":"none"}}}}`,
	}
	var group sync.WaitGroup
	for _, patch := range patches {
		group.Go(func() {
			if r, err := tryCall(t.Context(), http.MethodPatch, jobs+"/j", patch); err != nil || r.code != http.StatusOK {
				t.Errorf("PATCH %s: %d %s %v", patch, r.code, r.body, err)
			}
		})
	}
	group.Wait()
	r := call(t, http.MethodGet, jobs+"/j", "")
	for path, want := range map[string]any{
		"recurrence.interval": float64(3), "recurrence.count": float64(7), "action.request.method": "PUT",
		"action.request.body": "b", "startTime": "2026-01-02T03:04:05Z", "action.retryPolicy.retryType": "none",
	} {
		require.Equal(t, want, r.get("properties."+path), path)
	}
}

func TestSecretsAreNotReturned(t *testing.T) {
	t.Parallel()
	s := use(t)
	jobs := s.collection(t) + "/jobs"
	const canary = "canary-7f3a"
	r := call(t, http.MethodPut, jobs+"/j", `{"properties":{"state":"disabled","action":{"type":"Http","request":{"uri":"http://127.0.0.1/","method":"GET",
		"authentication":{"type":"Basic","username":"u","password":"`+canary+`"}},
		"errorAction":{"type":"StorageQueue","queueMessage":{"storageAccount":"a","queueName":"queue","sasToken":"`+canary+`","message":"m"}}}}}`)
	require.Equal(t, http.StatusCreated, r.code, r.body)
	require.NotContains(t, r.body, canary)
	patched := call(t, http.MethodPatch, jobs+"/j", `{"properties":{"action":{"request":{"method":"POST"}}}}`)
	require.Equal(t, http.StatusOK, patched.code, "a secret that is left out is kept: %s", patched.body)
	for _, url := range []string{jobs, jobs + "/j", jobs + "/j/history"} {
		require.NotContains(t, call(t, http.MethodGet, url, "").body, canary)
	}
}
