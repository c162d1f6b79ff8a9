package e2e_test

import (
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/console"
)

// The pages are tested with jobs in memory. This is their story with a job that runs, in a browser without scripts.
func TestTheConsoleShowsAJobThroughItsLife(t *testing.T) {
	t.Parallel()
	s := use(t)
	target := newSink(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/broken" {
			http.Error(w, "no such <customer>", http.StatusTeapot)
			return
		}
		_, _ = io.WriteString(w, "1,204 invoices")
	})
	handler := api.New(s.service, api.Options{})
	pages, err := console.New(console.Options{API: handler})
	require.NoError(t, err)
	front := httptest.NewServer(pages.Before(handler))
	t.Cleanup(front.Close)
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	browser := &http.Client{Jar: jar}
	open := func(r *http.Request, err error) (text, at string) {
		t.Helper()
		require.NoError(t, err)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		answer, err := browser.Do(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.Less(t, answer.StatusCode, 500, "%s", body)
		return string(body), answer.Request.URL.Path
	}
	see := func(path string) string {
		t.Helper()
		text, _ := open(http.NewRequestWithContext(t.Context(), http.MethodGet, front.URL+path, nil))
		return text
	}
	send := func(page, path string, form url.Values) (text, at string) {
		t.Helper()
		form.Set("token", html.UnescapeString(regexp.MustCompile(`name="token" value="([^"]+)"`).FindStringSubmatch(see(page))[1]))
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, front.URL+path, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return open(r, err)
	}

	collection := s.collection(t)[len(s.url+"/jobCollections/"):]
	job := "/console/jobs/" + collection + "/nightly"
	definition := func(path string) url.Values {
		return url.Values{"from": {"json"}, "do": {"save"}, "collection": {collection}, "name": {"nightly"},
			"json": {get(target.URL+path, `,"startTime":"2099-01-01"`)}}
	}
	text, at := send("/console/new", "/console/new", definition("/fine"))
	require.Contains(t, text, "18 months", "a start so far away is refused, in the words of the API")
	require.Equal(t, "/console/new", at)
	form := definition("/fine")
	form.Set("json", `{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":"`+target.URL+`/fine"},"retryPolicy":{"retryType":"none"}},"recurrence":{"frequency":"week"}}}`)
	text, at = send("/console/new", "/console/new", form)
	require.Equal(t, job, at, text)
	require.Contains(t, text, "Created.")

	watch := func(page string) (ended string) {
		t.Helper()
		eventually(t, "end of a run on its page", func() bool {
			ended = see(page)
			return !strings.Contains(ended, `http-equiv="refresh"`)
		})
		return ended
	}
	_, at = send(job, job+"/run", url.Values{})
	require.Contains(t, at, job+"/executions/")
	ended := watch(at)
	require.Contains(t, ended, "<span>Succeeded</span>")
	require.Contains(t, ended, "1,204 invoices")

	form.Set("json", strings.Replace(form.Get("json"), "/fine", "/broken", 1))
	etag := regexp.MustCompile(`name="etag" value="([^"]+)"`).FindStringSubmatch(see(job + "/edit"))[1]
	form.Set("etag", html.UnescapeString(etag))
	text, at = send(job+"/edit", job+"/edit", form)
	require.Equal(t, job, at, text)
	_, at = send(job, job+"/run", url.Values{})
	require.Contains(t, watch(at), "no such &lt;customer&gt;")
	text = see(job)
	for _, shown := range []string{"Failed at <time", "418 I&#39;m a teapot", "1 failed", "run by hand, by 127.0.0.1", "changed 1 member", "<del>&#34;" + target.URL + "/fine"} {
		require.Contains(t, text, shown)
	}
	require.Contains(t, see(job+"/explain"), `<p class="say answer">`)
	require.Contains(t, see(job+"?lateness=P1D"), "The histogram as a table")
	list := "/console/jobs/" + collection
	text, _ = send(list, list+"/bulk", url.Values{"action": {"skip"}, "job": {"nightly"}})
	require.Contains(t, text, "Skip next: 1 job of")
	selection := regexp.MustCompile(`name="selection" value="([^"]+)"`).FindStringSubmatch(text)[1]
	text, _ = send(list, list+"/bulk/do", url.Values{"action": {"skip"}, "selection": {html.UnescapeString(selection)}, "changes": {"1"}})
	require.Contains(t, text, "1 done")
	text, _ = send(job, job+"/disable", url.Values{})
	require.Contains(t, text, "No occurrence runs until someone enables it.")
	require.Contains(t, see("/console/jobs/"+collection), ">disabled<")
	text, at = send(job+"/delete", job+"/delete", url.Values{"name": {"nightly"}})
	require.Contains(t, text, "The job and its history are gone.")
	require.Equal(t, "/console/jobs/"+collection, at)
}
