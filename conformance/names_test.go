package conformance_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/Azure/azure-sdk-for-go/services/scheduler/mgmt/2016-03-01/scheduler" //nolint:staticcheck // retired, as is the service
	"github.com/stretchr/testify/require"
)

func TestNamesMayHoldAnyLetters(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"täglich", "カフェ", "👩‍💻🚀", "\u212a", "Bericht (1) 'neu'"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, ctx, target := newClient(t), t.Context(), newReceiver(t)
			const group = "gruppe ü"
			made, err := c.collections.CreateOrUpdate(ctx, group, name, scheduler.JobCollectionDefinition{
				Properties: &scheduler.JobCollectionProperties{Sku: &scheduler.Sku{Name: scheduler.Standard}},
			})
			require.NoError(t, err)
			require.Equal(t, http.StatusCreated, made.StatusCode)
			require.Equal(t, name, *made.Name)

			daily := &scheduler.JobRecurrence{Frequency: scheduler.Day}
			created, err := c.jobs.CreateOrUpdate(ctx, group, name, name, scheduler.JobDefinition{Properties: &scheduler.JobProperties{
				Action: get(target.URL), Recurrence: daily, StartTime: tomorrow(),
			}})
			require.NoError(t, err)
			require.Equal(t, http.StatusCreated, created.StatusCode)
			require.Equal(t, "/subscriptions/"+c.subscription+"/resourceGroups/"+group+"/providers/Microsoft.Scheduler/jobCollections/"+name+"/jobs/"+name, *created.ID)
			require.Equal(t, name+"/"+name, *created.Name)

			page, err := c.jobs.List(ctx, group, name, nil, nil, "state eq Enabled")
			require.NoError(t, err)
			require.Len(t, page.Values(), 1)
			require.Equal(t, created.ID, page.Values()[0].ID)
			_, err = c.jobs.Run(ctx, group, name, name)
			require.NoError(t, err)
			await(t, "run of the job", func() bool {
				history, err := c.jobs.ListJobHistory(ctx, group, name, name, nil, nil, "")
				require.NoError(t, err)
				return len(history.Values()) == 1
			})
			sent, err := url.PathUnescape(target.requests[0].Header.Get("x-ms-scheduler-jobid"))
			require.NoError(t, err)
			require.Equal(t, name, sent)
			patched, err := c.jobs.Patch(ctx, group, name, name, scheduler.JobDefinition{Properties: &scheduler.JobProperties{State: scheduler.JobStateDisabled}})
			require.NoError(t, err)
			require.Equal(t, created.ID, patched.ID)

			future, err := c.collections.Disable(ctx, group, name)
			require.NoError(t, err)
			require.NoError(t, future.WaitForCompletionRef(ctx, c.collections.Client))
			_, err = c.jobs.Delete(ctx, group, name, name)
			require.NoError(t, err)
			_, err = c.jobs.Get(ctx, group, name, name)
			code, _ := serviceError(t, err)
			require.Equal(t, http.StatusNotFound, code)
		})
	}
}

func TestNamesThatCannotBeUsedAreRefused(t *testing.T) {
	t.Parallel()
	c, ctx := newClient(t), t.Context()
	c.create(t, scheduler.Standard)
	for _, name := range []string{"a/b", "a\nb", "a\u202eb", "a\xffb", "a%b"} {
		_, err := c.jobs.CreateOrUpdate(ctx, group, collection, name, scheduler.JobDefinition{Properties: &scheduler.JobProperties{Action: get("http://127.0.0.1/")}})
		code, body := serviceError(t, err)
		require.Equal(t, http.StatusBadRequest, code)
		require.Equal(t, "InvalidResourceName", body.Code)
		require.Contains(t, body.Message, "jobName")
	}
}
