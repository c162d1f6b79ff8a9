package conformance_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/services/scheduler/mgmt/2016-03-01/scheduler" //nolint:staticcheck // retired, as is the service
	"github.com/Azure/go-autorest/autorest/date"
	"github.com/stretchr/testify/require"
)

func TestWhatIsNotThereIsNotFound(t *testing.T) {
	t.Parallel()
	c, ctx := newClient(t), t.Context()
	c.create(t, scheduler.Standard)
	aJob := scheduler.JobDefinition{Properties: &scheduler.JobProperties{Action: get("http://127.0.0.1/")}}
	for _, tt := range []struct {
		name string
		call func() error
	}{
		{"get of a collection", func() error { _, err := c.collections.Get(ctx, group, "none"); return err }},
		{"patch of a collection", func() error {
			_, err := c.collections.Patch(ctx, group, "none", scheduler.JobCollectionDefinition{Tags: map[string]*string{"a": new("b")}})
			return err
		}},
		{"delete of a collection", func() error { _, err := c.collections.Delete(ctx, group, "none"); return err }},
		{"enable of a collection", func() error { _, err := c.collections.Enable(ctx, group, "none"); return err }},
		{"disable of a collection", func() error { _, err := c.collections.Disable(ctx, group, "none"); return err }},
		{"list of a collection", func() error { _, err := c.jobs.List(ctx, group, "none", nil, nil, ""); return err }},
		{"put into a collection", func() error { _, err := c.jobs.CreateOrUpdate(ctx, group, "none", "job", aJob); return err }},
		{"get of a job", func() error { _, err := c.jobs.Get(ctx, group, collection, "none"); return err }},
		{"patch of a job", func() error { _, err := c.jobs.Patch(ctx, group, collection, "none", aJob); return err }},
		{"delete of a job", func() error { _, err := c.jobs.Delete(ctx, group, collection, "none"); return err }},
		{"run of a job", func() error { _, err := c.jobs.Run(ctx, group, collection, "none"); return err }},
		{"history of a job", func() error {
			_, err := c.jobs.ListJobHistory(ctx, group, collection, "none", nil, nil, "")
			return err
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, body := serviceError(t, tt.call())
			require.Equal(t, http.StatusNotFound, status)
			require.Equal(t, "ResourceNotFound", body.Code)
			require.Contains(t, body.Message, "none")
			require.Contains(t, body.Message, group)
		})
	}
}

func TestABadJobIsRefusedFieldByField(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.create(t, scheduler.Standard)
	_, err := c.jobs.CreateOrUpdate(t.Context(), group, collection, "bad", scheduler.JobDefinition{Properties: &scheduler.JobProperties{
		Action: &scheduler.JobAction{Type: scheduler.HTTP},
		Recurrence: &scheduler.JobRecurrence{
			Frequency: scheduler.Week,
			Schedule:  &scheduler.JobRecurrenceSchedule{Hours: &[]int32{25}},
		},
	}})
	status, body := serviceError(t, err)
	require.Equal(t, http.StatusBadRequest, status)
	require.Equal(t, "BadRequest", body.Code)
	var targets []any
	for _, d := range body.Details {
		require.NotEmpty(t, d["message"])
		targets = append(targets, d["target"])
	}
	require.ElementsMatch(t, []any{"properties.action.request", "properties.recurrence.schedule.hours[0]"}, targets)
	require.Contains(t, body.Message, "hours[0]", "clients that show the message alone show the fields too")
}

func TestABadFilterIsRefused(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.create(t, scheduler.Standard)
	_, err := c.jobs.List(t.Context(), group, collection, nil, nil, "state eq Sleepy")
	status, body := serviceError(t, err)
	require.Equal(t, http.StatusBadRequest, status)
	require.Equal(t, "BadRequest", body.Code)
	require.Contains(t, body.Message, "$filter")
}

func TestQuotasAreConflicts(t *testing.T) {
	t.Parallel()
	c, ctx := newClient(t), t.Context()
	c.create(t, scheduler.Free)
	hourly := scheduler.JobProperties{
		Action:     get("http://127.0.0.1/"),
		State:      scheduler.JobStateDisabled,
		Recurrence: &scheduler.JobRecurrence{Frequency: scheduler.Hour},
	}
	for n := range 5 {
		c.put(t, fmt.Sprintf("job-%d", n), hourly)
	}
	conflict := func(err error) {
		t.Helper()
		status, body := serviceError(t, err)
		require.Equal(t, http.StatusConflict, status)
		require.NotEmpty(t, body.Code)
		require.NotEmpty(t, body.Message)
	}

	_, err := c.jobs.CreateOrUpdate(ctx, group, collection, "job-6", scheduler.JobDefinition{Properties: &hourly})
	conflict(err)
	c.put(t, "job-0", hourly) // what is there may be replaced still

	often := hourly
	often.Recurrence = &scheduler.JobRecurrence{Frequency: scheduler.Minute}
	_, err = c.jobs.CreateOrUpdate(ctx, group, collection, "job-0", scheduler.JobDefinition{Properties: &often})
	conflict(err)

	_, err = c.collections.CreateOrUpdate(ctx, group, "another", scheduler.JobCollectionDefinition{
		Properties: &scheduler.JobCollectionProperties{Sku: &scheduler.Sku{Name: scheduler.Free}},
	})
	conflict(err)
}

func TestACompletedJobIsRevivedByAScheduleWithAFuture(t *testing.T) {
	t.Parallel()
	c, ctx, target := newClient(t), t.Context(), newReceiver(t)
	c.create(t, scheduler.Standard)
	again := scheduler.JobDefinition{Properties: &scheduler.JobProperties{Action: get(target.URL)}}
	c.put(t, "once", *again.Properties)
	read := c.awaitState(t, "once", scheduler.JobStateCompleted)

	for _, same := range []scheduler.JobProperties{*again.Properties, read} {
		put := c.put(t, "once", same)
		require.Equal(t, http.StatusOK, put.StatusCode)
		require.Equal(t, scheduler.JobState("completed"), put.Properties.State)
	}
	patched, err := c.jobs.Patch(ctx, group, collection, "once", again)
	require.NoError(t, err)
	require.Equal(t, scheduler.JobState("completed"), patched.Properties.State)
	require.Equal(t, 1, target.count(), "it does not run again")
	ran, err := c.jobs.Run(ctx, group, collection, "once")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, ran.StatusCode)

	read.StartTime = &date.Time{Time: time.Now().Add(time.Hour)}
	revived := c.put(t, "once", read)
	require.Equal(t, http.StatusOK, revived.StatusCode)
	require.Equal(t, scheduler.JobState("enabled"), revived.Properties.State)
	require.NotNil(t, revived.Properties.Status.NextExecutionTime)

	deleted, err := c.jobs.Delete(ctx, group, collection, "once")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, deleted.StatusCode)
	made := c.put(t, "once", *again.Properties)
	require.Equal(t, http.StatusCreated, made.StatusCode)
}

// conditional sends a request for the job "it" with a header, as a client with support for preconditions does.
func (c client) conditional(ctx context.Context, method, body, header, value string) (status int, tag string) {
	url := fmt.Sprintf("%s/subscriptions/%s/resourceGroups/%s/providers/Microsoft.Scheduler/jobCollections/%s/jobs/it?api-version=2016-03-01",
		almanac, c.subscription, group, collection)
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	r.Header.Set(header, value)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	return resp.StatusCode, resp.Header.Get("ETag")
}

func TestAChangeIsMadeOnlyIfItsPreconditionHolds(t *testing.T) {
	t.Parallel()
	c, target := newClient(t), newReceiver(t)
	c.create(t, scheduler.Standard)
	definition := func(path string) string {
		return `{"properties":{"action":{"type":"Http","request":{"uri":"` + target.URL + path + `","method":"GET"}},"recurrence":{"frequency":"day"},"state":"disabled"}}`
	}
	answers := func(want int, method, body, header, value string) (tag string) {
		t.Helper()
		status, tag := c.conditional(t.Context(), method, body, header, value)
		require.Equal(t, want, status, tag)
		return tag
	}
	answers(http.StatusPreconditionFailed, http.MethodPut, definition("/a"), "If-Match", "*")
	answers(http.StatusCreated, http.MethodPut, definition("/a"), "If-None-Match", "*")
	answers(http.StatusPreconditionFailed, http.MethodPut, definition("/a"), "If-None-Match", "*")

	read := answers(http.StatusOK, http.MethodGet, "", "If-Match", "*")
	answers(http.StatusNotModified, http.MethodGet, "", "If-None-Match", read)
	_, err := c.jobs.Run(t.Context(), group, collection, "it")
	require.NoError(t, err)
	await(t, "execution", func() bool {
		status, _ := c.conditional(t.Context(), http.MethodGet, "", "If-None-Match", read)
		return status == http.StatusOK
	})

	statuses := make(chan int, 8)
	for n := range cap(statuses) { // all have read the same job
		go func() {
			status, _ := c.conditional(t.Context(), http.MethodPut, definition(fmt.Sprintf("/%d", n)), "If-Match", read)
			statuses <- status
		}()
	}
	count := map[int]int{}
	for range cap(statuses) {
		count[<-statuses]++
	}
	require.Equal(t, map[int]int{http.StatusOK: 1, http.StatusPreconditionFailed: cap(statuses) - 1}, count)
	answers(http.StatusPreconditionFailed, http.MethodDelete, "", "If-Match", read)
	changed := answers(http.StatusOK, http.MethodGet, "", "If-Match", "*")
	answers(http.StatusOK, http.MethodDelete, "", "If-Match", changed)
	answers(http.StatusNotFound, http.MethodDelete, "", "If-Match", changed)
}
