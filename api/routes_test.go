package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/job"
	"almanac/job/listing"
)

// echo is a scheduler that records the requested job.
func echo(t *testing.T) (f *fake, asked *job.Key) {
	t.Helper()
	asked = new(job.Key)
	return &fake{
		job: func(_ context.Context, k job.Key) (job.Job, error) { *asked = k; return daily(t, k), nil },
		collection: func(_ context.Context, k job.CollectionKey) (job.Collection, error) {
			*asked = job.Key{Collection: k}
			return standard(k), nil
		},
	}, asked
}

func TestFixedWordsOfAPathCompareWithoutCaseAndNamesKeepTheirs(t *testing.T) {
	t.Parallel()
	long := job.CollectionKey{Subscription: "S1", ResourceGroup: "G1", Name: "C1"}
	short := job.CollectionKey{Subscription: "00000000-0000-0000-0000-000000000000", ResourceGroup: "default"}
	named := func(k job.CollectionKey, name string) job.CollectionKey { k.Name = name; return k }
	for _, tt := range []struct {
		name, path string
		want       job.Key
	}{
		{"as documented", "/subscriptions/S1/resourceGroups/G1/providers/Microsoft.Scheduler/jobCollections/C1/jobs/J1", long.Job("J1")},
		{"lower case", "/subscriptions/S1/resourcegroups/G1/providers/microsoft.scheduler/jobcollections/C1/jobs/J1", long.Job("J1")},
		{"upper case", "/SUBSCRIPTIONS/S1/RESOURCEGROUPS/G1/PROVIDERS/MICROSOFT.SCHEDULER/JOBCOLLECTIONS/C1/JOBS/J1", long.Job("J1")},
		{"escaped", "/%73ubscriptions/S1/resourceGroups/G1/providers/Microsoft%2EScheduler/jobCollections/C1/jobs/J1", long.Job("J1")},
		{"a slash at the end", "/subscriptions/S1/resourceGroups/G1/providers/Microsoft.Scheduler/jobCollections/C1/jobs/J1/", long.Job("J1")},
		{"short", "/JobCollections/C1/JOBS/J1", named(short, "C1").Job("J1")},
		{"names that are words of the path", "/jobcollections/JOBS/jobs/JobCollections", named(short, "JOBS").Job("JobCollections")},
		{"a name that is a provider's", "/jobcollections/providers/jobs/MICROSOFT.SCHEDULER", named(short, "providers").Job("MICROSOFT.SCHEDULER")},
		{"a collection without a job", "/JOBCOLLECTIONS/Jobs", named(short, "Jobs").Job("")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, asked := echo(t)
			got := get(f, tt.path+version)
			require.Equal(t, http.StatusOK, got.status, got.body)
			require.Equal(t, tt.want, *asked)
		})
	}
}

func TestNamesArePercentDecodedOnce(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"a%20b": "a b", "a+b": "a+b", "%C3%A5%C3%A4%C3%B6": "åäö", "%6A1": "j1", "a(b)'c'~d;e,f=g@h": "a(b)'c'~d;e,f=g@h", "..": "",
		"a%2520b": "", "a%2Fb{": "", "a%2Fjobs%2Fb": "", "a%2F..%2Fb": "", "%00": "", "a%0Ab": "", "%FF": "", "a%20": "", "%3Cscript%3E": "", "a.": "",
		"%E3%82%AB%E3%83%95%E3%82%A7": "カフェ", "%F0%9F%91%A9%E2%80%8D%F0%9F%92%BB": "👩‍💻", "%E2%84%AA": "\u212a", "e%CC%81": "e\u0301",
		"%E2%80%AE": "", "%E2%80%A8": "", "%EF%BF%BD": "", "%ED%A0%80": "", "%C0%AF": "", "%C2%85": "", "%EF%BF%BF": "",
	} {
		t.Run(sent, func(t *testing.T) {
			t.Parallel()
			f, asked := echo(t)
			got := get(f, "/jobCollections/c/jobs/"+sent)
			if want == "" {
				require.Equal(t, http.StatusBadRequest, got.status)
				require.Contains(t, got.body, `{"error":{"code":"InvalidResourceName","message":"The name of a resource cannot be used: jobName: \"`)
				return
			}
			require.Equal(t, http.StatusOK, got.status, got.body)
			require.Equal(t, want, asked.Name)
		})
	}
}

func TestNamesThatCannotBeUsedAreRefusedEverywhere(t *testing.T) {
	t.Parallel()
	h := api.New(&fake{}, api.Options{})
	for _, tt := range []struct{ name, method, path, target string }{
		{"subscription of a list", "GET", "/subscriptions/a%2Fb/providers/Microsoft.Scheduler/jobCollections", "subscriptionId"},
		{"group of a list", "GET", "/subscriptions/s/resourceGroups/a%3Fb/providers/Microsoft.Scheduler/jobCollections", "resourceGroupName"},
		{"no group", "GET", "/subscriptions/s/resourceGroups//providers/Microsoft.Scheduler/jobCollections", "resourceGroupName"},
		{"no collection", "DELETE", "/jobCollections//jobs/j", "jobCollectionName"},
		{"collection read", "GET", "/jobCollections/a%2Fb", "jobCollectionName"},
		{"collection written", "PUT", "/jobCollections/a%2Fb", "jobCollectionName"},
		{"collection deleted", "DELETE", "/jobCollections/a%2Fb", "jobCollectionName"},
		{"collection patched", "PATCH", "/jobCollections/a%2Fb", "jobCollectionName"},
		{"collection enabled", "POST", "/jobCollections/a%2Fb/enable", "jobCollectionName"},
		{"collection disabled", "POST", "/jobCollections/a%2Fb/disable", "jobCollectionName"},
		{"collection of an operation", "GET", "/jobCollections/a%2Fb/operations/o", "jobCollectionName"},
		{"collection of a new job", "POST", "/jobCollections/a%2Fb/jobs", "jobCollectionName"},
		{"collection of jobs", "GET", "/jobCollections/a%2Fb/jobs", "jobCollectionName"},
		{"collection too long", "GET", "/jobCollections/" + strings.Repeat("a", 101), "jobCollectionName"},
		{"job written", "PUT", "/jobCollections/c/jobs/a%2Fb", "jobName"},
		{"job patched", "PATCH", "/jobCollections/c/jobs/a%2Fb", "jobName"},
		{"job deleted", "DELETE", "/jobCollections/c/jobs/a%2Fb", "jobName"},
		{"job run", "POST", "/jobCollections/c/jobs/a%2Fb/run", "jobName"},
		{"job's history", "GET", "/jobCollections/c/jobs/a%2Fb/history", "jobName"},
		{"collection of a history", "GET", "/jobCollections/a%2Fb/history", "jobCollectionName"},
		{"collection of occurrences", "GET", "/jobCollections/a%2Fb/upcoming", "jobCollectionName"},
		{"collection of summaries", "GET", "/jobCollections/a%2Fb/summaries", "jobCollectionName"},
		{"subscription of a history", "GET", "/subscriptions/a%2Fb/providers/Microsoft.Scheduler/history", "subscriptionId"},
		{"group of occurrences", "GET", "/subscriptions/s/resourceGroups/a%3Fb/providers/Microsoft.Scheduler/upcoming", "resourceGroupName"},
		{"no job", "POST", "/jobCollections/c/jobs//run", "jobName"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := send(h, tt.method, tt.path+version, "")
			require.Equal(t, http.StatusBadRequest, got.status)
			require.Contains(t, got.body, `"details":[{"code":"Invalid","target":"`+tt.target+`"`)
		})
	}
}

func TestUnknownPathsAreAnsweredWithWhatExists(t *testing.T) {
	t.Parallel()
	h := api.New(&fake{}, api.Options{})
	for _, path := range []string{
		"/jobs", "/jobCollections/c/jobs/j/history/x", "/jobCollections/c/jobs/j/runs", "/jobCollections/c/jobs/j/enabled", "/jobCollections/c/operations", "/jobCollections/c/run", "//jobCollections",
		"/subscriptions/s", "/subscriptions/s/jobCollections", "/subscriptions/s/resourceGroups/g/providers/Microsoft.Logic/jobCollections",
		"/providers/Microsoft.Scheduler/operations", "/favicon.ico", "/../jobCollections", "/" + strings.Repeat("x", 100_000),
	} {
		for _, method := range []string{"GET", "POST", "DELETE", "BREW"} {
			got := send(h, method, path, "")
			require.Equal(t, http.StatusNotFound, got.status, "%s %.50s", method, path)
			require.Equal(t, jsonContent, got.header.Get("Content-Type"))
			require.Equal(t, `{"error":{"code":"NotFound","message":"There is nothing at this path. The paths are `+
				`.../jobCollections[/{name}[/enable, /disable, /previewPause, /rerun, /notifications, /testNotification, /history, /changes, /lateness, /upcoming, /summaries, /previewRecurrence, /bindOwner, /digests, /forecast, /operations/{id}, /operationResults/{id}, /bulkResults/{id}, /bulkPreview, /bulkEnable, /bulkDisable, /bulkRun, /bulkSkip, /bulkRerun, /bulkDelete, /jobs[/{name}[/previewChange, /try, /run, /rerun, /skip, /unskip, /enable, /disable, /previewBackfill, /backfill, /backfills, /backfills/{id}, /previewPause, /prune, /restore, /compareSecrets, /testNotification, /history, /executions/{id}, /explain, /lateness or /changes]] or /calendars]], .../history, .../upcoming, .../summaries, .../forecast, .../previewRecurrence and .../readRecurrence, `+
				`where ... is /subscriptions/{id}/resourceGroups/{name}/providers/Microsoft.Scheduler, or nothing for the default resource group; `+
				`/subscriptions/{id}/providers/Microsoft.Scheduler with /jobCollections, /history, /upcoming, /summaries, /forecast, /workers or /calendars; /subscriptions[/{id}/resourceGroups], /openapi.yaml, /job.schema.json, /docs, /healthz, /readyz, /metrics and /."}}`, got.body)
		}
	}
}

func TestOtherMethodsAreAnsweredWithTheOnesAllowed(t *testing.T) {
	t.Parallel()
	h := api.New(&fake{}, api.Options{})
	for _, tt := range []struct{ method, path, allow string }{
		{"POST", "/jobCollections", "GET, HEAD"},
		{"PUT", "/subscriptions/s/providers/Microsoft.Scheduler/jobCollections", "GET, HEAD"},
		{"POST", "/jobCollections/c", "GET, HEAD, PUT, PATCH, DELETE"},
		{"OPTIONS", group + "/jobCollections/c", "GET, HEAD, PUT, PATCH, DELETE"},
		{"GET", "/jobCollections/c/enable", "POST"},
		{"PUT", group + "/jobcollections/c/Disable", "POST"},
		{"POST", "/jobCollections/c/operations/o", "GET, HEAD"},
		{"DELETE", "/jobCollections/c/operationresults/o", "GET, HEAD"},
		{"PUT", "/jobCollections/c/jobs", "GET, HEAD, POST"},
		{"DELETE", "/jobCollections/c/jobs/", "GET, HEAD, POST"},
		{"POST", "/jobCollections/c/jobs/run", "GET, HEAD, PUT, PATCH, DELETE"},
		{"POST", "/jobCollections/enable", "GET, HEAD, PUT, PATCH, DELETE"},
		{"POST", "/jobCollections/c/jobs/j", "GET, HEAD, PUT, PATCH, DELETE"},
		{"GET", "/jobCollections/c/jobs/j/run", "POST"},
		{"DELETE", "/jobCollections/c/jobs/j/history", "GET, HEAD"},
		{"POST", "/jobCollections/c/history", "GET, HEAD"},
		{"POST", "/jobCollections/c/upcoming", "GET, HEAD"},
		{"DELETE", "/history", "GET, HEAD"},
		{"POST", "/summaries", "GET, HEAD"},
		{"DELETE", "/forecast", "GET, HEAD, POST"},
		{"PUT", "/jobCollections/c/summaries", "GET, HEAD"},
		{"PUT", "/subscriptions/s/providers/Microsoft.Scheduler/upcoming", "GET, HEAD"},
		{"POST", "/jobCollections/history", "GET, HEAD, PUT, PATCH, DELETE"},
		{"POST", "/jobCollections/c/jobs/upcoming", "GET, HEAD, PUT, PATCH, DELETE"},
		{"GET", "/previewRecurrence", "POST"},
		{"POST", "/healthz", "GET, HEAD"},
		{"PUT", "/openapi.yaml", "GET, HEAD"},
		{"POST", "/docs", "GET, HEAD"},
		{"POST", "/docs/index.js", "GET, HEAD"},
		{"DELETE", "/", "GET, HEAD"},
	} {
		got := send(h, tt.method, tt.path, "")
		require.Equal(t, http.StatusMethodNotAllowed, got.status, "%s %s", tt.method, tt.path)
		require.Equal(t, tt.allow, got.header.Get("Allow"), "%s %s", tt.method, tt.path)
		require.Equal(t, `{"error":{"code":"MethodNotAllowed","message":"The method `+tt.method+` is not allowed for this path; use `+
			strings.ReplaceAll(tt.allow, ", ", " or ")+`."}}`, got.body)
	}
}

func TestAPIVersionIsRequiredOnTheLongPathsOnly(t *testing.T) {
	t.Parallel()
	const supported = "The supported versions are '2016-03-01, 2016-01-01, 2014-08-01-preview'."
	const missing = `{"error":{"code":"MissingApiVersionParameter","message":"The api-version query parameter (?api-version=) is required for all requests. ` + supported + `"}}`
	invalid := func(v string) string {
		return `{"error":{"code":"InvalidApiVersionParameter","message":"The api-version '` + v + `' is invalid. ` + supported + `"}}`
	}
	f := &fake{collections: func(context.Context, string, string, listing.Page) ([]job.Collection, string, error) {
		return nil, "", nil
	}}
	for _, tt := range []struct{ name, path, want string }{
		{"2016-03-01", group + "/jobCollections?api-version=2016-03-01", ""},
		{"2016-01-01", group + "/jobCollections?api-version=2016-01-01", ""},
		{"2014-08-01-preview", group + "/jobCollections?api-version=2014-08-01-preview", ""},
		{"in another case", group + "/jobCollections?API-Version=2014-08-01-Preview", ""},
		{"missing", group + "/jobCollections", missing},
		{"empty", group + "/jobCollections?api-version=", missing},
		{"missing for a subscription", "/subscriptions/s/providers/Microsoft.Scheduler/jobCollections", missing},
		{"unknown", group + "/jobCollections?api-version=2015-01-01", invalid("2015-01-01")},
		{"twice", group + "/jobCollections?api-version=2016-03-01&api-version=2016-01-01", invalid("2016-03-01,2016-01-01")},
		{"endless", group + "/jobCollections?api-version=" + strings.Repeat("1", 5000), invalid(strings.Repeat("1", 40))},
		{"missing on a short path", "/jobCollections", ""},
		{"known on a short path", "/jobCollections?api-version=2016-01-01", ""},
		{"unknown on a short path", "/jobCollections?api-version=1", invalid("1")},
		{"empty on a short path", "/jobCollections?api-version=", invalid("")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := get(f, tt.path)
			if tt.want == "" {
				require.Equal(t, http.StatusOK, got.status, got.body)
				return
			}
			require.Equal(t, http.StatusBadRequest, got.status)
			require.Equal(t, tt.want, got.body)
		})
	}
}

func TestAPIVersionIsRequiredOnEveryLongPath(t *testing.T) {
	t.Parallel()
	h := api.New(&fake{}, api.Options{})
	const c = group + "/jobCollections/c"
	for _, call := range []string{
		"GET /subscriptions/s/providers/Microsoft.Scheduler/jobCollections", "GET " + group + "/jobCollections",
		"GET " + c, "HEAD " + c, "PUT " + c, "PATCH " + c, "DELETE " + c, "POST " + c + "/enable", "POST " + c + "/disable",
		"GET " + c + "/operations/o", "GET " + c + "/operationResults/o", "GET " + c + "/jobs", "POST " + c + "/jobs",
		"GET " + c + "/jobs/j", "PUT " + c + "/jobs/j", "PATCH " + c + "/jobs/j", "DELETE " + c + "/jobs/j",
		"POST " + c + "/jobs/j/run", "POST " + c + "/jobs/j/rerun", "POST " + c + "/rerun", "GET " + c + "/jobs/j/history", "GET " + c + "/history", "GET " + c + "/upcoming",
		"GET " + group + "/history", "GET " + group + "/upcoming", "GET " + c + "/summaries", "GET " + c + "/digests", "GET " + group + "/summaries", "GET " + c + "/forecast", "POST " + c + "/forecast", "GET " + group + "/forecast", "POST /subscriptions/s/providers/Microsoft.Scheduler/forecast", "GET /subscriptions/s/providers/Microsoft.Scheduler/summaries",
		"GET /subscriptions/s/providers/Microsoft.Scheduler/history", "GET /subscriptions/s/providers/Microsoft.Scheduler/upcoming",
		"POST /providers/Microsoft.Scheduler/previewRecurrence", "POST " + group + "/previewRecurrence",
	} {
		method, path, _ := strings.Cut(call, " ")
		for query, code := range map[string]string{"": "MissingApiVersionParameter", "?api-version=2017-01-01": "InvalidApiVersionParameter"} {
			got := send(h, method, path+query, "{}")
			require.Equal(t, http.StatusBadRequest, got.status, call)
			require.Contains(t, got.body, `{"error":{"code":"`+code+`"`, call)
		}
	}
}

func TestHeadIsAnsweredWhereGetIs(t *testing.T) {
	t.Parallel()
	f, _ := echo(t)
	s := httptest.NewServer(api.New(f, api.Options{}))
	defer s.Close()
	for _, path := range []string{"/", "/healthz", "/openapi.yaml", "/jobCollections/c", "/jobCollections/c/jobs/j"} {
		resp, err := s.Client().Head(s.URL + path)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusOK, resp.StatusCode, path)
		require.Positive(t, resp.ContentLength, path)
	}
}

func TestRequestsInAbsoluteAndAsteriskFormDoNoHarm(t *testing.T) {
	t.Parallel()
	f, asked := echo(t)
	h := api.New(f, api.Options{})
	require.Equal(t, http.StatusOK, send(h, "GET", "http://user:pass@elsewhere/jobCollections/c", "").status)
	require.Equal(t, "c", asked.Collection.Name)
	asterisk := &http.Request{Method: "OPTIONS", URL: &url.URL{Path: "*"}, Header: http.Header{}, Body: http.NoBody}
	require.Equal(t, http.StatusNotFound, serve(h, asterisk).status)
}
