package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/access"
	"almanac/api"
	"almanac/api/guard"
	"almanac/internal/audit"
	"almanac/internal/ratelimit"
	"almanac/job"
	"almanac/job/listing"
)

// tokenHolders is an authenticator that knows callers by their names, which they send in clear.
type tokenHolders map[string]*access.Principal

func (c tokenHolders) Authenticate(r *http.Request) (*access.Principal, error) {
	name := access.Bearer(r)
	switch {
	case name == "":
		return nil, nil
	case name == "unreachable":
		return nil, errors.New("dial tcp: connection refused")
	case c[name] == nil:
		return nil, &access.CredentialError{Problem: `The token is "bad".`, Err: errors.New("the cause")}
	}
	return c[name], nil
}

// with returns a caller with a role in a scope.
func with(t testing.TB, role access.Role, scope string) *access.Principal {
	t.Helper()
	s, err := access.ParseScope(scope, access.Defaults{Subscription: "00000000-0000-0000-0000-000000000000", ResourceGroup: "default"})
	require.NoError(t, err)
	return &access.Principal{Kind: access.KindToken, Name: "ci", Grant: access.Grant{Role: role, Scope: s}}
}

func guarded(f *fake, c tokenHolders) http.Handler {
	return api.New(f, api.Options{Access: &guard.Access{Authenticators: []access.Authenticator{c}}})
}

// as sends a request as a caller.
func as(h http.Handler, caller, method, target, body string) answer {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if caller != "" {
		r.Header.Set("Authorization", "Bearer "+caller)
	}
	return serve(h, r)
}

func TestARequestWithoutACredentialThatCountsIsUnauthorized(t *testing.T) {
	t.Parallel()
	h := guarded(&fake{}, tokenHolders{})
	for _, path := range []string{"/jobCollections", "/jobCollections/c/jobs/j", "/metrics", group + "/jobCollections", "/nowhere"} {
		got := as(h, "", http.MethodGet, path, "")
		require.Equal(t, http.StatusUnauthorized, got.status, path)
		require.Equal(t, `Bearer realm="almanac"`, got.header.Get("WWW-Authenticate"))
		require.Equal(t, jsonContent, got.header.Get("Content-Type"))
		require.Equal(t, `{"error":{"code":"AuthenticationFailed","message":"Authentication failed. The request has no credential. Send a token in the header Authorization, as Bearer TOKEN."}}`, got.body)
		require.NotEmpty(t, got.header.Get("X-Ms-Request-Id"))
	}
	got := as(h, "stranger", http.MethodPut, "/jobCollections/c", "")
	require.Equal(t, http.StatusUnauthorized, got.status)
	require.Equal(t, `Bearer realm="almanac", error="invalid_token", error_description="The token is 'bad'."`, got.header.Get("WWW-Authenticate"))
	require.Contains(t, got.body, `The token is \"bad\".`)

	r := httptest.NewRequest(http.MethodGet, "/jobCollections", nil)
	r.Header.Set("Authorization", "Basic dTpw")
	require.Contains(t, serve(h, r).body, "no credential of a kind that is accepted here")

	got = as(h, "unreachable", http.MethodGet, "/jobCollections/c", "")
	require.Equal(t, http.StatusServiceUnavailable, got.status)
	require.Equal(t, "2", got.header.Get("Retry-After"))
	require.NotContains(t, got.body, "dial")
}

func TestTheFirstAuthenticatorThatAnswersWins(t *testing.T) {
	t.Parallel()
	var seen *access.Principal
	var actor audit.Actor
	f := &fake{job: func(ctx context.Context, k job.Key) (job.Job, error) {
		seen, actor = access.PrincipalOf(ctx), audit.ActorOf(ctx)
		return daily(t, k), nil
	}}
	first, second := tokenHolders{"a": with(t, access.Reader, "/")}, tokenHolders{"a": with(t, access.Owner, "/")}
	h := api.New(f, api.Options{Access: &guard.Access{Authenticators: []access.Authenticator{tokenHolders{}, first, second}}})
	require.Equal(t, http.StatusUnauthorized, as(h, "a", http.MethodGet, "/jobCollections/c/jobs/j", "").status, "a refusal is an answer")
	h = api.New(f, api.Options{Access: &guard.Access{Authenticators: []access.Authenticator{first, second}}})
	require.Equal(t, http.StatusOK, as(h, "a", http.MethodGet, "/jobCollections/c/jobs/j", "").status)
	require.Same(t, first["a"], seen, "the handlers know who asks")
	require.Equal(t, "token:ci", actor.Caller, "and so does what the request changes")
}

func TestFailedLoginsOfAnAddressAreSlowedDownAndGoodOnesAreNot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, _ := echo(t)
		h := guarded(f, tokenHolders{"a": with(t, access.Reader, "/")})
		failed := func() answer { return as(h, "stranger", http.MethodGet, "/jobCollections/c/jobs/j", "") }
		for range 10 {
			require.Equal(t, http.StatusUnauthorized, failed().status)
		}
		got := failed()
		require.Equal(t, http.StatusTooManyRequests, got.status)
		require.NotEmpty(t, got.header.Get("Retry-After"))
		require.Equal(t, http.StatusOK, as(h, "a", http.MethodGet, "/jobCollections/c/jobs/j", "").status, "others may share the address")
		require.Equal(t, http.StatusUnauthorized, as(h, "", http.MethodGet, "/jobCollections/c/jobs/j", "").status, "clients ask first what is wanted")
		time.Sleep(2 * time.Minute)
		require.Equal(t, http.StatusUnauthorized, failed().status)
	})
}

func TestRequestsAreLimitedByWhoSendsThemAndOfStrangersByAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, _ := echo(t)
		first, second := with(t, access.Reader, "/"), with(t, access.Reader, "/")
		second.Name = "other"
		h := api.New(f, api.Options{Access: &guard.Access{Authenticators: []access.Authenticator{tokenHolders{"a": first, "b": second}}}, Callers: ratelimit.NewLimiter(ratelimit.Limits{Rate: 1})})
		ask := func(caller string) int {
			return as(h, caller, http.MethodGet, "/jobCollections/c/jobs/j", "").status
		}
		for _, caller := range []string{"a", "b", ""} {
			good := ask(caller)
			require.NotEqual(t, http.StatusTooManyRequests, good)
			require.Equal(t, good, ask(caller))
			require.Equal(t, http.StatusTooManyRequests, ask(caller), caller)
		}
	})
}

func TestWhatMayBeSeenButNotDoneIsForbiddenAndTheRestDoesNotExist(t *testing.T) {
	t.Parallel()
	missing := &fake{runJob: func(_ context.Context, k job.Key) error {
		return job.NotFound("jobcollections/"+k.Collection.Name+"/jobs/"+k.Name, k.Collection.ResourceGroup)
	}}
	h := guarded(missing, tokenHolders{"reader": with(t, access.Reader, "/jobCollections/c"), "operator": with(t, access.Operator, "/")})
	got := as(h, "reader", http.MethodPost, "/jobCollections/C/jobs/J/run", "")
	require.Equal(t, http.StatusForbidden, got.status)
	require.Equal(t, `{"error":{"code":"AuthorizationFailed","message":"The client 'ci' does not have authorization to perform action 'Microsoft.Scheduler/jobCollections/jobs/run/action' over scope '`+
		defaultID+`/jobCollections/c/jobs/j'. Its role there is reader."}}`, got.body)

	hidden := as(h, "reader", http.MethodPost, "/jobCollections/Other/jobs/J/run", "")
	absent := as(h, "operator", http.MethodPost, "/jobCollections/Other/jobs/J/run", "")
	require.Equal(t, http.StatusNotFound, hidden.status)
	require.Equal(t, absent.body, hidden.body, "what may not be seen looks like what does not exist")
	require.Equal(t, http.StatusNotFound, as(h, "reader", http.MethodGet, "/nowhere", "").status)
	require.Equal(t, http.StatusMethodNotAllowed, as(h, "reader", http.MethodDelete, "/healthz", "").status)
}

func TestWithoutAuthenticatorsNobodyIsAsked(t *testing.T) {
	t.Parallel()
	f, _ := echo(t)
	require.Equal(t, http.StatusOK, as(api.New(f, api.Options{}), "anything", http.MethodGet, "/jobCollections/c/jobs/j", "").status)
}

// A model says what a request needs, in words of its own: the rank of the role that is needed in the scope, and what
// becomes of a request without it. Ranks are 1 for reader to 4 for owner.
func model(method, path string) (rank int, list, public bool) {
	last := path[strings.LastIndexByte(path, '/')+1:]
	reads := method == http.MethodGet || method == http.MethodHead
	switch {
	case path == "/" || last == "healthz" || last == "readyz" || last == "openapi.yaml" || last == "job.schema.json" || strings.HasPrefix(path, "/docs"):
		return 0, false, true
	case last == "previewRecurrence" || last == "readRecurrence" || last == "forecast":
		return 1, true, false
	case last == "subscriptions" || last == "resourceGroups" || last == "jobCollections" || last == "upcoming" || last == "summaries" || last == "digests" || last == "jobs" && reads || last == "history" && !strings.Contains(path, "{job}"):
		return 1, true, false
	case reads, last == "previewChange" || last == "previewPause" || last == "previewBackfill" || last == "bulkPreview":
		return 1, false, false
	case last == "bulkEnable" || last == "bulkDisable" || last == "bulkRun" || last == "bulkSkip" || last == "bulkRerun" || last == "run" || last == "rerun" || last == "testNotification" || last == "skip" || last == "unskip" || last == "backfill" || strings.Contains(path, "/backfills/") || last == "enable" || last == "disable":
		return 2, false, false
	}
	return 3, false, false
}

// expected returns the status for a caller with a role in a scope, or 0 for any but 401, 403 and 404. Both paths are
// lists of names: subscription, group, collection, job.
func expected(method, path string, at []string, role int, scope []string) int {
	rank, list, public := model(method, path)
	inside := len(scope) <= len(at) && strings.Join(at[:len(scope)], "/") == strings.Join(scope, "/")
	around := len(at) <= len(scope) && strings.Join(scope[:len(at)], "/") == strings.Join(at, "/")
	switch {
	case public, inside && role >= rank:
		return 0
	case list && role > 0 && (inside || around):
		return 0
	case inside && role > 0:
		return http.StatusForbidden
	case len(at) >= 3:
		return http.StatusNotFound
	case list && !strings.Contains(path, "preview") && !strings.Contains(path, "readRecurrence"):
		return 0 // and it is empty
	}
	return http.StatusForbidden
}

func TestEveryRouteForEveryRoleInAndOutOfScopeAnswersAsTheModelDoes(t *testing.T) {
	t.Parallel()
	const sub, group = "00000000-0000-0000-0000-000000000000", "default"
	scopes := [][]string{{}, {sub}, {sub, group}, {sub, group, "c"}, {sub, group, "c", "j"},
		{"other"}, {sub, "other"}, {"other", group}, {sub, group, "other"}, {"other", group, "c"}, {sub, group, "c", "other"}, {sub, "other", "c", "j"}}
	known := tokenHolders{}
	for i, s := range scopes {
		text := ""
		for n, word := range []string{"/subscriptions/", "/resourceGroups/", "/providers/Microsoft.Scheduler/jobCollections/", "/jobs/"}[:len(s)] {
			text += word + s[n]
		}
		for role := access.Role(0); role <= access.Owner; role++ {
			known[fmt.Sprintf("%d-%d", role, i)] = with(t, role, max(text, "/"))
		}
	}
	h := guarded((&backend{created: true, finished: true}).scheduler(t), known)
	names := strings.NewReplacer(":sub", sub, ":rg", group, ":jc", "C", ":job", "J", ":calendar", "SE", ":id", "o1", ":file", "index.js")
	templates := strings.NewReplacer(":job", "{job}", ":jc", "{jc}")
	cells := 0
	for _, r := range api.Routes() {
		at := []string{}
		if strings.HasPrefix(r.Path, "/subscriptions/") || strings.Contains(r.Path, "jobCollections") || r.Path == "/history" || r.Path == "/upcoming" || r.Path == "/summaries" || r.Path == "/forecast" || r.Path == "/previewRecurrence" || r.Path == "/readRecurrence" {
			at = []string{sub}
			if !strings.HasPrefix(r.Path, "/subscriptions/:sub/providers") && !strings.HasSuffix(r.Path, "/resourceGroups") {
				at = append(at, group)
			}
		}
		if strings.Contains(r.Path, ":jc") {
			at = append(at, "c")
		}
		if strings.Contains(r.Path, ":job") && strings.Contains(r.Path, "/jobs/:job") {
			at = append(at, "j")
		}
		target, path := names.Replace(r.Path)+version, templates.Replace(r.Path)
		if _, _, public := model(r.Method, path); !public {
			require.Equal(t, http.StatusUnauthorized, as(h, "", r.Method, target, "{}").status, "%s %s", r.Method, r.Path)
		}
		for i, s := range scopes {
			for role := range 5 {
				got := as(h, fmt.Sprintf("%d-%d", role, i), r.Method, target, "{}").status
				if want := expected(r.Method, path, at, role, s); want != 0 {
					require.Equal(t, want, got, "%s %s as role %d of %q", r.Method, r.Path, role, s)
				} else if r.Path != "/metrics" { // which this API does not have
					require.NotContains(t, []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound}, got, "%s %s as role %d of %q", r.Method, r.Path, role, s)
				}
				cells++
			}
		}
	}
	require.Greater(t, cells, 3000)
}

func TestAListIsToldWhatItMayShow(t *testing.T) {
	t.Parallel()
	var page listing.Page
	f := &fake{
		jobs: func(_ context.Context, _ job.CollectionKey, p listing.Page) ([]job.Job, string, error) {
			page = p
			return nil, "", nil
		},
		collections: func(_ context.Context, _, _ string, p listing.Page) ([]job.Collection, string, error) {
			page = p
			return nil, "", nil
		},
	}
	h := guarded(f, tokenHolders{"one": with(t, access.Reader, "/jobCollections/c/jobs/j"), "all": with(t, access.Reader, "/jobCollections/c"), "none": with(t, 0, "/")})
	k := job.CollectionKey{Subscription: "00000000-0000-0000-0000-000000000000", ResourceGroup: "default", Name: "C"}

	require.Equal(t, http.StatusOK, as(h, "one", http.MethodGet, "/jobCollections/c/jobs", "").status)
	require.True(t, page.ShowsJob(k.Job("J")))
	require.False(t, page.ShowsJob(k.Job("other")))
	require.False(t, page.ShowsCollection(k))
	require.True(t, page.ShowsWithin(k))

	require.Equal(t, http.StatusOK, as(h, "all", http.MethodGet, "/jobCollections/c/jobs", "").status)
	require.Nil(t, page.View, "who may see the whole list pays for no filter")

	require.Equal(t, http.StatusOK, as(h, "all", http.MethodGet, "/jobCollections", "").status)
	require.True(t, page.ShowsCollection(k))
	k.Name = "other"
	require.False(t, page.ShowsCollection(k))

	require.Equal(t, http.StatusOK, as(h, "none", http.MethodGet, "/jobCollections", "").status)
	require.False(t, page.ShowsCollection(k))
	require.Equal(t, http.StatusNotFound, as(h, "none", http.MethodGet, "/jobCollections/c/jobs", "").status)
}

func TestReadinessSaysWhatIsWrongAlthoughJobsRun(t *testing.T) {
	t.Parallel()
	var problems []string
	h := api.New(&fake{ready: func(context.Context) error { return nil }}, api.Options{Problems: func() []string { return problems }})
	require.Equal(t, `{"status":"ready"}`, send(h, http.MethodGet, "/readyz", "").body)
	problems = []string{"the file access.yaml cannot be used"}
	got := send(h, http.MethodGet, "/readyz", "")
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, `{"status":"ready","problem":"the file access.yaml cannot be used"}`, got.body)
}

func TestTheLogSaysWhoSentARequest(t *testing.T) {
	t.Parallel()
	o, text := logged()
	o.Access = &guard.Access{Authenticators: []access.Authenticator{tokenHolders{"a": with(t, access.Reader, "/")}}}
	f, _ := echo(t)
	require.Equal(t, http.StatusOK, as(api.New(f, o), "a", http.MethodGet, "/jobCollections/c/jobs/j", "").status)
	require.Contains(t, text.String(), "principal=token:ci")
}
