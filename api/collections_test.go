package api_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/job"
	"almanac/job/listing"
)

func standard(k job.CollectionKey) job.Collection {
	return job.Collection{
		Key: k, Location: "West US", Tags: job.Members{{Name: "z", Value: "1&2"}, {Name: "a", Value: "<b>"}},
		Properties: job.CollectionProperties{
			SKU: job.SKU{Name: "Standard"}, State: job.CollectionEnabled,
			Quota: &job.Quota{MaxJobCount: 5, MaxRecurrence: &job.MaxRecurrence{Frequency: "hour", Interval: 2}},
		},
	}
}

func standardJSON(id, name string) string {
	return `{"id":"` + id + `/jobCollections/` + name + `","type":"Microsoft.Scheduler/jobCollections","name":"` + name + `",` +
		`"location":"West US","tags":{"z":"1&2","a":"<b>"},"properties":{"sku":{"name":"Standard"},"state":"Enabled",` +
		`"quota":{"maxJobCount":5,"maxRecurrence":{"frequency":"hour","interval":2}}}}`
}

func TestCollectionIsShownAsTheServiceShowedIt(t *testing.T) {
	t.Parallel()
	f := &fake{collection: func(_ context.Context, k job.CollectionKey) (job.Collection, error) { return standard(k), nil }}
	for _, tt := range []struct{ name, path, want string }{
		{"under its subscription and group", group + "/jobCollections/c1" + version, standardJSON("/subscriptions/s1/resourceGroups/g1/providers/Microsoft.Scheduler", "c1")},
		{"under the default ones", "/jobCollections/c1", standardJSON(defaultID, "c1")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := get(f, tt.path)
			require.Equal(t, tt.want, got.body)
			require.Equal(t, http.StatusOK, got.status)
			require.Equal(t, jsonContent, got.header.Get("Content-Type"))
		})
	}
}

func TestCollectionWithoutTagsLocationAndQuotaOmitsThem(t *testing.T) {
	t.Parallel()
	got := get(&fake{collection: func(_ context.Context, k job.CollectionKey) (job.Collection, error) {
		return job.Collection{Key: k, Properties: job.CollectionProperties{SKU: job.SKU{Name: "Free"}, State: job.CollectionDisabled}}, nil
	}}, "/jobCollections/c1")
	require.Equal(t, `{"id":"`+defaultID+`/jobCollections/c1","type":"Microsoft.Scheduler/jobCollections","name":"c1",`+
		`"properties":{"sku":{"name":"Free"},"state":"Disabled"}}`, got.body)
}

func TestPutCollectionAnswers201WhenCreatedAnd200WhenReplaced(t *testing.T) {
	t.Parallel()
	for created, status := range map[bool]int{true: http.StatusCreated, false: http.StatusOK} {
		var sent job.Collection
		f := &fake{putCollection: func(_ context.Context, c job.Collection) (job.Collection, bool, error) {
			sent = c
			return standard(c.Key), created, nil
		}}
		got := send(api.New(f, api.Options{}), http.MethodPut, "/jobCollections/c1", `{"properties": {"sku": {"name": "Free"}}}`)
		require.Equal(t, status, got.status)
		require.Equal(t, standardJSON(defaultID, "c1"), got.body)
		require.Equal(t, job.CollectionProperties{SKU: job.SKU{Name: "Free"}, State: job.CollectionEnabled}, sent.Properties)
	}
}

func TestPatchCollectionAnswersTheWholeCollection(t *testing.T) {
	t.Parallel()
	var merged job.Collection
	f := &fake{patchCollection: func(_ context.Context, k job.CollectionKey, edit editCollection) (_ job.Collection, err error) {
		merged, err = edit(standard(k))
		return standard(k), err
	}}
	got := send(api.New(f, api.Options{}), http.MethodPatch, group+"/jobCollections/c1"+version, `{"properties": {"state": "Disabled"}}`)
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, standardJSON(group, "c1"), got.body)
	want := standard(merged.Key)
	want.Properties.State = job.CollectionDisabled
	require.Equal(t, want, merged)
}

func TestCollectionsAreListedBySubscriptionAndByGroup(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, path, subscription, group string }{
		{"of a subscription", "/subscriptions/s1/providers/Microsoft.Scheduler/jobCollections" + version, "s1", ""},
		{"of a resource group", group + "/jobCollections" + version, "s1", "g1"},
		{"of the default resource group", "/jobCollections", "00000000-0000-0000-0000-000000000000", "default"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := &fake{collections: func(_ context.Context, subscription, resourceGroup string, p listing.Page) ([]job.Collection, string, error) {
				require.Equal(t, tt.subscription, subscription)
				require.Equal(t, tt.group, resourceGroup)
				require.Equal(t, listing.Page{Top: 100}, p)
				k := job.CollectionKey{Subscription: "s1", ResourceGroup: "g1"}
				k.Name = "a"
				other := k
				other.Name = "b"
				return []job.Collection{standard(k), standard(other)}, "", nil
			}}
			got := get(f, tt.path)
			require.Equal(t, `{"value":[`+standardJSON(group, "a")+`,`+standardJSON(group, "b")+`],"nextLink":null}`, got.body)
			require.Equal(t, http.StatusOK, got.status)
		})
	}
}

func TestEmptyListsAreTheServices28Bytes(t *testing.T) {
	t.Parallel()
	f := &fake{
		collections: func(context.Context, string, string, listing.Page) ([]job.Collection, string, error) {
			return nil, "", nil
		},
		jobs:    func(context.Context, job.CollectionKey, listing.Page) ([]job.Job, string, error) { return nil, "", nil },
		history: func(context.Context, job.Key, listing.Page) ([]job.Record, string, error) { return nil, "", nil },
	}
	for _, path := range []string{"/jobCollections", "/jobCollections/c/jobs", "/jobCollections/c/jobs/j/history"} {
		require.Equal(t, `{"value":[],"nextLink":null}`, get(f, path).body, path)
	}
}

func TestDefaultSubscriptionAndGroupCanBeChosen(t *testing.T) {
	t.Parallel()
	var asked job.CollectionKey
	f := &fake{collection: func(_ context.Context, k job.CollectionKey) (job.Collection, error) {
		asked = k
		return standard(k), nil
	}}
	send(api.New(f, api.Options{DefaultSubscription: "mine", DefaultResourceGroup: "ours"}), http.MethodGet, "/jobCollections/c", "")
	require.Equal(t, job.CollectionKey{Subscription: "mine", ResourceGroup: "ours", Name: "c"}, asked)
}
