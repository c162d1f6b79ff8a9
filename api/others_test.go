package api_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"almanac/api"
)

// refusal returns the message of an answer that must be 400.
func refusal(t *testing.T, got answer) string {
	t.Helper()
	require.Equal(t, http.StatusBadRequest, got.status, got.body)
	_, message, _ := strings.Cut(got.body, `"message":"`)
	message, _, _ = strings.Cut(message, `","details"`)
	return strings.ReplaceAll(message, `\"`, `"`)
}

func TestWhatARequestDoesNotTakeIsRefusedWithTheNearestThatItTakes(t *testing.T) {
	t.Parallel()
	const (
		j       = "/jobCollections/c/jobs/j"
		query   = "The query is not valid: "
		body    = "The body is not valid: "
		headers = "The headers are not valid: "
	)
	for _, tt := range []struct{ name, method, target, body, header, want string }{
		{"a filter without its sign", "POST", "/jobCollections/c/rerun?filter=name%20eq%20'x'", "", "", query + `filter: unknown query parameter; did you mean "$filter"?`},
		{"a filter whose name a shell replaced", "POST", "/jobCollections/c/rerun?=name%20eq%20'x'", "", "",
			query + `?=: unknown query parameter; allowed: api-version, $filter, $top, $skip or $skiptoken; a parameter without a name is what a shell makes of "?$filter=…": put the URL into single quotes`},
		{"a misspelled filter", "POST", "/jobCollections/c/rerun?$filtr=name%20eq%20'x'", "", "", query + `$filtr: unknown query parameter; did you mean "$filter"?`},
		{"an empty filter", "POST", "/jobCollections/c/rerun?$filter=", "", "",
			query + `$filter: "" is not valid; allowed: status, endTime, name or state at the end, as in status eq Failed and endTime ge 2026-01-31T02:00:00Z and endTime lt 2026-01-31T03:00:00Z`},
		{"an end of being disabled, of enabling", "POST", j + "/enable?until=2027-01-01", "", "", query + "until: unknown query parameter; allowed: api-version, recover or atOnce"},
		{"a time to run at", "POST", j + "/run?due=2027-01-01", "", "", query + "due: unknown query parameter; allowed: api-version or force"},
		{"another word for due", "POST", j + "/skip?dueTime=2027-01-01", "", "", query + `dueTime: unknown query parameter; did you mean "due"?`},
		{"the beginning of a history", "GET", j + "/history?since=1h", "", "", query + "since: unknown query parameter; allowed: api-version, $filter, $top, $skip or $skiptoken"},
		{"hours", "GET", "/jobCollections/c/upcoming?hours=2", "", "", query + "hours: unknown query parameter; allowed: api-version, until, $filter, $top or $skiptoken"},
		{"an order", "GET", "/jobCollections/c/jobs?$orderby=name", "", "", query + "$orderby: unknown query parameter; allowed: api-version, $filter, $top, $skip or $skiptoken"},
		{"a filter where there is none", "GET", "/jobCollections?$filter=name%20eq%20'x'", "", "", query + "$filter: unknown query parameter; allowed: api-version, $top, $skip or $skiptoken"},
		{"a page of many histories", "GET", "/history?$skip=5", "", "", query + `$skip: unknown query parameter; did you mean "$skiptoken"?`},
		{"a probe", "GET", "/healthz?verbose", "", "", query + "verbose: unknown query parameter; allowed: api-version"},
		{"a parameter and its value in the body", "POST", j + "/skip", `{"due":"2027-01-01"}`, "", body + "due: not allowed; this request takes no body; did you mean the query parameter due?"},
		{"a body", "POST", j + "/run", `{"properties":{}}`, "", body + "properties: not allowed; this request takes no body"},
		{"a text", "POST", j + "/run", "now", "", body + "body: not allowed; this request takes none"},
		{"a list", "DELETE", j, "[]", "", body + "body: not allowed; this request takes none"},
		{"a large body", "DELETE", j, strings.Repeat(" ", 64<<10+1), "", body + "body: not allowed; this request takes none"},
		{"a condition", "GET", j, "", "If-Modified-Since", headers + "If-Modified-Since: this request does not take this header; leave it out"},
		{"a name for a run that is to be made once", "POST", j + "/run", "", "Repeatability-Request-ID", headers + "Repeatability-Request-ID: this request does not take this header; leave it out"},
		{"a preference", "POST", j + "/run", "", "Prefer", headers + "Prefer: this request does not take this header; leave it out"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(tt.method, tt.target, strings.NewReader(tt.body))
			if tt.header != "" {
				r.Header.Set(tt.header, "x")
			}
			require.Equal(t, tt.want, refusal(t, serve(api.New(&fake{}, api.Options{}), r)))
		})
	}
}

// The table of routes and openapi.yaml have the same routes: see TestOpenAPIDescribesEveryRouteAndNoOther.
func TestEveryRouteTakesWhatOpenAPIDescribesAndNothingElse(t *testing.T) {
	t.Parallel()
	c := loadContract(t)
	servers := serversOf(c.T)
	for path, item := range c.Paths.Map() {
		for method, op := range item.Operations() {
			t.Run(op.OperationID, func(t *testing.T) {
				t.Parallel()
				h := api.New((&backend{finished: true}).scheduler(t), api.Options{
					Now: func() time.Time { return at("2026-01-01T00:00:00Z") }, Metrics: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
				})
				for _, server := range servers[path] {
					plain := triggers(path, method, op, server)[0]
					send := func(query, body, header, value string) answer {
						r := httptest.NewRequest(method, plain.target+query, strings.NewReader(body))
						if header != "" {
							r.Header.Set(header, value)
						}
						return serve(h, r)
					}
					requireParameters(t, op, func(query string) answer { return send(query, plain.body, "", "") })
					requireBody(t, op, func(body string) answer { return send("", body, "", "") })
					for _, name := range []string{"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range", "If", "If-Schedule-Tag-Match", "Prefer", "Repeatability-Request-ID"} {
						described := op.Parameters.GetByInAndName("header", name) != nil
						got := send("", plain.body, name, `"x"`)
						require.Equal(t, !described, got.status == http.StatusBadRequest && strings.Contains(got.body, `"target":"`+name+`"`), "%s: %s", name, got.body)
					}
					for _, name := range []string{"traceparent", "X-Forwarded-For", "x-ms-return-client-request-id", "Accept", "Range"} {
						require.NotEqual(t, http.StatusBadRequest, send("", plain.body, name, "x").status, name)
					}
				}
			})
		}
	}
}

// parameterValues are values of the query parameters.
var parameterValues = map[string]string{"api-version": "2016-03-01", "$top": "1", "owner": "5f0a9d1e-6f2b-4c1e-9d3a-2b7c8e4f1a60", "adopt": "false", "$skip": "1", "$skiptoken": "x", "until": "2026-01-02", "search": "a", "take": "3", "others": "1", "from": "2026-01-01", "step": "PT1H", "host": "a", "except": "a", "$orderby": "name", "due": "2026-01-02", "next": "1", "note": "a", "recover": "all", "atOnce": "1", "action": "disable", "name": "a", "every": "PT1S", "force": "true", "at": "2026-01-02", "$filter": "name%20eq%20'x'"}

// requireParameters requires that a request takes the query parameters that are described, and no others.
func requireParameters(t *testing.T, op *openapi3.Operation, send func(query string) answer) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(parameterValues)) {
		if name == "api-version" {
			continue // it is sent with every request
		}
		described := op.Parameters.GetByInAndName("query", name) != nil
		got := send("&" + name + "=" + parameterValues[name])
		unknown := got.status == http.StatusBadRequest && strings.Contains(got.body, "unknown query parameter")
		require.Equal(t, described, !unknown, "%s: %d %s", name, got.status, got.body)
		if described {
			require.Equal(t, http.StatusBadRequest, send("&"+name+"=").status, "an empty %s", name)
		}
	}
	for _, name := range []string{"", "x", "filter", "$expand", "$select", "$count", "forced"} {
		require.Contains(t, send("&"+name+"=1").body, "unknown query parameter", "%q", name)
	}
	for _, p := range op.Parameters {
		if p.Value.In == "query" {
			require.Contains(t, parameterValues, p.Value.Name)
		}
	}
}

// requireBody requires that a request takes a body if one is described, and otherwise one that says nothing.
func requireBody(t *testing.T, op *openapi3.Operation, send func(body string) answer) {
	t.Helper()
	for _, body := range []string{`{"until":1}`, "[1]", "x"} {
		got := send(body)
		require.Equal(t, op.RequestBody == nil, got.status == http.StatusBadRequest && strings.Contains(got.body, "this request takes no"), "%s: %d %s", body, got.status, got.body)
	}
	if op.RequestBody != nil {
		return
	}
	without := send("")
	for _, nothing := range []string{"{}", "null", " \n", " { } "} {
		require.Equal(t, without.status, send(nothing).status, nothing)
	}
}

func TestWhatAzuresServiceToleratedIsTaken(t *testing.T) {
	t.Parallel()
	h := api.New((&backend{created: true}).scheduler(t), api.Options{Now: func() time.Time { return at("2026-01-01T00:00:00Z") }})
	for target, bodies := range map[string][]string{
		"/jobCollections/c": {
			`{"id":"/x","name":"other","type":"Microsoft.Scheduler/jobCollections","properties":{"sku":{"name":"Standard"},"quota":{"maxJobOccurrence":5}}}`,
			`{"apiVersion":"2016-03-01","comments":"x","dependsOn":[],"resources":[],"etag":"x","properties":{"sku":{"name":"Standard"}}}`,
		},
		"/jobCollections/c/jobs/j": {
			`{"name":"x","type":"y","location":"z","tags":{},"properties":{"status":{"executionCount":1},"action":{"type":"Http","request":{"uri":"http://a.example/","method":"GET","retryPolicy":{"retryType":"None"}}}}}`,
		},
	} {
		for _, body := range bodies {
			got := send(h, http.MethodPut, target, body)
			require.Equal(t, http.StatusCreated, got.status, got.body)
		}
	}
	for body, want := range map[string]string{
		`{"properties":{"sku":{"name":"Standard"}},"tag":{}}`:                  `The job collection is not valid: tag: unknown field; did you mean "tags"?`,
		`{"properties":{"sku":{"name":"Standard"}},"resources":[{}]}`:          "The job collection is not valid: resources: not allowed; nothing in it would be created; send a request for each of these resources",
		`{"properties":{"sku":{"name":"Standard"}},"plan":"x"}`:                "The job collection is not valid: plan: unknown field; allowed: properties, id, name, type, location or tags",
		`{"properties":{"sku":{"name":"Standard"}},"quota":{"maxJobCount":5}}`: "The job collection is not valid: quota: not allowed; allowed: inside properties",
	} {
		require.Equal(t, want, refusal(t, send(h, http.MethodPut, "/jobCollections/c", body)))
	}
}
