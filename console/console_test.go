package console_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"almanac/access"
	"almanac/api"
	"almanac/client"
	"almanac/console"
	"almanac/internal/apitest"
	"almanac/internal/audit"
	"almanac/job"
)

var now = time.Date(2026, 11, 26, 2, 12, 20, 0, time.UTC)

// A browser asks a console, and keeps its cookies.
type browser struct {
	t       *testing.T
	handler http.Handler
	cookies map[string]string
	base    string
}

// A shown is a page that a browser was shown.
type shown struct {
	t        *testing.T
	status   int
	header   http.Header
	text     string
	location string
}

// stored returns an API with memory m, in which the collection reports has some jobs.
func stored(t *testing.T, m *apitest.Memory) (*client.Client, http.Handler) {
	t.Helper()
	h := api.New(m, api.Options{Now: func() time.Time { return now }})
	c, err := client.New("http://localhost", client.Options{Transport: client.ServedBy(h)})
	require.NoError(t, err)
	_, err = c.PutCollection(t.Context(), "reports", client.Collection{Properties: client.CollectionProperties{SKU: client.SKU{Name: "P20Premium"}}})
	require.NoError(t, err)
	return c, h
}

func daily() client.JobProperties {
	return client.JobProperties{
		StartTime:  "2026-01-01",
		Action:     client.Action{Type: "Https", Request: &client.Request{URI: "https://example.com/hook", Method: "POST"}},
		Recurrence: &client.Recurrence{Frequency: "day", TimeZone: "Europe/Stockholm", Schedule: &client.Schedule{Hours: []int{2}, Minutes: []int{30}}},
	}
}

// browse returns a browser of a console of an API.
func browse(t *testing.T, h http.Handler, o console.Options) *browser {
	t.Helper()
	o.API, o.Now, o.Version = h, func() time.Time { return now }, "1.2.3"
	c, err := console.New(o)
	require.NoError(t, err)
	return &browser{t, c.Before(h), map[string]string{}, "http://localhost"}
}

func (b *browser) send(method, path string, form url.Values, change func(*http.Request)) *shown {
	b.t.Helper()
	r := httptest.NewRequest(method, b.base+path, strings.NewReader(form.Encode()))
	r.Header.Set("Accept", "text/html")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Sec-Fetch-Mode", "navigate")
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		b.cookies[c.Name] = c.Value
	}
	text, err := io.ReadAll(w.Result().Body)
	require.NoError(b.t, err)
	return &shown{b.t, w.Code, w.Header(), string(text), w.Header().Get("Location")}
}

func (b *browser) get(path string) *shown {
	b.t.Helper()
	return b.send(http.MethodGet, path, nil, nil)
}

var formToken = regexp.MustCompile(`name="token" value="([^"]+)"`)

// post sends a form of a page, with its token.
func (b *browser) post(page, path string, form url.Values) *shown {
	b.t.Helper()
	if form == nil {
		form = url.Values{}
	}
	m := formToken.FindStringSubmatch(b.get(page).text)
	require.NotNil(b.t, m, "%s has no form", page)
	form.Set("token", html.UnescapeString(m[1]))
	return b.send(http.MethodPost, path, form, nil)
}

// has requires that a page is whole and has texts.
func (s *shown) has(texts ...string) *shown {
	s.t.Helper()
	require.Equal(s.t, http.StatusOK, s.status, s.text)
	for _, text := range texts {
		require.Contains(s.t, s.text, text)
	}
	return s
}

func (s *shown) lacks(texts ...string) {
	s.t.Helper()
	for _, text := range texts {
		require.NotContains(s.t, s.text, text)
	}
}

// The console shows what the API answers, and decides nothing that the API does.
func TestTheConsoleImportsNothingThatDecides(t *testing.T) {
	t.Parallel()
	text, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	for imported := range strings.FieldsSeq(string(text)) {
		require.NotRegexp(t, `^almanac/(scheduler|job/input|workflows|worker)|^go\.temporal\.io`, imported)
	}
}

func TestAListShowsWhatTheAPIAnswersOfEachJob(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration) *job.Time { return job.NewTime(now.Add(d)) }
	c, h := stored(t, &apitest.Memory{
		Unread: map[string]string{"silent": "it did not answer in time"},
		Status: func(k job.Key) (s job.Status) {
			s.NextExecutionTime = at(23*time.Hour + 17*time.Minute + 40*time.Second)
			if k.Name == "over" {
				s.NextExecutionTime = nil
			}
			return s
		},
		Marks: func(k job.Key) []job.Mark {
			last := map[string]job.Outcome{"fails": job.OutcomeFailed, "fine": job.OutcomeCompleted}[k.Name]
			if last == "" {
				return nil
			}
			return []job.Mark{{Due: now.Add(-2 * time.Hour), Outcome: job.OutcomeMissed}, {Due: now.Add(-time.Hour), Outcome: last}}
		},
	})
	for _, name := range []string{"fails", "fine", "off", "over", "silent"} {
		of := daily()
		if name == "off" {
			of.State = client.JobDisabled
		}
		_, err := c.PutJob(t.Context(), "reports", name, of)
		require.NoError(t, err)
	}
	b := browse(t, h, console.Options{})
	page := b.get("/console/jobs/reports").has("every day at 02:30", "in 23 h 18 min", "Fri 27 Nov 01:30", "over: no occurrence is left",
		"Last 2: 1 succeeded, 1 missed", "silent</b> is not in the list", "5 jobs, 1 failing, 1 disabled", "Almanac 1.2.3", "As of 02:12:20 UTC")
	require.Regexp(t, `m-off.*?>off<.*?>disabled<`, strings.ReplaceAll(page.text, "\n", ""))
	require.Regexp(t, `m-fail.*?>fails<`, page.text)
	b.get("/console/jobs/reports?q=fin+example.com").has(">fine<", "has the words fin example.com", "1 of 5 jobs").lacks(">fails<")
	b.get("/console/jobs/reports?q=nothing&state=failing").has("No job matches", "State: failing")
	b.get("/console/jobs?state=failing").has(`<span class="of">reports/</span>fails`).lacks(">fine<", ">off<")
	b.get("/console/jobs?sort=-next").has(`aria-sort="descending"`, "Next run ↓")
	require.Equal(t, http.StatusNotFound, b.get("/console/jobs/none").status)
}

// history is that of a job: failed after a retry, by hand, missed.
func history() []job.Record {
	attempt := func(repeat, n int, action job.ActionName, start time.Duration, outcome job.Outcome, message string) job.Record {
		begin := now.Add(start)
		return job.Record{
			Execution: job.Execution{Due: now.Add(-time.Hour), Repeat: repeat, ActionName: action},
			Attempt:   job.Attempt{Number: n, Start: begin, End: begin.Add(4 * time.Millisecond), Outcome: outcome, Message: message},
		}
	}
	byHand := attempt(2, 1, job.MainAction, -2*time.Hour, job.OutcomeCompleted,
		"Http Action - Response from host 'example.com': 'OK' Response Headers: X: 1\r\n Body: 1,204 invoices")
	byHand.Caller, byHand.Due = "ops", byHand.Start
	missed := attempt(0, 0, job.MainAction, -3*time.Hour, job.OutcomeMissed, "nothing could run it")
	return []job.Record{
		attempt(3, 1, job.ErrorAction, -58*time.Minute, job.OutcomeCompleted, "sent"),
		attempt(3, 2, job.MainAction, -59*time.Minute, job.OutcomeFailed, "the connection was refused"),
		attempt(3, 1, job.MainAction, -time.Hour+38*time.Millisecond, job.OutcomeFailed, "the connection was refused"),
		byHand, missed,
	}
}

func TestAJobPageShowsItsHistoryItsPlanAndItsChanges(t *testing.T) {
	t.Parallel()
	m := &apitest.Memory{
		Records: history(),
		Trail: []audit.Change{{ID: "1", Time: now.Add(-time.Hour), Operation: audit.WriteJob, Status: audit.Succeeded, Actor: audit.Actor{Caller: "ops"},
			Differences: []audit.Difference{{Path: "properties.recurrence.interval", From: 1, To: 2}, {Path: "properties.action.request.authentication.password", Hidden: true}}}},
		Status: func(job.Key) job.Status {
			return job.Status{
				NextExecutionTime: job.NewTime(now.Add(23*time.Hour + 17*time.Minute + 40*time.Second)), ExecutionCount: 3, FailureCount: 1,
				Outcomes: job.Outcomes{
					LastError:           &job.LastError{Message: "the connection was refused", EndTime: job.NewTime(now.Add(-59 * time.Minute))},
					ConsecutiveFailures: 1, LastSuccessTime: job.NewTime(now.Add(-2 * time.Hour)),
				},
			}
		},
	}
	c, h := stored(t, m)
	_, err := c.PutJob(t.Context(), "reports", "nightly", daily())
	require.NoError(t, err)
	b := browse(t, h, console.Options{})
	b.get("/console/jobs/reports/nightly").has(
		"POST https://example.com/hook", "Failed at <time", "the connection was refused", "2 attempts failed: ", "attempt 2", "error action",
		"<samp>OK</samp> 1,204 invoices", "run by hand, by ops", "nothing could run it", "38 ms", "Skip 27 Nov", "Rerun it",
		"<del>1</del>", "<ins>2</ins>", "changed, never shown", "changed 2 members", "November 2026", "Last 3: 1 succeeded, 1 failed, 1 missed",
		"curl -X POST $J/run", "3</b><span>executions, 1 failed",
	)
	b.get("/console/jobs/reports/nightly?show=Missed").has("nothing could run it").lacks("1,204 invoices", "Last 3")
	require.Equal(t, http.StatusNotFound, b.get("/console/jobs/reports/none").status)
	require.Equal(t, "/console/", b.post("/console/jobs/reports/nightly", "/console/zone", url.Values{"zone": {"Europe/Stockholm"}}).location)
	require.Equal(t, http.StatusBadRequest, b.post("/console/jobs/reports/nightly", "/console/zone", url.Values{"zone": {"Nowhere"}}).status)
	b.get("/console/jobs/reports/nightly").has("Fri 27 Nov 02:30", "2026-11-27 02:30:00 CET, Europe/Stockholm · 2026-11-27 01:30:00 UTC")
}

func TestFormsDoWhatTheySayAndLeadToWhatTheyDid(t *testing.T) {
	t.Parallel()
	c, h := stored(t, &apitest.Memory{Status: func(job.Key) job.Status {
		return job.Status{NextExecutionTime: job.NewTime(now.Add(time.Hour))}
	}})
	_, err := c.PutJob(t.Context(), "reports", "nightly", daily())
	require.NoError(t, err)
	b := browse(t, h, console.Options{})
	const page = "/console/jobs/reports/nightly"
	did := b.post(page, page+"/run", nil)
	require.Equal(t, http.StatusSeeOther, did.status)
	require.Equal(t, page+"/executions/1-1", did.location)
	b.get(did.location).has(`<meta http-equiv="refresh" content="2">`, "Waits", "It waits for a worker.")
	b.get(did.location + "?watch=off").has("Follow it").lacks("http-equiv")
	skipped := b.post(page, page+"/skip", url.Values{"due": {"2026-11-26T03:12:20Z"}}).location
	require.Equal(t, page+"?done=skipped&due=2026-11-26T03%3A12%3A20Z", skipped)
	undo := page + "/unskip?due=2026-11-26T03%3A12%3A20Z"
	b.get(skipped).has("Left out.", `action="`+undo+`"`)
	require.Equal(t, page+"?done=unskipped", b.post(page, undo, nil).location)
	b.get(page + "?done=unskipped").has("It runs after all.")
	require.Equal(t, http.StatusBadRequest, b.post(page, page+"/unskip", nil).status)
	require.Equal(t, http.StatusBadRequest, b.post(page, page+"/skip", nil).status)
	did = b.post(page, page+"/disable", nil)
	require.Equal(t, page+"?done=disabled", did.location)
	b.get(did.location).has("Disabled.", "Undo", `action="/console/jobs/reports/nightly/enable"`, "Enable…</a>").lacks("Skip 26 Nov", "Pause…</a>")
	require.Equal(t, page+"?done=enabled", b.post(page, page+"/enable", nil).location)
	require.Equal(t, http.StatusBadRequest, b.post(page+"/delete", page+"/delete", url.Values{"name": {"other"}}).status)
	stale := b.get(page+"/delete").has("Delete nightly?", "Disable instead")
	etag := html.UnescapeString(regexp.MustCompile(`name="etag" value="([^"]+)"`).FindStringSubmatch(stale.text)[1])
	_, err = c.DisableJob(t.Context(), "reports", "nightly")
	require.NoError(t, err)
	changed := b.post(page+"/delete", page+"/delete", url.Values{"name": {"nightly"}, "etag": {etag}})
	require.Equal(t, http.StatusPreconditionFailed, changed.status, "somebody has changed it since the page was shown")
	require.Equal(t, "/console/jobs/reports?done=deleted", b.post(page+"/delete", page+"/delete", url.Values{"name": {"nightly"}}).location)
	_, err = c.Job(t.Context(), "reports", "nightly")
	require.True(t, client.IsNotFound(err))
}

func TestAFormThatAnotherSiteSendsDoesNothing(t *testing.T) {
	t.Parallel()
	c, h := stored(t, new(apitest.Memory))
	_, err := c.PutJob(t.Context(), "reports", "nightly", daily())
	require.NoError(t, err)
	b := browse(t, h, console.Options{})
	const page = "/console/jobs/reports/nightly"
	good := html.UnescapeString(formToken.FindStringSubmatch(b.get(page).text)[1])
	other := browse(t, h, console.Options{})
	foreign := html.UnescapeString(formToken.FindStringSubmatch(other.get(page).text)[1])
	for name, token := range map[string]string{"no token": "", "that of another browser": foreign, "a part of it": good[:40], "no base64": "!!"} {
		got := b.send(http.MethodPost, page+"/disable", url.Values{"token": {token}}, nil)
		require.Equal(t, http.StatusForbidden, got.status, name)
		require.Contains(t, got.text, "Nothing was done.")
	}
	got := b.send(http.MethodPost, page+"/disable", url.Values{"token": {good}}, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") })
	require.Equal(t, http.StatusForbidden, got.status, "the API refuses it as well")
	require.Contains(t, got.text, "CrossOriginRequestForbidden")
	found, err := c.Job(t.Context(), "reports", "nightly")
	require.NoError(t, err)
	require.Equal(t, client.JobEnabled, found.Properties.State)
	require.Equal(t, http.StatusSeeOther, b.send(http.MethodPost, page+"/disable", url.Values{"token": {good}}, nil).status)
}

func TestAPageShowsNoButtonThatWouldBeRefused(t *testing.T) {
	t.Parallel()
	c, h := stored(t, &apitest.Memory{Status: func(job.Key) job.Status {
		return job.Status{NextExecutionTime: job.NewTime(now.Add(time.Hour))}
	}})
	_, err := c.PutJob(t.Context(), "reports", "nightly", daily())
	require.NoError(t, err)
	for role, buttons := range map[access.Role][]string{
		access.Reader:      nil,
		access.Operator:    {"Run now", "/skip\"", "Pause…</a>"},
		access.Contributor: {"Run now", "/skip\"", "Pause…</a>", "Delete…", "/edit\""},
	} {
		b := browse(t, h, console.Options{Who: func(*http.Request) (console.Caller, error) {
			return console.Caller{Name: "me", Known: true, May: func(a access.Action, _ access.Scope) bool { return role.Allows(a) }}, nil
		}})
		page := b.get("/console/jobs/reports/nightly").has("Signed in as </span>me").has(buttons...)
		for _, button := range []string{"Run now", "/skip\"", "Pause…</a>", "Delete…", "/edit\""} {
			require.Equal(t, slices.Contains(buttons, button), strings.Contains(page.text, button), "%s: %s", role, button)
		}
	}
}

func TestWhoIsNotKnownIsSentToTheLoginPage(t *testing.T) {
	t.Parallel()
	_, h := stored(t, new(apitest.Memory))
	stranger := func(*http.Request) (console.Caller, error) {
		return console.Caller{}, &access.CredentialError{Problem: "The session has ended."}
	}
	public, err := url.Parse("https://example.com/almanac/")
	require.NoError(t, err)
	b := browse(t, h, console.Options{Who: stranger, Login: true, PublicURL: public})
	got := b.get("/console/jobs/reports?state=enabled")
	require.Equal(t, http.StatusSeeOther, got.status)
	require.Equal(t, "/almanac/login?return="+url.QueryEscape("/console/jobs/reports?state=enabled"), got.location)
	got = browse(t, h, console.Options{Who: stranger}).get("/console/jobs")
	require.Equal(t, http.StatusUnauthorized, got.status)
	require.Contains(t, got.text, "The session has ended.")
	require.Equal(t, http.StatusOK, b.get("/console/assets/x/console.css").status)
}

// hostile are texts that would be more than text, if a page did not escape them.
var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `</title><svg onload=alert(1)>`, `javascript:alert(1)`,
	"{{.Token}}", `<!--`, "\u2028</script>", `&lt;b&gt;`,
}

func TestWhatOthersWroteIsTextOnEveryPage(t *testing.T) {
	t.Parallel()
	for _, text := range hostile {
		records := history()
		for i := range records {
			records[i].Message, records[i].Caller = text, text
		}
		m := &apitest.Memory{
			Records: records,
			Unread:  map[string]string{"other": text},
			Trail: []audit.Change{{ID: "1", Time: now, Operation: audit.WriteJob, Status: audit.Failed, Message: text, Actor: audit.Actor{Caller: text},
				Differences: []audit.Difference{{Path: "properties." + text, From: text, To: text}}}},
			Status: func(job.Key) job.Status {
				last := &job.LastError{Message: text, EndTime: job.NewTime(now)}
				return job.Status{Reason: text, Outcomes: job.Outcomes{LastError: last, ConsecutiveFailures: 1}, Retry: &job.Retry{Attempt: 2, MaxAttempts: 3, LastError: last}}
			},
		}
		c, h := stored(t, m)
		of := daily()
		of.Action.Request.Body, of.Action.Request.URI = text, "https://example.com/?q="+url.QueryEscape(text)
		of.Action.Request.Authentication = &client.Authentication{Type: "Basic", Username: new(strings.ReplaceAll(text, ":", "")), Password: "hush"}
		for _, name := range []string{"it's (a) job+é", "other"} {
			_, err := c.PutJob(t.Context(), "reports", name, of)
			require.NoError(t, err)
		}
		b := browse(t, h, console.Options{Who: func(*http.Request) (console.Caller, error) {
			return console.Caller{Name: text, Known: true, May: func(access.Action, access.Scope) bool { return true }}, nil
		}})
		page := "/console/jobs/reports/" + url.PathEscape("it's (a) job+é")
		for _, path := range []string{"/console/jobs", "/console/jobs/reports", page, page + "/delete", "/console/about",
			"/console/jobs/reports?q=" + url.QueryEscape(text), "/console/jobs?host=" + url.QueryEscape(text), page + "/edit", "/console/", "/console/activity", nightPath, nightPath + "&scope=" + url.QueryEscape(text),
			"/console/activity?by=time&name=" + url.QueryEscape(text), "/console/activity?collection=" + url.QueryEscape(text), "/console/new?from=other&collection=reports",
			"/console/jobs/reports?state=" + url.QueryEscape(text), "/console/jobs/" + url.PathEscape(text),
			page + "?show=" + url.QueryEscape(text), page + "?done=" + url.QueryEscape(text), page + "/executions/" + url.PathEscape(text)} {
			got := b.get(path)
			require.Less(t, got.status, http.StatusInternalServerError, got.text)
			requireHarmless(t, got)
		}
	}
}

// requireHarmless requires that a page has no script, no style and no handler of its own, and the policy that stops them.
func requireHarmless(t *testing.T, s *shown) {
	t.Helper()
	require.Contains(t, s.header.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'; style-src 'self'")
	require.NotContains(t, s.header.Get("Content-Security-Policy"), "unsafe")
	doc, err := html.Parse(strings.NewReader(s.text))
	require.NoError(t, err)
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if n.Data == "script" { // the one of the console
			require.Nil(t, n.FirstChild)
			require.Contains(t, attribute(n, "src"), "/console/assets/")
			continue
		}
		require.NotContains(t, []string{"style", "iframe", "object", "embed", "img", "base"}, n.Data)
		for _, a := range n.Attr {
			require.False(t, strings.HasPrefix(a.Key, "on") || a.Key == "style", "%s has %s", n.Data, a.Key)
			if a.Key == "href" || a.Key == "action" || a.Key == "formaction" {
				require.Regexp(t, `^(/|#|\?)`, a.Val)
			}
		}
	}
}

func TestBrowsersAreSentToTheConsoleAndProgramsAreNot(t *testing.T) {
	t.Parallel()
	_, h := stored(t, new(apitest.Memory))
	b := browse(t, h, console.Options{})
	require.Equal(t, "/console/", b.get("/").location)
	program := b.send(http.MethodGet, "/", nil, func(r *http.Request) { r.Header.Set("Accept", "*/*") })
	require.Equal(t, http.StatusOK, program.status)
	require.Contains(t, program.text, `"service":"Almanac"`)
	require.Equal(t, "/console/", b.get("/console").location)
	b.get("/console/").has("Your first job", "Create and watch it")
	require.Equal(t, http.StatusNotFound, b.get("/console/nowhere").status)
	small := b.send(http.MethodGet, "/console/jobs", nil, func(r *http.Request) { r.Header.Set("Accept-Encoding", "br, gzip") })
	require.Equal(t, "gzip", small.header.Get("Content-Encoding"))
	unzipped, err := gzip.NewReader(strings.NewReader(small.text))
	require.NoError(t, err)
	text, err := io.ReadAll(unzipped)
	require.NoError(t, err)
	require.Contains(t, string(text), "<h1>Jobs</h1>")
	require.Empty(t, b.send(http.MethodHead, "/console/jobs", nil, nil).text)
	require.Equal(t, http.StatusNotFound, b.get("/consoles").status)
	style := b.get(regexp.MustCompile(`href="(/console/assets/[^"]+/console.css)"`).FindStringSubmatch(b.get("/console/jobs").text)[1])
	require.Contains(t, style.header.Get("Cache-Control"), "immutable")
	require.Contains(t, b.get("/console/assets/old/console.css").header.Get("Cache-Control"), "no-cache")
}

// What is skipped is marked among the runs to come, and can be run after all by who may skip.
func TestSkippedOccurrencesAreAmongTheNextRuns(t *testing.T) {
	t.Parallel()
	next := time.Date(2026, 11, 27, 1, 30, 0, 0, time.UTC)
	c, h := stored(t, &apitest.Memory{Status: func(job.Key) job.Status {
		return job.Status{NextExecutionTime: job.NewTime(next), Skips: []*job.Time{job.NewTime(next.Add(24 * time.Hour))}}
	}})
	_, err := c.PutJob(t.Context(), "reports", "nightly", daily())
	require.NoError(t, err)
	const page = "/console/jobs/reports/nightly"
	browse(t, h, console.Options{}).get(page).has(`name="due" value="2026-11-28T01:30:00Z"><button class="btn btn-q">Run it after all`, `name="due" value="2026-11-29T01:30:00Z"><button class="btn btn-q" aria-label="Skip 29 Nov"`)
	may := func(a access.Action, _ access.Scope) bool { return access.Reader.Allows(a) }
	b := browse(t, h, console.Options{Who: func(*http.Request) (console.Caller, error) {
		return console.Caller{Name: "guest", ID: "guest", Known: true, May: may}, nil
	}})
	b.get(page).has("skipped</span>").lacks("Run it after all", `/nightly/skip"`)
}
