package conformance_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/Azure/azure-sdk-for-go/services/scheduler/mgmt/2016-03-01/scheduler" //nolint:staticcheck // retired, as is the service
	"github.com/stretchr/testify/require"
)

func TestACollectionFromCreateToDelete(t *testing.T) {
	t.Parallel()
	c, ctx := newClient(t), t.Context()
	definition := scheduler.JobCollectionDefinition{
		Name:     new(collection),
		Location: new("North Europe"),
		Tags:     map[string]*string{"team": new("platform")},
		Properties: &scheduler.JobCollectionProperties{
			Sku:   &scheduler.Sku{Name: scheduler.Standard},
			State: scheduler.Enabled,
			Quota: &scheduler.JobCollectionQuota{
				MaxJobCount:      new(int32(20)),
				MaxJobOccurrence: new(int32(3)),
				MaxRecurrence:    &scheduler.JobMaxRecurrence{Frequency: scheduler.Hour, Interval: new(int32(2))},
			},
		},
	}

	created, err := c.collections.CreateOrUpdate(ctx, group, collection, definition)
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, created.StatusCode)
	require.Equal(t, "/subscriptions/"+c.subscription+"/resourceGroups/"+group+"/providers/Microsoft.Scheduler/jobCollections/"+collection, *created.ID)
	require.Equal(t, "Microsoft.Scheduler/jobCollections", *created.Type)
	require.Equal(t, collection, *created.Name)
	require.Equal(t, definition.Location, created.Location)
	require.Equal(t, definition.Tags, created.Tags)
	want := *definition.Properties
	want.Quota = &scheduler.JobCollectionQuota{ // without maxJobOccurrence, which has no effect
		MaxJobCount:   new(int32(20)),
		MaxRecurrence: &scheduler.JobMaxRecurrence{Frequency: "hour", Interval: new(int32(2))},
	}
	require.Equal(t, want, *created.Properties)

	got, err := c.collections.Get(ctx, group, collection)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, got.StatusCode)
	require.Equal(t, created.Properties, got.Properties)

	definition.Properties.Quota = nil
	replaced, err := c.collections.CreateOrUpdate(ctx, group, collection, definition)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, replaced.StatusCode)
	require.Nil(t, replaced.Properties.Quota, "what a PUT leaves out is gone")

	deleted, err := c.collections.Delete(ctx, group, collection)
	require.NoError(t, err)
	require.NoError(t, deleted.WaitForCompletionRef(ctx, c.collections.Client))
	result, err := deleted.Result(c.collections)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, result.StatusCode)
	_, err = c.collections.Get(ctx, group, collection)
	status, _ := serviceError(t, err)
	require.Equal(t, http.StatusNotFound, status)
}

func TestACollectionHasAnyPlanAndState(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	for _, plan := range []scheduler.SkuDefinition{scheduler.Free, scheduler.Standard, scheduler.P10Premium, scheduler.P20Premium} {
		for _, state := range []scheduler.JobCollectionState{scheduler.Enabled, scheduler.Disabled, scheduler.Suspended} {
			got, err := c.collections.CreateOrUpdate(t.Context(), group, collection, scheduler.JobCollectionDefinition{
				Properties: &scheduler.JobCollectionProperties{Sku: &scheduler.Sku{Name: plan}, State: state},
			})
			require.NoError(t, err, "%s, %s", plan, state)
			require.Equal(t, plan, got.Properties.Sku.Name)
			require.Equal(t, state, got.Properties.State)
		}
	}
}

func TestPatchOfACollectionChangesOnlyWhatItNames(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.create(t, scheduler.Standard)
	for _, tt := range []struct {
		name  string
		patch scheduler.JobCollectionDefinition
		want  scheduler.JobCollectionProperties
	}{
		{
			"its tags",
			scheduler.JobCollectionDefinition{Tags: map[string]*string{"team": new("platform")}},
			scheduler.JobCollectionProperties{Sku: &scheduler.Sku{Name: scheduler.Standard}, State: scheduler.Enabled},
		},
		{
			"its plan",
			scheduler.JobCollectionDefinition{Properties: &scheduler.JobCollectionProperties{Sku: &scheduler.Sku{Name: scheduler.P20Premium}}},
			scheduler.JobCollectionProperties{Sku: &scheduler.Sku{Name: scheduler.P20Premium}, State: scheduler.Enabled},
		},
		{
			"its quota",
			scheduler.JobCollectionDefinition{Properties: &scheduler.JobCollectionProperties{
				Quota: &scheduler.JobCollectionQuota{MaxJobCount: new(int32(7))},
			}},
			scheduler.JobCollectionProperties{
				Sku: &scheduler.Sku{Name: scheduler.P20Premium}, State: scheduler.Enabled,
				Quota: &scheduler.JobCollectionQuota{MaxJobCount: new(int32(7))},
			},
		},
		{
			"its state",
			scheduler.JobCollectionDefinition{Properties: &scheduler.JobCollectionProperties{State: scheduler.Disabled}},
			scheduler.JobCollectionProperties{
				Sku: &scheduler.Sku{Name: scheduler.P20Premium}, State: scheduler.Disabled,
				Quota: &scheduler.JobCollectionQuota{MaxJobCount: new(int32(7))},
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := c.collections.Patch(t.Context(), group, collection, tt.patch)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, got.StatusCode)
			require.Equal(t, tt.want, *got.Properties)
			require.Equal(t, "North Europe", *got.Location)
			require.Equal(t, map[string]*string{"team": new("platform")}, got.Tags)
		})
	}
}

func TestCollectionsAreListedByGroupAndBySubscription(t *testing.T) {
	t.Parallel()
	c, ctx := newClient(t), t.Context()
	create := func(inGroup, name string) {
		_, err := c.collections.CreateOrUpdate(ctx, inGroup, name, scheduler.JobCollectionDefinition{
			Properties: &scheduler.JobCollectionProperties{Sku: &scheduler.Sku{Name: scheduler.Standard}},
		})
		require.NoError(t, err)
	}
	create(group, "b")
	create(group, "a")
	create("other", "c")

	var names []string
	inGroup, err := c.collections.ListByResourceGroupComplete(ctx, group)
	require.NoError(t, err)
	for ; inGroup.NotDone(); err = inGroup.NextWithContext(ctx) {
		require.NoError(t, err)
		names = append(names, *inGroup.Value().Name)
	}
	require.Equal(t, []string{"a", "b"}, names)

	names = nil
	inAll, err := c.collections.ListBySubscriptionComplete(ctx)
	require.NoError(t, err)
	for ; inAll.NotDone(); err = inAll.NextWithContext(ctx) {
		require.NoError(t, err)
		names = append(names, *inAll.Value().Name)
	}
	slices.Sort(names)
	require.Equal(t, []string{"a", "b", "c"}, names)

	none, err := newClient(t).collections.ListBySubscription(ctx)
	require.NoError(t, err)
	require.False(t, none.NotDone(), "another subscription has none of them")
}

func TestJobsRestWhileTheirCollectionIsDisabled(t *testing.T) {
	t.Parallel()
	c, ctx, target := newClient(t), t.Context(), newReceiver(t)
	c.create(t, scheduler.Standard)

	disabled, err := c.collections.Disable(ctx, group, collection)
	require.NoError(t, err)
	require.NoError(t, disabled.WaitForCompletionRef(ctx, c.collections.Client))
	result, err := disabled.Result(c.collections)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, result.StatusCode)
	got, err := c.collections.Get(ctx, group, collection)
	require.NoError(t, err)
	require.Equal(t, scheduler.Disabled, got.Properties.State)

	job := c.put(t, "rests", scheduler.JobProperties{Action: get(target.URL)})
	require.Equal(t, scheduler.JobState("enabled"), job.Properties.State, "a job keeps its own state")
	require.Zero(t, target.count())

	enabled, err := c.collections.Enable(ctx, group, collection)
	require.NoError(t, err)
	require.NoError(t, enabled.WaitForCompletionRef(ctx, c.collections.Client))
	_, err = enabled.Result(c.collections)
	require.NoError(t, err)
	c.awaitState(t, "rests", scheduler.JobStateCompleted)
	require.Equal(t, 1, target.count())
	got, err = c.collections.Get(ctx, group, collection)
	require.NoError(t, err)
	require.Equal(t, scheduler.Enabled, got.Properties.State)
}
