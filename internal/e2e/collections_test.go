package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// repeatable are the methods of requests that can be sent again: two of them do what one does.
var repeatable = []string{http.MethodGet, http.MethodPut, http.MethodPatch}

// expect calls an API and returns an error unless it answers with that status. Where a slow machine answers 503, and
// once more is as good as once, it tries again, as the clients of Azure do; what was created at the first try is there
// by then.
func expect(t *testing.T, code int, method, url, body string) error {
	r, err := tryCall(t.Context(), method, url, body)
	for deadline := time.Now().Add(patience); err == nil && r.code == http.StatusServiceUnavailable && slices.Contains(repeatable, method) && time.Now().Before(deadline); {
		r, err = tryCall(t.Context(), method, url, body)
		if err == nil && code == http.StatusCreated && r.code == http.StatusOK {
			return nil
		}
	}
	if err == nil && r.code != code {
		err = fmt.Errorf("%s %s: %d %s", method, url, r.code, r.body)
	}
	return err
}

// later is when jobs start that are not to run during a test.
var later = `,"startTime":"` + time.Now().AddDate(1, 0, 0).UTC().Format(time.RFC3339) + `"`

// finish waits for the end of an operation, if there is one. A job that did not answer in time, on a slow machine, is
// updated after that.
func finish(t *testing.T, r reply) {
	t.Helper()
	if r.code == http.StatusOK {
		return
	}
	require.Equal(t, http.StatusAccepted, r.code, r.body)
	state, result := r.head.Get("Azure-AsyncOperation"), r.head.Get("Location")
	require.NotEmpty(t, state)
	var ended reply
	eventually(t, "end of the operation", func() bool {
		ended = call(t, http.MethodGet, state, "")
		return ended.get("status") == "Succeeded" || ended.get("status") == "Failed"
	})
	if ended.get("status") == "Failed" {
		require.Equal(t, "JobsDidNotAnswer", ended.get("error.code"), ended.body)
		return
	}
	require.Equal(t, http.StatusOK, call(t, http.MethodGet, result, "").code)
}

func TestNothingIsLostWhereARunOfACollectionHandsOver(t *testing.T) {
	t.Parallel()
	s := use(t)
	url := s.collection(t)
	var group errgroup.Group
	group.SetLimit(8)
	compute(func() {
		for i := range 1100 { // a run takes 1,000 changes
			group.Go(func() error {
				return expect(t, http.StatusOK, http.MethodPut, url, fmt.Sprintf(`{"properties":{"sku":{"name":"P20Premium"}},"tags":{"n":"%d"}}`, i))
			})
			if i%4 == 0 {
				group.Go(func() error { return expect(t, http.StatusOK, http.MethodGet, url, "") })
			}
		}
		require.NoError(t, group.Wait())
	})
}

func TestAnOperationOnManyJobs(t *testing.T) {
	t.Parallel()
	target, collections := newSink(t, nil), subscription(use(t)) // which has one free collection
	url := func(path string) string { return collections + "c" + path + version }
	require.Equal(t, http.StatusCreated, call(t, http.MethodPut, url(""), `{"properties":{"sku":{"name":"P20Premium"}}}`).code)
	const jobs = 200
	var group errgroup.Group
	group.SetLimit(16)
	compute(func() {
		for i := range jobs {
			more := later
			if i%20 == 0 {
				more += `,"state":"disabled"`
			}
			group.Go(func() error {
				return expect(t, http.StatusCreated, http.MethodPut, url(fmt.Sprint("/jobs/j", i)), get(target.URL+"/in", more))
			})
		}
		require.NoError(t, group.Wait())
	})

	finish(t, call(t, http.MethodPost, url("/disable"), ""))
	require.Equal(t, "Disabled", call(t, http.MethodGet, url(""), "").get("properties.state"))
	r := status(t, url("/jobs/j1"), "properties.status.nextExecutionTime", nil)
	require.Equal(t, "enabled", r.get("properties.state"), "a job's own state is as it was")
	call(t, http.MethodPut, url("/jobs/new"), get(target.URL+"/in", ""))

	finish(t, call(t, http.MethodPost, url("/enable"), ""))
	target.await(t, "/in", 1) // the new one
	eventually(t, "occurrence ahead", func() bool {
		return call(t, http.MethodGet, url("/jobs/j1"), "").get("properties.status.nextExecutionTime") != nil
	})
	require.Equal(t, "disabled", call(t, http.MethodGet, url("/jobs/j20"), "").get("properties.state"))

	finish(t, call(t, http.MethodDelete, url(""), ""))
	require.Equal(t, http.StatusNotFound, call(t, http.MethodGet, url(""), "").code)
	require.Equal(t, http.StatusNotFound, call(t, http.MethodGet, url("/jobs/j1"), "").code)
	require.Equal(t, http.StatusCreated, call(t, http.MethodPut, url(""), `{"properties":{"sku":{"name":"Free"}}}`).code)
	require.Equal(t, 0, call(t, http.MethodGet, url("/jobs"), "").count("value"))
	r = call(t, http.MethodGet, url("/operations/"+uuid.NewString()+"."+uuid.NewString()), "")
	require.Equal(t, http.StatusNotFound, r.code, r.body)
}

// subscription is a subscription of the test's own.
func subscription(s *stack) string {
	return s.url + "/subscriptions/" + uuid.NewString() + "/resourceGroups/Group/providers/Microsoft.Scheduler/jobCollections/"
}

const version = "?api-version=2016-03-01"

func TestTheLastFreeCollectionOfASubscriptionIsGivenOnce(t *testing.T) {
	t.Parallel()
	collections := subscription(use(t))
	free := `{"properties":{"sku":{"name":"Free"}}}`
	var created, refused atomic.Int32
	var group errgroup.Group
	for i := range 20 {
		group.Go(func() error {
			r, err := tryCall(t.Context(), http.MethodPut, fmt.Sprint(collections, "c", i, version), free)
			switch {
			case err != nil:
				return err
			case r.code == http.StatusCreated:
				created.Add(1)
			case r.code == http.StatusConflict && r.get("error.code") == "ConflictError":
				refused.Add(1)
			default:
				return fmt.Errorf("%d %s", r.code, r.body)
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	require.Equal(t, []int32{1, 19}, []int32{created.Load(), refused.Load()})

	r := call(t, http.MethodGet, strings.TrimSuffix(collections, "/")+version, "")
	require.Equal(t, 1, r.count("value"), r.body)
	first := collections + r.get("value.0.name").(string) + version
	require.Equal(t, http.StatusCreated, call(t, http.MethodPut, collections+"other"+version, `{"properties":{"sku":{"name":"Standard"}}}`).code)
	r = call(t, http.MethodPut, collections+"other"+version, free)
	require.Equal(t, http.StatusConflict, r.code, r.body)
	require.Equal(t, http.StatusOK, call(t, http.MethodPut, first, `{"properties":{"sku":{"name":"Standard"}}}`).code)
	require.Equal(t, http.StatusOK, call(t, http.MethodPut, collections+"other"+version, free).code, "its place is free now")
	require.Equal(t, http.StatusConflict, call(t, http.MethodPatch, first, free).code)
	finish(t, call(t, http.MethodDelete, collections+"other"+version, ""))
	require.Equal(t, http.StatusOK, call(t, http.MethodPatch, first, free).code)
}

func TestAPlanThatThePresentJobsViolateIsRefused(t *testing.T) {
	t.Parallel()
	collections := subscription(use(t))
	url := func(path string) string { return collections + "c" + path + version }
	plan := func(sku, more string) string { return `{"properties":{"sku":{"name":"` + sku + `"}` + more + `}}` }
	conflict := func(want, method, target, body string) {
		t.Helper()
		r := call(t, method, target, body)
		require.Equal(t, http.StatusConflict, r.code, r.body)
		require.Equal(t, "ConflictError", r.get("error.code"))
		require.Contains(t, r.get("error.message"), want)
	}
	put := func(name, more string) {
		t.Helper()
		r := call(t, http.MethodPut, url("/jobs/"+name), get("http://127.0.0.1:1/", later+more))
		require.Less(t, r.code, 300, r.body)
	}
	every := func(unit string) string { return `,"recurrence":{"frequency":"` + unit + `"}` }
	require.Equal(t, http.StatusCreated, call(t, http.MethodPut, url(""), plan("Standard", "")).code)

	put("a", every("minute"))
	conflict("'a'", http.MethodPut, url(""), plan("Free", ""))
	put("a", every("hour"))
	require.Equal(t, http.StatusOK, call(t, http.MethodPut, url(""), plan("Free", "")).code)
	conflict("Free", http.MethodPut, url("/jobs/b"), get("http://127.0.0.1:1/", every("minute")))
	conflict("Free", http.MethodPatch, url("/jobs/a"), `{"properties":{"recurrence":{"frequency":"minute"}}}`)
	conflict("Free", http.MethodPatch, url("/jobs/a"), `{"properties":{"recurrence":{"frequency":"day","schedule":{"minutes":[0,30]}}}}`)
	conflict("Free", http.MethodPatch, url("/jobs/a"), `{"properties":{"action":{"request":{"authentication":{"type":"Basic","username":"u","password":"p"}}}}}`)
	require.Equal(t, "hour", call(t, http.MethodGet, url("/jobs/a"), "").get("properties.recurrence.frequency"))
	for i := range 4 {
		put(fmt.Sprint("more", i), "")
	}
	conflict("5", http.MethodPut, url("/jobs/sixth"), get("http://127.0.0.1:1/", ""))

	require.Equal(t, http.StatusOK, call(t, http.MethodPatch, url(""), plan("Standard", `,"quota":{"maxJobCount":6}`)).code)
	put("sixth", "")
	conflict("6", http.MethodPut, url("/jobs/seventh"), get("http://127.0.0.1:1/", ""))
	conflict("5", http.MethodPatch, url(""), `{"properties":{"quota":{"maxJobCount":5}}}`)
	conflict("'a'", http.MethodPatch, url(""), `{"properties":{"quota":{"maxRecurrence":{"frequency":"day","interval":1}}}}`)
	require.Equal(t, http.StatusOK, call(t, http.MethodDelete, url("/jobs/a"), "").code)
	require.Equal(t, http.StatusOK, call(t, http.MethodPatch, url(""), `{"properties":{"quota":{"maxRecurrence":{"frequency":"day","interval":1}}}}`).code)
}

func TestAPatchStormKeepsEveryField(t *testing.T) {
	t.Parallel()
	s := use(t)
	job := s.collection(t) + "/jobs/j"
	require.Equal(t, http.StatusCreated, call(t, http.MethodPut, job, get("http://127.0.0.1:1/", later)).code)
	var group errgroup.Group
	for i := range 40 {
		group.Go(func() error {
			return expect(t, http.StatusOK, http.MethodPatch, job, fmt.Sprintf(`{"properties":{"action":{"request":{"headers":{"X-%d":"%d"}}}}}`, i, i))
		})
	}
	require.NoError(t, group.Wait())
	headers, _ := call(t, http.MethodGet, job, "").get("properties.action.request.headers").(map[string]any)
	require.Len(t, headers, 40)
}

func TestPagesStayRightWhileJobsComeAndGo(t *testing.T) {
	t.Parallel()
	s := use(t)
	jobs := s.collection(t) + "/jobs"
	put := func(name string) {
		require.NoError(t, expect(t, http.StatusCreated, http.MethodPut, jobs+"/"+name, get("http://127.0.0.1:1/", later)))
	}
	for i := range 105 {
		put(fmt.Sprint("j", i))
	}
	seen := map[string]int{}
	read := func(link string) reply {
		r := call(t, http.MethodGet, link, "")
		require.Equal(t, http.StatusOK, r.code, r.body)
		for i := range r.count("value") {
			seen[r.get(fmt.Sprintf("value.%d.properties.startTime", i)).(string)+r.get(fmt.Sprintf("value.%d.name", i)).(string)]++
		}
		return r
	}
	first := read(jobs)
	require.Equal(t, 100, first.count("value"))
	for _, name := range []string{"j0", "j50", "j99"} {
		require.NoError(t, expect(t, http.StatusOK, http.MethodDelete, jobs+"/"+name, ""))
	}
	put("j0") // it is a new one
	second := read(first.get("nextLink").(string))
	require.Equal(t, 6, second.count("value"))
	require.Nil(t, second.get("nextLink"))
	require.Len(t, seen, 105, "none is left out")
}

func TestPostMakesAName(t *testing.T) {
	t.Parallel()
	s := use(t)
	jobs := s.collection(t) + "/jobs"
	r := call(t, http.MethodPost, jobs, get("http://127.0.0.1:1/", `,"state":"disabled"`))
	require.Equal(t, http.StatusCreated, r.code, r.body)
	_, name, _ := strings.Cut(r.get("name").(string), "/")
	require.NoError(t, uuid.Validate(name))
	require.Equal(t, r.body, call(t, http.MethodGet, jobs+"/"+name, "").body)
	require.Equal(t, http.StatusOK, call(t, http.MethodGet, r.head.Get("Location"), "").code)
}
