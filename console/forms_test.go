package console_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"almanac/access"
	"almanac/client"
	"almanac/console"
	"almanac/internal/apitest"
	"almanac/internal/audit"
)

// withJob returns an API with the job nightly in the collection reports.
func withJob(t *testing.T, m *apitest.Memory) (*client.Client, http.Handler) {
	t.Helper()
	c, h := stored(t, m)
	_, err := c.PutJob(t.Context(), "reports", "nightly", daily())
	require.NoError(t, err)
	return c, h
}

const nightly = "/console/jobs/reports/nightly"

// as returns a caller who may do what a role allows, where it has that role.
func as(role access.Role, has func(collection, job string) bool) func(*http.Request) (console.Caller, error) {
	return func(*http.Request) (console.Caller, error) {
		return console.Caller{Name: "me", Known: true, May: func(a access.Action, of access.Scope) bool {
			return role.Allows(a) && has(of.Collection, of.Job)
		}}, nil
	}
}

func everywhere(string, string) bool { return true }

func TestPagesOfWhatACallerMayNotDoAreRefused(t *testing.T) {
	t.Parallel()
	_, h := withJob(t, new(apitest.Memory))
	pages := []string{nightly + "/delete", nightly + "/edit", "/console/new", "/console/new?collection=reports&from=nightly"}
	for _, role := range []access.Role{access.Reader, access.Operator} {
		b := browse(t, h, console.Options{Who: as(role, everywhere)})
		for _, page := range pages {
			got := b.get(page)
			require.Equal(t, http.StatusForbidden, got.status, "%s %s", role, page)
			require.Contains(t, got.text, "You may not ")
		}
	}
	b := browse(t, h, console.Options{Who: as(access.Contributor, everywhere)})
	for _, page := range pages {
		b.get(page).has()
	}
	ofOneJob := browse(t, h, console.Options{Who: as(access.Contributor, func(_, job string) bool { return job == "nightly" })})
	ofOneJob.get(nightly).has("Delete…", "/edit\"").lacks("Duplicate")
	require.Equal(t, http.StatusForbidden, ofOneJob.get("/console/new?collection=reports").status)
}

func TestUndoIsThereForWhoMayDoThat(t *testing.T) {
	t.Parallel()
	_, h := withJob(t, new(apitest.Memory))
	may := func(actions ...access.Action) func(*http.Request) (console.Caller, error) {
		return func(*http.Request) (console.Caller, error) {
			return console.Caller{Known: true, May: func(a access.Action, _ access.Scope) bool {
				return slices.Contains(append(actions, access.ReadJobs), a)
			}}, nil
		}
	}
	both := browse(t, h, console.Options{Who: may(access.DisableJobs, access.EnableJobs)})
	both.get(both.post(nightly, nightly+"/disable", nil).location).has("Disabled.", "Undo")
	one := browse(t, h, console.Options{Who: may(access.DisableJobs)})
	one.get(one.post(nightly, nightly+"/disable", nil).location).has("Disabled.").lacks("Undo")
	one.get(one.post("/console/jobs/reports", "/console/jobs/reports/disable", nil).location).has("Disabled.").lacks("Undo")
}

func TestALinkDoesNotHaveAPageSayThatSomethingWasDone(t *testing.T) {
	t.Parallel()
	_, h := withJob(t, new(apitest.Memory))
	b := browse(t, h, console.Options{})
	for _, path := range []string{nightly, "/console/jobs/reports"} {
		for _, word := range []string{"enabled", "disabled", "skipped", "saved", "deleted"} {
			b.get(path+"?done="+word).lacks(`role="status"`, "Undo")
		}
	}
	did := b.post(nightly, nightly+"/disable", nil).location
	b.get(nightly + "?done=enabled").lacks(`role="status"`)
	b.get("/console/jobs/reports?done=disabled").lacks(`role="status"`)
	b.get(did).has("Disabled.", "Undo")
	b.get(did).lacks(`role="status"`)
}

func TestTheWayBackIsAPageOfTheConsole(t *testing.T) {
	t.Parallel()
	_, h := withJob(t, new(apitest.Memory))
	public, err := url.Parse("https://example.com/almanac/")
	require.NoError(t, err)
	for _, tt := range []struct {
		name, referer, want string
		public              *url.URL
	}{
		{"page", "http://localhost" + nightly + "?show=Failed", nightly + "?show=Failed", nil},
		{"page of an error", "http://localhost" + nightly + "/run", nightly, nil},
		{"form shown again", "http://localhost" + nightly + "/edit", nightly + "/edit", nil},
		{"another host", "http://evil.example" + nightly, "/console/", nil},
		{"a host in the path", "http://localhost//evil.example/console/", "/console/", nil},
		{"a host in the console", "http://localhost/console//evil.example/", "/console/", nil},
		{"none", "", "/console/", nil},
		{"behind a proxy", "https://example.com/almanac" + nightly, "/almanac" + nightly, public},
		{"without the prefix", "https://example.com" + nightly, "/almanac/console/", public},
	} {
		b := browse(t, h, console.Options{PublicURL: tt.public})
		token := html.UnescapeString(formToken.FindStringSubmatch(b.get("/console/jobs").text)[1])
		from := func(r *http.Request) { r.Host = "localhost"; r.Header.Set("Referer", tt.referer) }
		for cookie, value := range b.cookies {
			b.cookies["__Host-"+cookie] = value
		}
		require.Equal(t, tt.want, b.send(http.MethodPost, "/console/zone", url.Values{"token": {token}, "zone": {"UTC"}}, from).location, tt.name)
		failed := b.send(http.MethodPost, "/console/zone", url.Values{"token": {token}, "zone": {"Nowhere"}}, from)
		link := `href="` + html.EscapeString(tt.want) + `">Back to the page`
		known := tt.want != "/console/" && tt.want != "/almanac/console/"
		require.Equal(t, known, strings.Contains(failed.text, link), tt.name)
		require.Equal(t, known, strings.Contains(failed.text, "Back to the page"), tt.name)
	}
}

func TestAFormOfAnotherSiteDoesNotMakeOpenFormsOld(t *testing.T) {
	t.Parallel()
	_, h := withJob(t, new(apitest.Memory))
	b := browse(t, h, console.Options{})
	good := html.UnescapeString(formToken.FindStringSubmatch(b.get(nightly).text)[1])
	var refused []string
	foreign := browse(t, h, console.Options{Refused: func(_ *http.Request, _ string, status int, code string) {
		refused = append(refused, http.StatusText(status)+" "+code)
	}}) // without the cookie, which browsers do not send then
	got := foreign.send(http.MethodPost, nightly+"/disable", url.Values{"token": {good}}, nil)
	require.Equal(t, http.StatusForbidden, got.status)
	require.Empty(t, got.header.Values("Set-Cookie"))
	require.Equal(t, []string{"Forbidden CrossOriginRequestForbidden"}, refused)
}

func TestWhatWasWrittenIsNotLost(t *testing.T) {
	t.Parallel()
	c, api := withJob(t, new(apitest.Memory))
	refuse := 0
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuse != 0 && r.Method == http.MethodPut {
			w.WriteHeader(refuse)
			return
		}
		api.ServeHTTP(w, r)
	})
	out := false
	who := func(*http.Request) (console.Caller, error) {
		if out {
			return console.Caller{}, &access.CredentialError{Problem: "The session has ended."}
		}
		return console.Caller{Known: true, Session: true, May: func(access.Action, access.Scope) bool { return true }}, nil
	}
	b := browse(t, h, console.Options{Who: who, Login: true})
	changed := filled(t, b.get(nightly+"/edit"), "f", url.Values{"do": {"save"}, "hours": {"5"}})
	created := filled(t, b.get("/console/new?collection=reports"), "f", url.Values{"do": {"save"}, "hours": {"5"}, "name": {"other"}, "uri": {"https://example.com/"}})
	for path, form := range map[string]url.Values{nightly + "/edit": changed, "/console/new": created} {
		for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable} {
			refuse = status
			got := b.send(http.MethodPost, path, form, nil)
			require.Equal(t, status, got.status, got.text)
			require.Contains(t, got.text, `name="hours" value="5"`)
			require.Contains(t, got.text, "Nothing was saved.")
		}
		refuse, out = 0, true
		got := b.send(http.MethodPost, path, form, nil)
		require.Equal(t, http.StatusUnauthorized, got.status)
		require.Contains(t, got.text, "The session has ended. Nothing was saved.")
		require.Contains(t, got.text, `name="hours" value="5"`)
		require.Contains(t, got.text, `<a href="/login" target="_blank" rel="noopener">Log in</a>`)
		require.Equal(t, http.StatusSeeOther, b.send(http.MethodPost, nightly+"/disable", form, nil).status, "other forms lead to the login page")
		strange := maps.Clone(form)
		strange.Set("token", "")
		require.Contains(t, b.send(http.MethodPost, path, strange, nil).location, "/login?return=", "what another site wrote is not shown")
		out = false
		again := filled(t, got, "f", url.Values{"do": {"save"}})
		require.Equal(t, http.StatusSeeOther, b.send(http.MethodPost, path, again, nil).status, "after the login it is saved")
	}
	found, err := c.Job(t.Context(), "reports", "nightly")
	require.NoError(t, err)
	require.Equal(t, []int{5}, found.Properties.Recurrence.Schedule.Hours)
	require.Equal(t, client.JobEnabled, found.Properties.State)
}

func TestSomebodyElsesChangeStaysInSightUntilItIsReplaced(t *testing.T) {
	t.Parallel()
	c, h := withJob(t, &apitest.Memory{Trail: []audit.Change{{ID: "1", Time: now, Operation: audit.WriteJob, Status: audit.Succeeded,
		Actor: audit.Actor{Caller: "ci-deploy"}, Differences: []audit.Difference{{Path: "properties.recurrence.interval", From: 1, To: 3}}}}})
	b := browse(t, h, console.Options{})
	mine := filled(t, b.get(nightly+"/edit"), "f", url.Values{"do": {"save"}, "hours": {"5"}})
	change := func(n int) {
		_, err := c.PatchJob(t.Context(), "reports", "nightly", map[string]any{"properties": map[string]any{"recurrence": map[string]any{"interval": n}}})
		require.NoError(t, err)
	}
	change(3)
	got := b.send(http.MethodPost, nightly+"/edit", mine, nil)
	require.Equal(t, http.StatusPreconditionFailed, got.status)
	got = b.send(http.MethodPost, nightly+"/edit", filled(t, got, "f", url.Values{"do": {"check"}}), nil)
	got.has("ci-deploy changed this job at")
	change(4)
	got = b.send(http.MethodPost, nightly+"/edit", filled(t, got, "f", url.Values{"do": {"save"}}), nil)
	require.Equal(t, http.StatusPreconditionFailed, got.status, "a second change is not replaced unseen")
}

func TestWhatFailsIsSaidInWordsForPeople(t *testing.T) {
	t.Parallel()
	_, api := withJob(t, new(apitest.Memory))
	status, wait := 0, ""
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if status == 0 {
			panic(http.ErrAbortHandler)
		}
		if wait != "" {
			w.Header().Set("Retry-After", wait)
		}
		w.WriteHeader(status)
	})
	b := browse(t, h, console.Options{})
	got := b.get(nightly)
	require.Equal(t, http.StatusInternalServerError, got.status)
	require.NotContains(t, got.text, "localhost")
	for status, wait = range map[int]string{http.StatusTooManyRequests: "17", http.StatusServiceUnavailable: "42"} {
		got = b.get(nightly)
		require.Equal(t, status, got.status)
		require.Equal(t, wait, got.header.Get("Retry-After"))
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	got = browse(t, api, console.Options{}).send(http.MethodGet, nightly, nil, func(r *http.Request) { *r = *r.WithContext(gone) })
	require.Contains(t, got.text, "did not answer in time")
	require.NotContains(t, got.text, "localhost")
}

func TestACallerWhoCannotBeCheckedNowIsNotAskedToLogIn(t *testing.T) {
	t.Parallel()
	_, h := withJob(t, new(apitest.Memory))
	for want, err := range map[int]error{
		http.StatusServiceUnavailable: &client.Error{Status: http.StatusServiceUnavailable}, http.StatusTooManyRequests: &client.Error{Status: http.StatusTooManyRequests},
		http.StatusInternalServerError: errors.New("no words for people"),
	} {
		b := browse(t, h, console.Options{Login: true, Who: func(*http.Request) (console.Caller, error) { return console.Caller{}, err }})
		got := b.get(nightly)
		require.Equal(t, want, got.status)
		require.NotContains(t, got.text, "no words for people")
	}
	b := browse(t, h, console.Options{Login: true, Who: func(*http.Request) (console.Caller, error) { return console.Caller{}, nil }})
	got := b.send(http.MethodGet, nightly, nil, func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") })
	require.Equal(t, http.StatusUnauthorized, got.status, "a program is told so")
}

func TestPathsAreCleanedBelowThePrefix(t *testing.T) {
	t.Parallel()
	_, h := withJob(t, new(apitest.Memory))
	public, err := url.Parse("https://example.com/almanac/")
	require.NoError(t, err)
	b := browse(t, h, console.Options{PublicURL: public})
	for path, want := range map[string]string{
		"/console//jobs?q=a": "/almanac/console/jobs?q=a", "/console/x/../jobs/": "/almanac/console/jobs/", "/console/./": "/almanac/console/",
	} {
		require.Equal(t, want, b.get(path).location, path)
	}
}

func TestWhoSeesSomeJobsOfACollectionSeesThoseInItsList(t *testing.T) {
	t.Parallel()
	_, api := withJob(t, new(apitest.Memory))
	for _, status := range []int{http.StatusNotFound, http.StatusForbidden} {
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/jobCollections/reports" {
				w.WriteHeader(status)
				return
			}
			api.ServeHTTP(w, r)
		})
		b := browse(t, h, console.Options{Who: as(access.Reader, func(_, job string) bool { return job == "nightly" })})
		b.get("/console/jobs/reports").has(">nightly<", "You may see some jobs of the collection").lacks("plan ", "able collection")
	}
}

func TestAListOfJobsThatCannotBeReadGoesOn(t *testing.T) {
	t.Parallel()
	unread := `{"value":[{"name":"reports/silent","error":{"code":"X","message":"it did not answer"}}],"nextLink":"http://localhost/summaries?$skiptoken=abc","total":3,"matching":3,"counts":{}}`
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(unread)) })
	b := browse(t, h, console.Options{})
	b.get("/console/jobs").has(">Next</a>").lacks("No jobs yet")
	b.get("/console/jobs?q=+").lacks("has the words")
}

func TestAStoredJobThatWouldNotBeAcceptedAnyMoreHasAPage(t *testing.T) {
	t.Parallel()
	_, api := withJob(t, new(apitest.Memory))
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "review") { // previewRecurrence, previewChange
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		api.ServeHTTP(w, r)
	})
	browse(t, h, console.Options{}).get(nightly).has("would not be accepted any more")
}

func TestSignOutIsThereForWhoHasLoggedIn(t *testing.T) {
	t.Parallel()
	_, h := withJob(t, new(apitest.Memory))
	for _, session := range []bool{true, false} {
		b := browse(t, h, console.Options{Login: true, Who: func(r *http.Request) (console.Caller, error) {
			c, err := as(access.Reader, everywhere)(r)
			c.Session = session
			return c, err
		}})
		require.Equal(t, session, strings.Contains(b.get("/console/about").has("me</summary>").text, "Sign out"))
	}
}

func TestDeletingAsksForTheNameAsItIsShown(t *testing.T) {
	t.Parallel()
	_, h := withJob(t, new(apitest.Memory))
	b := browse(t, h, console.Options{})
	page := b.get("/console/jobs/REPORTS/NIGHTLY/delete")
	page.has("Delete nightly?", `action="`+nightly+`/delete"`)
}

func TestLinksToFieldsLeadSomewhere(t *testing.T) {
	t.Parallel()
	c, h := withJob(t, new(apitest.Memory))
	queue := daily()
	queue.Action = client.Action{Type: "StorageQueue", QueueMessage: &client.QueueMessage{StorageAccount: "acc", QueueName: "queue", SASToken: "sv=2012-02-12&sig=x", Message: "hi"}}
	_, err := c.PutJob(t.Context(), "reports", "queue", queue)
	require.NoError(t, err)
	b := browse(t, h, console.Options{})
	for path, text := range map[string]string{
		nightly: `{"properties":{"startTime":"x","action":{"type":"Https","request":{"uri":"","headers":{"a b":"c"},"authentication":{"type":"Basic","username":5}},` +
			`"errorAction":{"type":"Http","request":{"uri":""}}},"recurrence":{"frequency":"x","schedule":{"hours":[24,25],"weekDays":["x","y"]}}}}`,
		"/console/jobs/reports/queue": `{"properties":{"action":{"type":"Http","request":{"uri":""}},"recurrence":{"frequency":"day","schedule":{"hours":[24,25]}}}}`,
	} {
		got := b.send(http.MethodPost, path+"/edit", filled(t, b.get(path+"/edit"), "j", url.Values{"do": {"save"}, "json": {text}}), nil)
		require.Equal(t, http.StatusBadRequest, got.status)
		doc, err := html.Parse(strings.NewReader(got.text))
		require.NoError(t, err)
		ids, links := map[string]int{}, []string{}
		for n := range doc.Descendants() {
			if id := attribute(n, "id"); id != "" {
				ids[id]++
				require.Equal(t, 1, ids[id], id)
			}
			if to, ok := strings.CutPrefix(attribute(n, "href"), "#"); ok && n.Data == "a" {
				links = append(links, to)
			}
		}
		require.Greater(t, len(links), 2)
		for _, to := range links {
			require.Contains(t, ids, to)
		}
	}
}

func TestAnExecutionIsOneRowAlsoWhereAPageEnds(t *testing.T) {
	t.Parallel()
	_, api := withJob(t, new(apitest.Memory))
	entry := func(execution, retry int, status string) string {
		return fmt.Sprintf(`{"properties":{"startTime":"2026-11-26T01:0%d:0%d.5Z","endTime":"2026-11-26T01:0%d:0%d.7Z","status":%q,"retryCount":%d,"repeatCount":%d,`+
			`"actionName":"MainAction","message":"execution %d"}}`, execution, retry, execution, retry, status, retry, execution, execution)
	}
	first := `{"value":[` + entry(3, 0, "Completed") + "," + entry(2, 1, "Completed") + `],"nextLink":"http://localhost/x?$skiptoken=more"}`
	second := `{"value":[` + entry(2, 0, "Failed") + "," + entry(1, 0, "Completed") + `]}`
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !strings.HasSuffix(r.URL.Path, "/history"):
			api.ServeHTTP(w, r)
		case r.URL.Query().Get("$skiptoken") == "more":
			_, _ = w.Write([]byte(second))
		default:
			_, _ = w.Write([]byte(first))
		}
	})
	b := browse(t, h, console.Options{})
	newest := b.get(nightly).has("execution 3", "execution 2", "attempt 2", "Last 2: ")
	newest.lacks("execution 1", "1 failed")
	older := regexp.MustCompile(`href="([^"]+before=[^"#]+)#history">Older`).FindStringSubmatch(newest.text)
	require.NotNil(t, older)
	b.get(html.UnescapeString(older[1])).has("execution 1").lacks("execution 2")
}
