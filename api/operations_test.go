package api_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/job"
)

// changes returns the requests that change the whole collection at path, by the method of the scheduler.
func changes(path string) map[string][2]string {
	return map[string][2]string{
		"delete":  {http.MethodDelete, path},
		"enable":  {http.MethodPost, path + "/enable"},
		"disable": {http.MethodPost, path + "/disable"},
	}
}

func TestChangeThatIsDoneIsAnsweredWithoutABody(t *testing.T) {
	t.Parallel()
	for name, request := range changes(group + "/jobCollections/c1") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked []string
			got := send(api.New(&fake{change: func(_ context.Context, name string, k job.CollectionKey) (*job.Operation, error) {
				asked = append(asked, name+" "+k.ARMID())
				return nil, nil
			}}, api.Options{}), request[0], request[1]+version, "")
			require.Equal(t, http.StatusOK, got.status, got.body)
			require.Empty(t, got.body)
			for _, absent := range []string{"Content-Type", "Location", "Azure-AsyncOperation", "Retry-After"} {
				require.Empty(t, got.header.Values(absent), absent)
			}
			require.Equal(t, []string{name + " " + group + "/jobCollections/c1"}, asked)
		})
	}
}

func TestChangeThatGoesOnIsAnsweredWithWhereToAsk(t *testing.T) {
	t.Parallel()
	going := &fake{change: func(context.Context, string, job.CollectionKey) (*job.Operation, error) {
		return &job.Operation{ID: "0-a.1"}, nil
	}}
	public, err := url.Parse("https://jobs.example/almanac/")
	require.NoError(t, err)
	for _, tt := range []struct {
		name, path, query string
		options           api.Options
		want, wantQuery   string
	}{
		{"on a long path", group + "/jobCollections/c1", version, api.Options{},
			"http://example.com" + group + "/jobCollections/c1", version},
		{"with the version that was sent", group + "/jobCollections/c1", "?Api-Version=2014-08-01-Preview", api.Options{},
			"http://example.com" + group + "/jobCollections/c1", "?api-version=2014-08-01-Preview"},
		{"in lower case", strings.ToLower(group) + "/jobcollections/C1", version, api.Options{},
			"http://example.com" + group + "/jobCollections/C1", version},
		{"on a short path", "/jobCollections/c1", "", api.Options{}, "http://example.com/jobCollections/c1", ""},
		{"on a short path with a version", "/jobCollections/c1", version, api.Options{}, "http://example.com/jobCollections/c1", version},
		{"of a name to escape", "/jobCollections/a%20b%C3%A5", "", api.Options{}, "http://example.com/jobCollections/a%20b%C3%A5", ""},
		{"of a name that is a word of the path", "/jobCollections/enable", "", api.Options{}, "http://example.com/jobCollections/enable", ""},
		{"behind a proxy", "/jobCollections/c1", "", api.Options{PublicURL: public}, "https://jobs.example/almanac/jobCollections/c1", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for name, request := range changes(tt.path) {
				got := send(api.New(going, tt.options), request[0], request[1]+tt.query, "")
				requireGoing(t, got, tt.want, tt.wantQuery, name)
			}
		})
	}
}

// requireGoing requires the 202 answer for operation 0-a.1.
func requireGoing(t *testing.T, got answer, collection, query, what string) {
	t.Helper()
	require.Equal(t, http.StatusAccepted, got.status, what)
	require.Empty(t, got.body, what)
	header := map[string][]string(got.header) // header names in the case in which they are sent
	require.Equal(t, []string{collection + "/operationResults/0-a.1" + query}, header["Location"], what)
	require.Equal(t, []string{collection + "/operations/0-a.1" + query}, header["Azure-AsyncOperation"], what)
	require.Equal(t, []string{"1"}, header["Retry-After"], what)
}

func TestOperationIsToldInBothWaysOfResourceManager(t *testing.T) {
	t.Parallel()
	finished := false
	h := api.New(&fake{operation: func(_ context.Context, k job.CollectionKey, id string) (job.Operation, error) {
		if id != "0-a.1" || k.Name != "c1" {
			return job.Operation{}, job.NotFound("jobcollections/"+k.Name+"/operations/"+id, k.ResourceGroup)
		}
		return job.Operation{ID: id, Done: finished}, nil
	}}, api.Options{})
	told := func(path, id, status string) {
		got := send(h, http.MethodGet, path, "")
		require.Equal(t, http.StatusOK, got.status, got.body)
		require.Equal(t, `{"id":"`+id+`/jobCollections/c1/operations/0-a.1","name":"0-a.1","status":"`+status+`"}`, got.body)
		require.Equal(t, jsonContent, got.header.Get("Content-Type"))
	}

	told(group+"/jobCollections/c1/operations/0-a.1"+version, group, "InProgress")
	told("/jobcollections/c1/Operations/0-a.1", defaultID, "InProgress")
	requireGoing(t, send(h, http.MethodGet, group+"/jobCollections/c1/operationResults/0-a.1"+version, ""), "http://example.com"+group+"/jobCollections/c1", version, "long")
	requireGoing(t, send(h, http.MethodGet, "/jobCollections/c1/operationresults/0-a.1", ""), "http://example.com/jobCollections/c1", "", "short")

	finished = true
	told(group+"/jobCollections/c1/operations/0-a.1"+version, group, "Succeeded")
	got := send(h, http.MethodGet, "/jobCollections/c1/operationResults/0-a.1", "")
	require.Equal(t, http.StatusOK, got.status)
	require.Empty(t, got.body)
	require.Empty(t, got.header.Get("Location"))

	for _, path := range []string{"/jobCollections/c1/operations/x", "/jobCollections/c1/operationResults/x"} {
		got := send(h, http.MethodGet, path, "")
		require.Equal(t, http.StatusNotFound, got.status)
		require.Equal(t, `{"error":{"code":"ResourceNotFound","message":"The Resource 'Microsoft.Scheduler/jobcollections/c1/operations/x' `+
			`under resource group 'default' was not found."}}`, got.body)
	}
}

func TestOperationThatFailedSaysWhy(t *testing.T) {
	t.Parallel()
	h := api.New(&fake{operation: func(_ context.Context, k job.CollectionKey, id string) (job.Operation, error) {
		return job.Operation{ID: id, Done: true, Failed: job.NotFound("jobcollections/"+k.Name, k.ResourceGroup)}, nil
	}}, api.Options{})
	const why = `"error":{"code":"ResourceNotFound","message":"The Resource 'Microsoft.Scheduler/jobcollections/c1' under resource group 'default' was not found."}`
	got := send(h, http.MethodGet, "/jobCollections/c1/operations/o", "")
	require.Equal(t, http.StatusOK, got.status, "it is the operation that failed, not the question")
	require.Equal(t, `{"id":"`+defaultID+`/jobCollections/c1/operations/o","name":"o","status":"Failed",`+why+`}`, got.body)
	got = send(h, http.MethodGet, "/jobCollections/c1/operationResults/o", "")
	require.Equal(t, http.StatusNotFound, got.status)
	require.Equal(t, `{`+why+`}`, got.body)
}

func TestClientThatFollowsAnOperationSeesItsEnd(t *testing.T) {
	t.Parallel()
	asked := 0
	h := api.New(&fake{
		change: func(context.Context, string, job.CollectionKey) (*job.Operation, error) {
			return &job.Operation{ID: "o"}, nil
		},
		operation: func(_ context.Context, _ job.CollectionKey, id string) (job.Operation, error) {
			asked++
			return job.Operation{ID: id, Done: asked == 3}, nil
		},
	}, api.Options{})
	got := send(h, http.MethodDelete, group+"/jobCollections/c1"+version, "")
	for got.status == http.StatusAccepted {
		got = send(h, http.MethodGet, got.header.Get("Location"), "")
	}
	require.Equal(t, http.StatusOK, got.status, got.body)
	require.Equal(t, 3, asked)
}
