package input_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/input"
)

const planNames = "Free, P10Premium, P20Premium, Premium or Standard"

func TestParseCollection(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, body string
		want       job.Collection
	}{
		{
			"the least that it needs", `{"properties":{"sku":{"name":"free"}}}`,
			job.Collection{Properties: job.CollectionProperties{SKU: job.SKU{Name: "Free"}, State: job.CollectionEnabled}},
		},
		{
			"everything, in any case",
			`{"id":"/x","etag":{},"Location":"West US","tags":{"b":"2","a":"1","gone":null},"Properties":{"SKU":{"NAME":"p20premium"},"state":"SUSPENDED","quota":{"maxJobCount":1000,"maxJobOccurrence":5,"maxRecurrence":{"frequency":"Hour"}}}}`,
			job.Collection{
				Location: "West US", Tags: job.Members{{Name: "b", Value: "2"}, {Name: "a", Value: "1"}},
				Properties: job.CollectionProperties{
					SKU: job.SKU{Name: "P20Premium"}, State: job.CollectionSuspended,
					Quota: &job.Quota{MaxJobCount: 1000, MaxRecurrence: &job.MaxRecurrence{Frequency: "hour", Interval: 1}},
				},
			},
		},
		{
			"without an envelope", `{"name":"c","location":"x","sku":{"name":"Standard"},"state":"disabled","quota":{}}`,
			job.Collection{Location: "x", Properties: job.CollectionProperties{SKU: job.SKU{Name: "Standard"}, State: job.CollectionDisabled, Quota: &job.Quota{}}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := input.ParseCollection([]byte(tt.body), nil)
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestParseCollectionReportsBadFields(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, body, want string }{
		{"no sku", `{"properties":{}}`, "properties.sku.name: required; allowed: " + planNames},
		{"no name of a sku", `{"sku":{}}`, "sku.name: required; allowed: " + planNames},
		{
			"bad values everywhere",
			`{"location":1,"tags":{"a":2},"properties":{"sku":{"name":"Gold","tier":1},"state":"Deleted","quota":{"maxJobs":1,"maxJobCount":0,"maxRecurrence":{"frequency":"year","interval":0,"every":1}},"skus":1}}`,
			lines("location: a number is not valid; allowed: a string",
				"tags.a: a number is not valid; allowed: a string",
				`properties.state: "Deleted" is not supported; allowed: Enabled, Disabled or Suspended; to delete the collection, send a DELETE request`,
				`properties.sku.name: "Gold" is not supported; allowed: `+planNames,
				"properties.sku.tier: unknown field; allowed: name",
				"properties.quota.maxJobCount: 0 is out of range; allowed: 1 to 2147483647",
				`properties.quota.maxRecurrence.frequency: "year" is not supported; allowed: minute, hour, day, week or month`,
				"properties.quota.maxRecurrence.interval: 0 is out of range; allowed: 1 to 1000",
				"properties.quota.maxRecurrence.every: unknown field; allowed: frequency or interval",
				"properties.quota.maxJobs: unknown field; allowed: maxJobCount or maxRecurrence",
				"properties.skus: unknown field; did you mean \"sku\"?"),
		},
		{
			"a quota beyond the plan, among other mistakes",
			`{"location":1,"properties":{"sku":{"name":"Free"},"quota":{"maxJobCount":6,"maxRecurrence":{"frequency":"minute","interval":59}}}}`,
			lines("location: a number is not valid; allowed: a string",
				"properties.quota.maxJobCount: 6 is out of range; allowed: at most 5, which is what the plan Free allows",
				`properties.quota.maxRecurrence: "PT59M" is out of range; allowed: PT1H or longer, which is what the plan Free allows`),
		},
		{"a state that nobody knows", `{"sku":{"name":"Free"},"state":"Paused"}`, `state: "Paused" is not supported; allowed: Enabled, Disabled or Suspended`},
		{"sku beside the properties", `{"sku":{"name":"Free"},"properties":{"sku":{"name":"Free"}}}`, "sku: not allowed; allowed: inside properties"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := input.ParseCollection([]byte(tt.body), nil)
			require.Equal(t, tt.want, complaints(t, err))
		})
	}
}

func TestMergeCollection(t *testing.T) {
	t.Parallel()
	current := job.Collection{
		Key: job.CollectionKey{Subscription: "s", ResourceGroup: "g", Name: "C"}, Location: "here", Tags: job.Members{{Name: "a", Value: "1"}, {Name: "b", Value: "2"}},
		Properties: job.CollectionProperties{SKU: job.SKU{Name: "Standard"}, State: job.CollectionEnabled, Quota: &job.Quota{MaxJobCount: 9}},
	}
	for _, tt := range []struct{ name, patch, want string }{
		{"nothing", `{}`, `{"key":{"sub":"s","rg":"g","name":"C"},"location":"here","tags":{"a":"1","b":"2"},"properties":{"sku":{"name":"Standard"},"state":"Enabled","quota":{"maxJobCount":9}}}`},
		{"beside the properties", `{"name":"D","properties":{},"location":"there","tags":{"a":null,"B":"3"}}`, `{"key":{"sub":"s","rg":"g","name":"C"},"location":"there","tags":{"B":"3"},"properties":{"sku":{"name":"Standard"},"state":"Enabled","quota":{"maxJobCount":9}}}`},
		{"within the properties", `{"tags":null,"properties":{"state":"disabled","quota":{"maxRecurrence":{"frequency":"Day"}}}}`, `{"key":{"sub":"s","rg":"g","name":"C"},"location":"here","properties":{"sku":{"name":"Standard"},"state":"Disabled","quota":{"maxJobCount":9,"maxRecurrence":{"frequency":"day","interval":1}}}}`},
		{"tags alone", `{"tags":{"b":"3","c":"4"}}`, `{"key":{"sub":"s","rg":"g","name":"C"},"location":"here","tags":{"a":"1","b":"3","c":"4"},"properties":{"sku":{"name":"Standard"},"state":"Enabled","quota":{"maxJobCount":9}}}`},
		{"a part of the quota removed", `{"properties":{"quota":{"maxJobCount":null,"maxRecurrence":{"frequency":"hour","interval":2}}}}`, `{"key":{"sub":"s","rg":"g","name":"C"},"location":"here","tags":{"a":"1","b":"2"},"properties":{"sku":{"name":"Standard"},"state":"Enabled","quota":{"maxRecurrence":{"frequency":"hour","interval":2}}}}`},
		{"a removed state is the default", `{"properties":{"state":null},"location":null}`, `{"key":{"sub":"s","rg":"g","name":"C"},"tags":{"a":"1","b":"2"},"properties":{"sku":{"name":"Standard"},"state":"Enabled","quota":{"maxJobCount":9}}}`},
		{"another plan", `{"properties":{"sku":{"name":"premium"}}}`, `{"key":{"sub":"s","rg":"g","name":"C"},"location":"here","tags":{"a":"1","b":"2"},"properties":{"sku":{"name":"Premium"},"state":"Enabled","quota":{"maxJobCount":9}}}`},
		{"without an envelope", `{"location":"there","quota":null}`, `{"key":{"sub":"s","rg":"g","name":"C"},"location":"there","tags":{"a":"1","b":"2"},"properties":{"sku":{"name":"Standard"},"state":"Enabled"}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := input.MergeCollection(current, []byte(tt.patch), nil)
			require.NoError(t, err)
			require.Equal(t, tt.want, compactJSON(t, got))
		})
	}
	_, err := input.MergeCollection(current, []byte(`{"properties":{"sku":null}}`), nil)
	require.Equal(t, "properties.sku.name: required; allowed: "+planNames, complaints(t, err), "a required member removed")
	_, err = input.MergeCollection(current, []byte(`{"properties":{"sku":{"name":"Free"},"states":1}}`), nil)
	require.Equal(t, lines("properties.states: unknown field; did you mean \"state\"?",
		"properties.quota.maxJobCount: 9 is out of range; allowed: at most 5, which is what the plan Free allows"), complaints(t, err))
}

func TestPatchesDoNotMakeACollectionLongerThanABody(t *testing.T) {
	t.Parallel()
	current := job.Collection{Properties: job.CollectionProperties{SKU: job.SKU{Name: "Standard"}, State: job.CollectionEnabled}}
	tag := func(name string) []byte {
		return []byte(`{"tags":{"` + name + `":"` + strings.Repeat("v", 9000) + `"}}`)
	}
	grown, err := input.MergeCollection(current, tag("a"), nil)
	require.NoError(t, err)
	_, err = input.MergeCollection(grown, tag("b"), nil)
	require.Regexp(t, "^The job collection would be 18[0-9]{3} bytes long with this patch; the limit is 16384 bytes$", complaints(t, err))
}

func TestAQuotaBeyondItsPlanIsAConflict(t *testing.T) {
	t.Parallel()
	current := job.Collection{Properties: job.CollectionProperties{
		SKU: job.SKU{Name: "Standard"}, State: job.CollectionEnabled, Quota: &job.Quota{MaxJobCount: 9},
	}}
	for _, tt := range []struct {
		name  string
		write func() (job.Collection, error)
		want  string
	}{
		{
			"written", func() (job.Collection, error) {
				return input.ParseCollection([]byte(`{"properties":{"sku":{"name":"Free"},"quota":{"maxJobCount":6,"maxRecurrence":{"frequency":"minute","interval":59}}}}`), nil)
			},
			"The quota of the job collection exceeds its plan: properties.quota.maxJobCount: 6 is out of range; allowed: at most 5, which is what the plan Free allows; " +
				`properties.quota.maxRecurrence: "PT59M" is out of range; allowed: PT1H or longer, which is what the plan Free allows`,
		},
		{
			"left by a patch of the plan", func() (job.Collection, error) {
				return input.MergeCollection(current, []byte(`{"sku":{"name":"Free"}}`), nil)
			},
			"The quota of the job collection with this patch exceeds its plan: quota.maxJobCount: 9 is out of range; allowed: at most 5, which is what the plan Free allows",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := tt.write()
			e, ok := errors.AsType[*job.Error](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, job.KindConflict, e.Kind)
			require.Equal(t, "ConflictError", e.Code)
			require.EqualError(t, err, tt.want)
			require.Len(t, e.Body().Details, len(e.Fields))
		})
	}
}
