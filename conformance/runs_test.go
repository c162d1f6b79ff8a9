package conformance_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/services/scheduler/mgmt/2016-03-01/scheduler" //nolint:staticcheck // retired, as is the service
	"github.com/Azure/go-autorest/autorest/date"
	"github.com/stretchr/testify/require"
)

// A receiver is what jobs call. It fails at the path /fails.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, req)
	if req.URL.Path == "/fails" {
		http.Error(w, "not today", http.StatusServiceUnavailable)
	}
}

// count returns how many requests have come.
func (r *receiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.requests)
}

// last returns the latest request.
func (r *receiver) last() *http.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.requests[len(r.requests)-1]
}

func TestAJobThatRunsOnce(t *testing.T) {
	t.Parallel()
	c, ctx, target := newClient(t), t.Context(), newReceiver(t)
	c.create(t, scheduler.Standard)
	before := time.Now().Truncate(time.Second)
	c.put(t, "once", scheduler.JobProperties{Action: get(target.URL + "/hello")})
	done := c.awaitState(t, "once", scheduler.JobStateCompleted)
	require.Equal(t, scheduler.JobState("completed"), done.State)
	require.Equal(t, "once", target.last().Header.Get("X-Ms-Scheduler-Jobid"))

	status := *done.Status
	require.Nil(t, status.NextExecutionTime)
	require.False(t, status.LastExecutionTime.Before(before))
	require.Equal(t, []int32{1, 0, 0}, []int32{*status.ExecutionCount, *status.FailureCount, *status.FaultedCount})

	history, err := c.jobs.ListJobHistory(ctx, group, collection, "once", nil, nil, "")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, history.Response().StatusCode)
	require.Len(t, history.Values(), 1)
	entry := history.Values()[0]
	require.Equal(t, "Microsoft.Scheduler/jobCollections/jobs/history", *entry.Type)
	require.Contains(t, *entry.ID, "/jobs/once/history/")
	require.Contains(t, *entry.Name, collection+"/once/")
	p := entry.Properties
	require.Equal(t, scheduler.Completed, p.Status)
	require.Equal(t, scheduler.MainAction, p.ActionName)
	require.Equal(t, []int32{0, 1}, []int32{*p.RetryCount, *p.RepeatCount})
	require.Contains(t, *p.Message, "Http Action - Response from host '127.0.0.1")
	require.Contains(t, *p.Message, "'OK'")
	require.False(t, p.StartTime.Before(p.ExpectedExecutionTime.Time), "never early")
	require.False(t, p.EndTime.Before(p.StartTime.Time))
}

func TestHistoryTellsAttemptsFromTheErrorAction(t *testing.T) {
	t.Parallel()
	c, target := newClient(t), newReceiver(t)
	c.create(t, scheduler.Standard)
	action := get(target.URL + "/fails")
	action.RetryPolicy = &scheduler.RetryPolicy{RetryType: scheduler.Fixed, RetryInterval: new("00:00:15"), RetryCount: new(int32(1))}
	action.ErrorAction = &scheduler.JobErrorAction{Type: scheduler.HTTP, Request: get(target.URL + "/alarm").Request}
	c.put(t, "fails", scheduler.JobProperties{Action: action})
	faulted := c.awaitState(t, "fails", scheduler.JobStateFaulted)
	require.Equal(t, scheduler.JobState("faulted"), faulted.State)
	status := *faulted.Status
	require.Equal(t, []int32{1, 1, 1}, []int32{*status.ExecutionCount, *status.FailureCount, *status.FaultedCount})

	type entry struct {
		action        scheduler.JobHistoryActionName
		status        scheduler.JobExecutionStatus
		retry, repeat int32
	}
	entries := func(filter string) []entry {
		page, err := c.jobs.ListJobHistory(t.Context(), group, collection, "fails", nil, nil, filter)
		require.NoError(t, err)
		var all []entry
		for _, v := range page.Values() {
			p := v.Properties
			all = append(all, entry{p.ActionName, p.Status, *p.RetryCount, *p.RepeatCount})
		}
		return all
	}
	alarm := entry{scheduler.ErrorAction, scheduler.Completed, 0, 1}
	failures := []entry{{scheduler.MainAction, scheduler.Failed, 1, 1}, {scheduler.MainAction, scheduler.Failed, 0, 1}}
	require.Equal(t, append([]entry{alarm}, failures...), entries(""), "newest first")
	require.Equal(t, failures, entries("status eq Failed"))
	require.Equal(t, []entry{alarm}, entries("status eq Completed"))
}

func TestHistoryIsReadInParts(t *testing.T) {
	t.Parallel()
	c, ctx, target := newClient(t), t.Context(), newReceiver(t)
	c.create(t, scheduler.Standard)
	c.put(t, "daily", scheduler.JobProperties{
		Action:     get(target.URL),
		State:      scheduler.JobStateDisabled,
		Recurrence: &scheduler.JobRecurrence{Frequency: scheduler.Day},
	})
	repeats := func(top, skip *int32) []int32 {
		page, err := c.jobs.ListJobHistory(ctx, group, collection, "daily", top, skip, "")
		require.NoError(t, err)
		var all []int32
		for _, v := range page.Values() {
			all = append(all, *v.Properties.RepeatCount)
		}
		return all
	}
	require.Empty(t, repeats(nil, nil))
	for n := range 3 {
		ran, err := c.jobs.Run(ctx, group, collection, "daily")
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, ran.StatusCode)
		await(t, "run in the history", func() bool { return len(repeats(nil, nil)) == n+1 })
	}
	require.Equal(t, 3, target.count())
	require.Equal(t, []int32{3, 2, 1}, repeats(nil, nil))
	require.Equal(t, []int32{3, 2}, repeats(new(int32(2)), nil))
	require.Equal(t, []int32{1}, repeats(new(int32(2)), new(int32(2))))
	require.Equal(t, []int32{2}, repeats(new(int32(1)), new(int32(1))))
	require.Empty(t, repeats(nil, new(int32(3))))
	disabled := c.get(t, "daily").Status
	require.Nil(t, disabled.ExecutionCount, "the status of a disabled job has only what the client does not know")
	require.Nil(t, disabled.LastExecutionTime)

	all, err := c.jobs.ListJobHistoryComplete(ctx, group, collection, "daily", nil, nil, "")
	require.NoError(t, err)
	n := 0
	for ; all.NotDone(); err = all.NextWithContext(ctx) {
		require.NoError(t, err)
		n++
	}
	require.Equal(t, 3, n)
}

func TestAStoredSecretIsUsedUntilTheIdentityChanges(t *testing.T) {
	t.Parallel()
	c, ctx, target := newClient(t), t.Context(), newReceiver(t)
	c.create(t, scheduler.Standard)
	action := get(target.URL)
	action.Request.Authentication = scheduler.BasicAuthentication{Username: new("ada"), Password: new(canary + "password")}
	p := scheduler.JobProperties{Action: action, State: scheduler.JobStateDisabled}
	c.put(t, "basic", p)

	action.Request.Method = new("POST")
	action.Request.Authentication = scheduler.BasicAuthentication{Username: new("ada")} // as it is read
	c.put(t, "basic", p)
	_, err := c.jobs.Run(ctx, group, collection, "basic")
	require.NoError(t, err)
	await(t, "request", func() bool { return target.count() == 1 })
	require.Equal(t, http.MethodPost, target.last().Method)
	user, password, _ := target.last().BasicAuth()
	require.Equal(t, "ada", user)
	require.Equal(t, canary+"password", password)

	action.Request.Authentication = scheduler.BasicAuthentication{Username: new("grace")}
	_, err = c.jobs.CreateOrUpdate(ctx, group, collection, "basic", scheduler.JobDefinition{Properties: &p})
	status, body := serviceError(t, err)
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, body.Message, "password")
}

func TestAStartTimeIsKeptToTheTickOf100ns(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.create(t, scheduler.Standard)
	for _, tt := range []struct {
		name string
		at   time.Time
	}{
		{"whole seconds", time.Now().Add(time.Hour).Truncate(time.Second)},
		{"a fraction of 100 ns", time.Now().Add(time.Hour).Truncate(time.Second).Add(123456700)},
		{"an offset", time.Now().Add(time.Hour).Truncate(time.Second).In(time.FixedZone("", 5*60*60+30*60))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := c.put(t, "later", scheduler.JobProperties{Action: get("http://127.0.0.1/"), StartTime: &date.Time{Time: tt.at}}).Properties
			require.Equal(t, tt.at.UTC(), p.StartTime.UTC())
			require.Equal(t, tt.at.UTC(), c.get(t, "later").StartTime.UTC())
			require.Equal(t, tt.at.UTC().Truncate(time.Second), p.Status.NextExecutionTime.UTC(), "jobs are due at whole seconds")
		})
	}
}
