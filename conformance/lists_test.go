package conformance_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/Azure/azure-sdk-for-go/services/scheduler/mgmt/2016-03-01/scheduler" //nolint:staticcheck // retired, as is the service
	"github.com/stretchr/testify/require"
)

func TestJobsAreListedInParts(t *testing.T) {
	t.Parallel()
	c, ctx := newClient(t), t.Context()
	c.create(t, scheduler.Standard)
	daily := &scheduler.JobRecurrence{Frequency: scheduler.Day}
	for i, name := range []string{"a", "b", "c", "d"} { // in the order of their names, whatever lists are sorted by
		state := []scheduler.JobState{scheduler.JobStateEnabled, scheduler.JobStateDisabled}[i%2]
		c.put(t, name, scheduler.JobProperties{Action: get("http://127.0.0.1/"), State: state, Recurrence: daily, StartTime: tomorrow()})
	}
	for _, tt := range []struct {
		name      string
		top, skip *int32
		filter    string
		want      []string
	}{
		{"all", nil, nil, "", []string{"a", "b", "c", "d"}},
		{"the first", new(int32(1)), nil, "", []string{"a"}},
		{"the next two", new(int32(2)), new(int32(1)), "", []string{"b", "c"}},
		{"the rest", nil, new(int32(3)), "", []string{"d"}},
		{"none beyond the end", nil, new(int32(4)), "", nil},
		{"the most that can be asked for", new(int32(100)), nil, "", []string{"a", "b", "c", "d"}},
		{"by state", nil, nil, "state eq Enabled", []string{"a", "c"}},
		{"by state in lower case", nil, nil, "state eq disabled", []string{"b", "d"}},
		{"by state and in part", new(int32(1)), new(int32(1)), "state eq Enabled", []string{"c"}},
		{"by a state that none has", nil, nil, "state eq Faulted", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			page, err := c.jobs.List(ctx, group, collection, tt.top, tt.skip, tt.filter)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, page.Response().StatusCode)
			require.Nil(t, page.Response().NextLink)
			var names []string
			for _, j := range page.Values() {
				names = append(names, (*j.Name)[len(collection+"/"):])
			}
			require.Equal(t, tt.want, names)
		})
	}
}

// many is how many jobs need three pages, and enough for an operation on all
// of them to be answered before it is done.
const many = 250

func TestManyJobs(t *testing.T) {
	t.Parallel()
	c, ctx := newClient(t), t.Context()
	c.create(t, scheduler.P20Premium)
	names := make(chan string, many)
	for n := range many {
		names <- fmt.Sprintf("job-%03d", n)
	}
	close(names)
	p := scheduler.JobProperties{Action: get("http://127.0.0.1/"), Recurrence: &scheduler.JobRecurrence{Frequency: scheduler.Day}, StartTime: tomorrow()}
	var writers sync.WaitGroup
	for range 8 {
		writers.Go(func() {
			for name := range names {
				if _, err := c.jobs.CreateOrUpdate(ctx, group, collection, name, scheduler.JobDefinition{Properties: &p}); err != nil {
					t.Errorf("put %s: %v", name, err)
				}
			}
		})
	}
	writers.Wait()

	t.Run("are listed page by page, each job once", func(t *testing.T) {
		seen := map[string]int{}
		jobs, err := c.jobs.ListComplete(ctx, group, collection, nil, nil, "")
		require.NoError(t, err)
		require.NotNil(t, jobs.Response().NextLink)
		for ; jobs.NotDone(); err = jobs.NextWithContext(ctx) {
			require.NoError(t, err)
			seen[*jobs.Value().Name]++
		}
		require.Len(t, seen, many)
		for name, times := range seen {
			require.Equal(t, 1, times, name)
		}
	})

	t.Run("are listed page by page, of one state", func(t *testing.T) {
		page, err := c.jobs.List(ctx, group, collection, nil, nil, "state eq Enabled")
		var sizes []int
		for ; page.NotDone(); err = page.NextWithContext(ctx) {
			require.NoError(t, err)
			sizes = append(sizes, len(page.Values()))
		}
		require.NoError(t, err)
		require.Equal(t, []int{100, 100, 50}, sizes)
	})

	// Each may be answered with 200, or with 202 and where to ask on.
	t.Run("are disabled with their collection", func(t *testing.T) {
		future, err := c.collections.Disable(ctx, group, collection)
		require.NoError(t, err)
		t.Logf("answered with %s", future.Response().Status)
		require.NoError(t, future.WaitForCompletionRef(ctx, c.collections.Client))
		_, err = future.Result(c.collections)
		require.NoError(t, err)
	})
	t.Run("are enabled with their collection", func(t *testing.T) {
		future, err := c.collections.Enable(ctx, group, collection)
		require.NoError(t, err)
		t.Logf("answered with %s", future.Response().Status)
		require.NoError(t, future.WaitForCompletionRef(ctx, c.collections.Client))
		_, err = future.Result(c.collections)
		require.NoError(t, err)
		require.NotNil(t, c.get(t, "job-249").Status.NextExecutionTime)
	})
	t.Run("are deleted with their collection", func(t *testing.T) {
		future, err := c.collections.Delete(ctx, group, collection)
		require.NoError(t, err)
		t.Logf("answered with %s", future.Response().Status)
		require.NoError(t, future.WaitForCompletionRef(ctx, c.collections.Client))
		_, err = future.Result(c.collections)
		require.NoError(t, err)
		for _, name := range []string{"job-000", "job-249"} {
			_, err = c.jobs.Get(ctx, group, collection, name)
			status, _ := serviceError(t, err)
			require.Equal(t, http.StatusNotFound, status)
		}
	})
}
