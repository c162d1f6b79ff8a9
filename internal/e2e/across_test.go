package e2e_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"almanac/job"
	"almanac/scheduler"
)

// across lists entries across jobs, following the links, as the name of the job and the member of properties.
func across(t *testing.T, list, member string) []string {
	t.Helper()
	entries, refused := tryAcross(t, list, member)
	require.Empty(t, refused)
	return entries
}

// tryAcross is across, which returns what an API answers instead of a page. It leaves out collections that could not be
// read: a list of the whole subscription has those of all tests.
func tryAcross(t *testing.T, list, member string) (entries []string, refused string) {
	t.Helper()
	for list != "" {
		r := call(t, http.MethodGet, list, "")
		if r.code != http.StatusOK {
			return nil, fmt.Sprint(r.code, " ", r.body)
		}
		for i := range r.count("value") {
			name, _ := r.get(fmt.Sprintf("value.%d.name", i)).(string)
			if parts := strings.Split(name, "/"); len(parts) > 1 {
				entries = append(entries, parts[1]+" "+fmt.Sprint(r.get(fmt.Sprintf("value.%d.properties.%s", i, member))))
			}
		}
		list, _ = r.get("nextLink").(string)
	}
	return entries, ""
}

func filter(text string) string { return "$filter=" + url.QueryEscape(text) }

func TestWhatHappenedAndWhatComesNextAcrossJobs(t *testing.T) {
	t.Parallel()
	s := use(t)
	target := newSink(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/fails" {
			http.Error(w, "not today", http.StatusServiceUnavailable)
		}
	})
	c := s.collection(t)
	created(t, c+"/jobs/fine", get(target.URL+"/fine", ""))
	created(t, c+"/jobs/failing", `{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":"`+target.URL+`/fails"},"retryPolicy":{"retryType":"none"}}}}`)
	start := time.Now().UTC().Truncate(time.Hour).Add(30*time.Minute + 7*time.Second)
	created(t, c+"/jobs/later", get(target.URL+"/later", `,"startTime":"`+start.Add(-time.Hour).Format(time.RFC3339)+`","recurrence":{"frequency":"minute","interval":30}`))
	created(t, c+"/jobs/off", get(target.URL+"/later", `,"state":"disabled","startTime":"`+start.Format(time.RFC3339)+`","recurrence":{"frequency":"minute"}`))
	status(t, c+"/jobs/fine", "properties.state", "completed")
	status(t, c+"/jobs/failing", "properties.state", "faulted")

	begins := func(with string) string { return filter("startswith(name,'" + with + "')") }
	require.ElementsMatch(t, []string{"fine Completed", "failing Failed"}, across(t, c+"/history?"+begins("F"), "status"))
	require.Equal(t, []string{"failing Failed"}, across(t, c+"/history?"+filter("status eq Failed"), "status"))
	require.Equal(t, []string{"fine Completed"}, across(t, c+"/history?"+begins("FI"), "status"))
	require.Empty(t, across(t, c+"/history?"+filter("lateness ge PT10M"), "status"))
	r := call(t, http.MethodPost, c+"/jobs/fine/run", "")
	require.Equal(t, http.StatusOK, r.code, r.body)
	eventually(t, "manual run in the history", func() bool {
		return len(across(t, c+"/history?"+filter("name eq 'fine' and status eq Completed"), "status")) == 2
	})
	require.Equal(t, "fine Completed", across(t, c+"/history?"+begins("f"), "status")[0], "the newest comes first")
	all := s.url + "/subscriptions/00000000-0000-0000-0000-000000000000/providers/Microsoft.Scheduler"
	eventually(t, "job in the history of the subscription", func() bool {
		// 503 while it takes long
		entries, _ := tryAcross(t, all+"/history?api-version=2016-03-01&"+filter("name eq 'failing'"), "status")
		return slices.Contains(entries, "failing Failed")
	})

	var want []string
	from, until := time.Now(), time.Now().UTC().Add(2*time.Hour)
	for at := start.Add(-time.Hour); at.Before(until); at = at.Add(30 * time.Minute) {
		if at.After(from) {
			want = append(want, "later "+at.Format(time.RFC3339))
		}
	}
	upcoming := c + "/upcoming?until=" + until.Format(time.RFC3339)
	got := across(t, upcoming, "expectedExecutionTime")
	require.Subset(t, want, got)
	require.GreaterOrEqual(t, len(got), 3, "%v of %v", got, want)
	require.Equal(t, 1, call(t, http.MethodGet, c+"/jobs?"+filter("nextExecutionTime le "+until.Format(time.RFC3339)), "").count("value"))

	r = call(t, http.MethodPatch, c+"/jobs/later", `{"properties":{"state":"disabled"}}`)
	require.Equal(t, http.StatusOK, r.code, r.body)
	require.Empty(t, across(t, upcoming, "expectedExecutionTime"), "a change shows at once")
	r = call(t, http.MethodPatch, c+"/jobs/later", `{"properties":{"state":"enabled"}}`)
	require.Equal(t, http.StatusOK, r.code, r.body)
	require.NotEmpty(t, across(t, upcoming, "expectedExecutionTime"))
	r = call(t, http.MethodPost, c+"/disable", "")
	require.Equal(t, http.StatusOK, r.code, r.body)
	require.Empty(t, across(t, upcoming, "expectedExecutionTime"))
	r = status(t, c+"/jobs/later", "properties.status.nextExecutionTime", nil)
	require.Contains(t, r.get("properties.status.reason"), "The job collection is disabled")
	r = call(t, http.MethodPost, c+"/enable", "")
	require.Equal(t, http.StatusOK, r.code, r.body)
	require.NotEmpty(t, across(t, upcoming, "expectedExecutionTime"))
}

// With so many jobs, Temporal's list says which of them can have run.
func TestTheHistoryOfManyJobsHasWhatRanOnAndOffTheirTimetables(t *testing.T) {
	t.Parallel()
	const jobs = 505
	s, target := use(t), newSink(t, nil)
	c := s.collection(t)
	sleeps := get(target.URL+"/", `,"startTime":"`+time.Now().AddDate(1, 0, 0).Format(time.RFC3339)+`","recurrence":{"frequency":"hour"}`)
	compute(func() {
		var group errgroup.Group
		group.SetLimit(16)
		for i := range jobs {
			group.Go(func() error {
				r, err := tryCall(t.Context(), http.MethodPut, fmt.Sprintf("%s/jobs/j%03d", c, i), sleeps)
				if err == nil && r.code != http.StatusCreated {
					err = errors.New(r.body)
				}
				return err
			})
		}
		require.NoError(t, group.Wait())
	})
	var due time.Time
	eventually(t, "job that is due soon", func() bool { // an API that takes until then has answered 503 before
		due = time.Now().UTC().Add(20 * time.Second).Truncate(time.Second)
		code := call(t, http.MethodPut, c+"/jobs/regular", get(target.URL+"/", `,"startTime":"`+due.Format(time.RFC3339)+`","recurrence":{"frequency":"hour"}`)).code
		return code == http.StatusCreated || code == http.StatusOK
	})
	eventually(t, "execution in the history", func() bool {
		return slices.Equal([]string{"regular Completed"}, across(t, c+"/history", "status"))
	})
	k := job.CollectionKey{Subscription: "00000000-0000-0000-0000-000000000000", ResourceGroup: "default", Name: c[strings.LastIndexByte(c, '/')+1:]}.Job("j007")
	_, err := scheduler.New(scheduler.Options{Client: s.temporal}).RunJob(t.Context(), k, false)
	require.NoError(t, err, "by another API")
	eventually(t, "manual run in the history", func() bool {
		return slices.Equal([]string{"j007 Completed", "regular Completed"}, across(t, c+"/history", "status"))
	})
	until := due.Add(time.Hour).Format(time.RFC3339)
	require.Equal(t, []string{"regular " + until}, across(t, c+"/upcoming?until="+until, "expectedExecutionTime"))
}
