package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	calls "almanac/client"
)

// TestTheConsole opens the console of a server of its own in a browser.
func TestTheConsole(t *testing.T) {
	t.Parallel()
	target := newReceiver(t)
	base := startNode(t, "--ui-listen", "").addresses["API"]
	c, err := calls.New(base, calls.Options{})
	require.NoError(t, err)
	first := browse(t)
	s := &consoleTest{base: base, target: target.URL, client: c, browser: first}
	for _, part := range []struct {
		name string
		test func(*testing.T, *consoleTest)
	}{
		{"a newcomer sees a first run succeed", newcomerSeesARun}, {"the same without scripts", newcomerWithoutScripts},
		{"the next runs follow what is typed", nextRunsFollow}, {"an unsaved page asks before it is left", unsavedPageAsks},
		{"many jobs are disabled, and enabled again", manyAreDisabled}, {"a list shows what is new without moving", listShowsWhatIsNew},
		{"keys do what links do", keysDoWhatLinksDo}, {"a view is kept", viewIsKept}, {"what others wrote stays text", whatOthersWrote},
		{"the JSON has an editor", jsonHasAnEditor}, {"the name stays", nameStays}, {"an action is tried", actionIsTried},
		{"a change of others is shown", changeOfOthersIsShown}, {"hundreds are disabled, and enabled again", hundredsAreDisabled},
		{"a job is paused with a promise", jobIsPaused}, {"a collection is paused, and selected jobs", collectionIsPaused},
		{"last week runs again", lastWeekRunsAgain}, {"a pruned job is restored", prunedJobIsRestored},
		{"pages work without scripts", pagesWorkWithoutScripts}, {"keys reach all", keysReachAll}, {"colours are forced", coloursAreForced},
		{"pages fit, and are accessible", pagesFit}, {"paths have the prefix", pathsHaveThePrefix},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(t, s) })
	}
}

// A consoleTest is what the parts of the test have in common.
type consoleTest struct {
	base, target string
	at           string // the beginning of the paths of pages of another resource group than the default one
	client       *calls.Client
	browser      context.Context
}

// watch notes in each page what its policy stopped and which errors no script caught.
const watch = `window.stopped = [];
addEventListener('securitypolicyviolation', e => stopped.push(e.violatedDirective + ' ' + e.blockedURI + ' ' + e.sample));
addEventListener('error', e => stopped.push(String(e.message)));
addEventListener('unhandledrejection', e => stopped.push(String(e.reason)));`

// tab opens a tab. It closes with the test.
func (s *consoleTest) tab(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := chromedp.NewContext(s.browser)
	t.Cleanup(cancel)
	_, err := chromedp.Run(ctx, chromedp.Location()) // which opens the tab, for longer than an action has
	require.NoError(t, err)
	do(ctx, t, chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watch})
		return err
	}))
	return ctx
}

// open opens a page of the console.
func (s *consoleTest) open(ctx context.Context, t *testing.T, path string) {
	t.Helper()
	do(ctx, t, chromedp.Navigate(s.base+"/console"+s.at+path))
}

// says waits until a page has a text.
func says(ctx context.Context, t *testing.T, text string) {
	t.Helper()
	quoted, _ := json.Marshal(text)
	holds(ctx, t, fmt.Sprintf(`document.body.innerText.includes(%s)`, quoted))
}

// holds waits until an expression is true. It may be so on the next page.
func holds(ctx context.Context, t *testing.T, expression string) {
	t.Helper()
	evaluate := func(what string) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		return chromedp.Run(ctx, chromedp.Evaluate[string](what))
	}
	text := ""
	defer func() {
		if t.Failed() {
			t.Log(text)
		}
	}()
	await(t, expression, func() bool {
		text, _ = evaluate(`location.href + '\n' + document.body.innerText`)
		found, err := evaluate(`String(Boolean(` + expression + `))`)
		return err == nil && found == "true" // otherwise the page was left meanwhile
	})
}

// quiet requires that a page did nothing that its policy stops.
func quiet(ctx context.Context, t *testing.T) {
	t.Helper()
	require.Empty(t, on(ctx, t, chromedp.Evaluate[[]string](`window.stopped`)))
}

func click(ctx context.Context, t *testing.T, selector string) {
	t.Helper()
	press(ctx, t, chromedp.Click(chromedp.CSS(selector)))
}

// press clicks, again if the page was shown anew after the element was found.
func press(ctx context.Context, t *testing.T, click chromedp.Action[chromedp.Void]) {
	t.Helper()
	await(t, "element to click", func() bool {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		_, err := chromedp.Run(ctx, click)
		if err != nil && strings.Contains(err.Error(), "Could not find node") {
			return false
		}
		require.NoError(t, err)
		return true
	})
}

// jobs stores jobs that run once a day.
func (s *consoleTest) jobs(t *testing.T, collection string, names ...string) {
	t.Helper()
	_, err := s.client.PutCollection(t.Context(), collection, calls.Collection{Properties: calls.CollectionProperties{SKU: calls.SKU{Name: "P20Premium"}}})
	require.NoError(t, err)
	for _, name := range names {
		_, err := s.client.PutJob(t.Context(), collection, name, s.daily())
		require.NoError(t, err)
	}
}

func (s *consoleTest) daily() calls.JobProperties {
	return calls.JobProperties{StartTime: "2026-01-01", Action: calls.Action{Type: "Http", Request: &calls.Request{URI: s.target, Method: "POST"}},
		Recurrence: &calls.Recurrence{Frequency: "day", Schedule: &calls.Schedule{Hours: []int{2}, Minutes: []int{30}}}}
}

func newcomerSeesARun(t *testing.T, s *consoleTest) {
	ctx := s.tab(t)
	s.open(ctx, t, "/")
	says(ctx, t, "Your first job")
	fill(ctx, t, "input[name=name]", "hello")
	fill(ctx, t, "input[name=uri]", s.target)
	click(ctx, t, "main form button.btn-1")
	says(ctx, t, "A run of hello")
	says(ctx, t, "Succeeded")
	quiet(ctx, t)
}

func newcomerWithoutScripts(t *testing.T, s *consoleTest) {
	ctx := s.tab(t)
	s.scripts(ctx, t, false)
	s.open(ctx, t, "/new?collection=default")
	fill(ctx, t, "#f-name", "plain")
	fill(ctx, t, "#f-uri", s.target)
	click(ctx, t, ".savebar button.btn-1")
	says(ctx, t, "Created.")
	press(ctx, t, chromedp.Click(chromedp.Search(`//button[text()='Run now']`)))
	says(ctx, t, "Succeeded")
	require.Empty(t, texts(ctx, t, "[data-js]:not([hidden])"), "what needs scripts is not shown")
}

func nextRunsFollow(t *testing.T, s *consoleTest) {
	s.jobs(t, "typing", "nightly")
	ctx := s.tab(t)
	s.open(ctx, t, "/jobs/typing/nightly/edit")
	says(ctx, t, "No run changes.")
	fill(ctx, t, "#f-hours", "4")
	says(ctx, t, "2 h later")
	holds(ctx, t, `document.querySelector('#f-json').value.includes('"hours": [4]') || document.querySelector('#f-json').value.includes('4')`)
	fill(ctx, t, "#f-hours", "44")
	holds(ctx, t, `document.querySelector('#f-hours').getAttribute('aria-invalid') === 'true' && document.querySelector('#e-hours') !== null`)
	fill(ctx, t, "#f-hours", "5")
	holds(ctx, t, `!document.querySelector('#e-hours') && !document.querySelector('#f-hours').hasAttribute('aria-invalid')`)
	do(ctx, t, chromedp.Evaluate[chromedp.Void](`{const e = document.querySelector('#f-json'); e.value = e.value.replace(/"minutes": \[\s*30\s*\]/, '"minutes": [45]'); e.dispatchEvent(new InputEvent('input', {bubbles: true}))}`))
	holds(ctx, t, `document.querySelector('#f-minutes').value === '45'`)
	says(ctx, t, "05:45")
	do(ctx, t, chromedp.Evaluate[chromedp.Void](`{const e = document.querySelector('#f-json'); window.was = e.value; e.value = '{'; e.dispatchEvent(new InputEvent('input', {bubbles: true}))}`))
	holds(ctx, t, `document.querySelector('#e-json') !== null && document.querySelector('#f-minutes').value === '45'`)
	do(ctx, t, chromedp.Evaluate[chromedp.Void](`{const e = document.querySelector('#f-json'); e.value = window.was; e.dispatchEvent(new InputEvent('input', {bubbles: true}))}`))
	holds(ctx, t, `document.querySelector('#e-json') === null`)
	click(ctx, t, ".savebar button.btn-1")
	says(ctx, t, "Nothing runs by the old definition any more.")
	stored, err := s.client.Job(t.Context(), "typing", "nightly")
	require.NoError(t, err)
	require.Equal(t, []int{5}, stored.Properties.Recurrence.Schedule.Hours)
	require.Equal(t, []int{45}, stored.Properties.Recurrence.Schedule.Minutes)
	quiet(ctx, t)
}

func unsavedPageAsks(t *testing.T, s *consoleTest) {
	s.jobs(t, "unsaved", "nightly")
	ctx := s.tab(t)
	var mu sync.Mutex
	var asked []string
	require.NoError(t, chromedp.Listen(ctx, func(ev any) {
		if d, ok := ev.(*page.EventJavascriptDialogOpening); ok {
			mu.Lock()
			asked = append(asked, string(d.Type))
			mu.Unlock()
			go func() {
				_, _ = chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
			}()
		}
	}))
	s.open(ctx, t, "/jobs/unsaved/nightly/edit")
	click(ctx, t, ".crumbs a")
	holds(ctx, t, `location.pathname === '/console/jobs'`)
	require.Empty(t, asked, "nothing was changed")
	s.open(ctx, t, "/jobs/unsaved/nightly/edit")
	do(ctx, t, chromedp.Click(chromedp.CSS("#f-hours")), chromedp.SendKeys(chromedp.CSS("#f-hours"), "1"))
	click(ctx, t, ".crumbs a")
	await(t, "question", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(asked) == 1 && asked[0] == "beforeunload"
	})
}

func manyAreDisabled(t *testing.T, s *consoleTest) {
	s.jobs(t, "many", "a", "b", "c", "d")
	ctx := s.tab(t)
	s.open(ctx, t, "/jobs/many")
	holds(ctx, t, `document.querySelectorAll('tr[data-k]').length === 4 && !document.querySelector('[data-select]').hidden`)
	click(ctx, t, `input[name=job][value=a]`)
	do(ctx, t, chromedp.Evaluate[chromedp.Void](`document.querySelector('input[name=job][value=c]').dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true, shiftKey: true}))`))
	says(ctx, t, "3 selected")
	click(ctx, t, `.bulk button[value=disable]`)
	says(ctx, t, "Pause: 3 jobs of many?")
	click(ctx, t, "main form button.btn-1")
	says(ctx, t, "3 done")
	state := func(name string) calls.JobState {
		j, err := s.client.Job(t.Context(), "many", name)
		require.NoError(t, err)
		return j.Properties.State
	}
	require.Equal(t, calls.JobDisabled, state("b"))
	require.Equal(t, calls.JobEnabled, state("d"))
	press(ctx, t, chromedp.Click(chromedp.Search(`//button[text()='Undo…']`)))
	says(ctx, t, "Enable: 3 jobs of many?")
	click(ctx, t, "main form button.btn-1")
	says(ctx, t, "3 done")
	require.Equal(t, calls.JobEnabled, state("b"))
	quiet(ctx, t)
}

func listShowsWhatIsNew(t *testing.T, s *consoleTest) {
	s.jobs(t, "moving", "b", "d")
	ctx := s.tab(t)
	s.open(ctx, t, "/jobs/moving")
	holds(ctx, t, `document.querySelectorAll('tr[data-k]').length === 2`)
	click(ctx, t, `input[name=job][value=d]`)
	where := `JSON.stringify([...document.querySelectorAll('tr[data-k]')].map(row => [row.dataset.k, row.getBoundingClientRect().top]))`
	before := on(ctx, t, chromedp.Evaluate[string](where))
	s.jobs(t, "moving", "a")
	_, err := s.client.DisableJob(t.Context(), "moving", "b")
	require.NoError(t, err)
	holds(ctx, t, `document.querySelector('tr[data-k$="/b"]').innerText.includes('disabled')`)
	says(ctx, t, "1 new")
	require.Equal(t, before, on(ctx, t, chromedp.Evaluate[string](where)), "nothing moves")
	require.True(t, on(ctx, t, chromedp.Evaluate[bool](`document.querySelector('input[name=job][value=d]').checked`)), "what is selected stays so")
	click(ctx, t, "[data-switch]")
	says(ctx, t, "Paused")
	click(ctx, t, "[data-switch]")
	says(ctx, t, "Live")
	click(ctx, t, "[data-news]")
	holds(ctx, t, `document.querySelectorAll('tr[data-k]').length === 3`)
	quiet(ctx, t)
}

func keysDoWhatLinksDo(t *testing.T, s *consoleTest) {
	s.jobs(t, "keys", "a", "b")
	ctx := s.tab(t)
	s.open(ctx, t, "/jobs/keys")
	holds(ctx, t, `!document.querySelector('[data-select]').hidden`)
	do(ctx, t, chromedp.KeyEvent("j"))
	holds(ctx, t, `document.activeElement.textContent === 'a'`)
	do(ctx, t, chromedp.KeyEvent("j"))
	holds(ctx, t, `document.activeElement.textContent === 'b'`)
	do(ctx, t, chromedp.KeyEvent("x"))
	says(ctx, t, "1 selected")
	do(ctx, t, chromedp.KeyEvent("/"))
	holds(ctx, t, `document.activeElement.type === 'search'`)
	do(ctx, t, chromedp.KeyEvent("jx"))
	require.True(t, on(ctx, t, chromedp.Evaluate[bool](`document.activeElement.value.endsWith('jx')`)), "in a field they are text")
	s.open(ctx, t, "/jobs/keys")
	holds(ctx, t, `!document.querySelector('[data-select]').hidden`)
	do(ctx, t, chromedp.KeyEvent("ga"))
	says(ctx, t, "in the last 24 hours")
	holds(ctx, t, `!document.querySelector('[data-views]').hidden`)
	do(ctx, t, chromedp.KeyEvent("?"))
	says(ctx, t, "the next row, the one before")
}

func viewIsKept(t *testing.T, s *consoleTest) {
	ctx := s.tab(t)
	s.open(ctx, t, "/jobs?state=disabled&sort=-late")
	holds(ctx, t, `!document.querySelector('[data-views]').hidden`)
	click(ctx, t, "[data-views] summary")
	fill(ctx, t, "#vn", `<b>mine</b>`)
	click(ctx, t, "[data-keep]")
	s.open(ctx, t, "/activity")
	holds(ctx, t, `!document.querySelector('[data-views]').hidden`)
	click(ctx, t, "[data-views] summary")
	require.Equal(t, []string{"<b>mine</b>"}, texts(ctx, t, "[data-views] .view a"))
	click(ctx, t, "[data-views] .view a")
	holds(ctx, t, `location.search === '?state=disabled&sort=-late'`)
	quiet(ctx, t)
}

func whatOthersWrote(t *testing.T, s *consoleTest) {
	const hostile = `"><img src=x onerror="window.owned=1"><script>window.owned=1</script>{{7*7}}`
	s.jobs(t, "hostile", "quiet")
	of := s.daily()
	of.Action.Request.Body = hostile
	of.Action.Request.Headers = map[string]string{"X-A": hostile}
	of.Action.Request.URI = s.target + "/fails?" + url.QueryEscape(hostile)
	of.Action.RetryPolicy = &calls.RetryPolicy{RetryType: "none"}
	_, err := s.client.PutJob(t.Context(), "hostile", "it's (a) job", of)
	require.NoError(t, err)
	_, err = s.client.RunJob(t.Context(), "hostile", "it's (a) job")
	require.NoError(t, err)
	ctx := s.tab(t)
	job := "/jobs/hostile/" + url.PathEscape("it's (a) job")
	for _, path := range []string{"/", "/jobs/hostile", job, job + "/edit", job + "/delete", "/activity", "/incident", "/jobs?q=" + url.QueryEscape(hostile),
		"/activity?name=" + url.QueryEscape(hostile), "/incident?scope=" + url.QueryEscape(hostile), "/new?collection=" + url.QueryEscape(hostile)} {
		s.open(ctx, t, path)
		require.False(t, on(ctx, t, chromedp.Evaluate[bool](`'owned' in window`)), path)
		quiet(ctx, t)
	}
	s.open(ctx, t, job+"/edit")
	fill(ctx, t, "#f-monthDays", hostile)
	holds(ctx, t, `document.querySelector('#e-monthDays') !== null`)
	require.False(t, on(ctx, t, chromedp.Evaluate[bool](`'owned' in window`)))
	quiet(ctx, t)
	do(ctx, t, chromedp.Evaluate[chromedp.Void](`window.onbeforeunload = null; document.querySelector('form#f').dispatchEvent(new Event('submit', {bubbles: true}))`))
}

// axeScript is axe-core, which npm brings.
func axeScript(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("CI needs Node 20 or later, with npm: pages are checked for accessibility with axe-core")
		}
		t.Skip("npm is not installed: pages are not checked for accessibility")
	}
	install := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund")
	install.Dir = "axe"
	out, err := install.CombinedOutput()
	require.NoError(t, err, "%s", out)
	text, err := os.ReadFile(filepath.Join("axe", "node_modules", "axe-core", "axe.min.js"))
	require.NoError(t, err)
	return string(text)
}

// shown returns the pages that are looked at.
func (s *consoleTest) shown() []string {
	const job = "/jobs/many/a"
	return []string{"/", "/jobs", "/jobs/many", "/jobs/none", job, job + "/edit", "/new?collection=many", job + "/delete", job + "/explain", job + "/pause", job + "/resume", job + "/backfill", job + "/skips", "/settings", "/settings/many", "/pause/many", "/resume/many", "/jobs/default/hello", "/activity",
		"/activity?by=time", "/incident", "/incident?from=x", "/calendars", "/calendars?name=days-off", "/groups", "/about", "/nowhere"}
}

// prefer sets what a person prefers, such as dark colours.
func prefer(ctx context.Context, t *testing.T, what, value string) {
	t.Helper()
	do(ctx, t, chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: what, Value: value}},
		})
		return err
	}))
}

func pagesFit(t *testing.T, s *consoleTest) {
	axe := axeScript(t)
	ctx := s.tab(t)
	for _, scheme := range []string{"light", "dark"} {
		prefer(ctx, t, "prefers-color-scheme", scheme)
		for _, path := range s.shown() {
			do(ctx, t, chromedp.EmulateViewport(1440, 1000))
			s.open(ctx, t, path)
			do(ctx, t, chromedp.Evaluate[chromedp.Void](axe))
			found := on(ctx, t, chromedp.Evaluate[[]string](`axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']}).then(r => r.violations.map(v => v.id + ': ' + v.nodes.slice(0, 3).map(n => n.target + ' ' + n.failureSummary).join('; ')))`, chromedp.EvalAwaitPromise))
			require.Empty(t, found, "%s, %s", path, scheme)
			do(ctx, t, chromedp.EmulateViewport(320, 800))
			require.LessOrEqual(t, on(ctx, t, chromedp.Evaluate[int](`document.documentElement.scrollWidth`)), 320, "%s is too wide for a phone: %v", path,
				on(ctx, t, chromedp.Evaluate[[]string](`[...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > 321).slice(0, 5).map(e => e.outerHTML.slice(0, 120))`)))
			quiet(ctx, t)
		}
	}
}

// pathsHaveThePrefix opens the console behind a proxy that takes a path away, and follows its links.
func pathsHaveThePrefix(t *testing.T, _ *consoleTest) {
	target := newReceiver(t)
	var proxy *httputil.ReverseProxy
	server := httptest.NewServer(http.StripPrefix("/team/jobs", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { proxy.ServeHTTP(w, r) })))
	t.Cleanup(server.Close)
	public := server.URL + "/team/jobs"
	behind, err := url.Parse(startNode(t, "--ui-listen", "", "--public-url", public).addresses["API"])
	require.NoError(t, err)
	proxy = httputil.NewSingleHostReverseProxy(behind)
	c, err := calls.New(public, calls.Options{})
	require.NoError(t, err)
	s := &consoleTest{base: public, target: target.URL, client: c, browser: browse(t)}
	s.jobs(t, "many", "a")
	ctx := s.tab(t)
	for _, path := range s.shown() {
		s.open(ctx, t, path)
		require.Empty(t, on(ctx, t, chromedp.Evaluate[[]string](`[...document.querySelectorAll('a[href], form[action], [formaction], link[href], script[src]')]
			.map(e => e.getAttribute('href') ?? e.getAttribute('action') ?? e.getAttribute('formaction') ?? e.getAttribute('src'))
			.filter(path => !path.startsWith('/team/jobs/') && !path.startsWith('#') && !path.startsWith('?'))`)), path)
		quiet(ctx, t)
	}
	s.open(ctx, t, "/jobs/many")
	s.jobs(t, "many", "b")
	says(ctx, t, "1 new")
	do(ctx, t, chromedp.KeyEvent("gh"))
	says(ctx, t, "The next hour")
	require.True(t, strings.HasPrefix(on(ctx, t, chromedp.Location()), public))
}
