package conformance_test

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	calls "almanac/client"
)

// inEditor runs a script with the content of the JSON's editor as editor.
func inEditor(script string) string {
	return `(() => { const editor = document.querySelector('.editor')?.shadowRoot.querySelector('.cm-content'); ` + script + ` })()`
}

// jsonHasAnEditor writes JSON with keys, and finds errors at their lines.
func jsonHasAnEditor(t *testing.T, s *consoleTest) {
	s.jobs(t, "editing", "nightly")
	ctx := s.tab(t)
	s.open(ctx, t, "/jobs/editing/nightly/edit")
	holds(ctx, t, inEditor(`return editor && document.querySelector('#f-json').hidden`))
	require.Equal(t, "Definition as JSON", on(ctx, t, chromedp.Evaluate[string](inEditor(`return editor.getAttribute('aria-label')`))))
	do(ctx, t, chromedp.Evaluate[chromedp.Void](inEditor(`editor.focus();
		const text = document.createTreeWalker(editor, NodeFilter.SHOW_TEXT);
		while (text.nextNode() && !text.currentNode.data.includes('30'));
		const to = text.currentNode.data.indexOf('30') + 2;
		(editor.getRootNode().getSelection?.() ?? getSelection()).collapse(text.currentNode, to)`)))
	do(ctx, t, chromedp.KeyEvent("7"))
	holds(ctx, t, `document.querySelector('#f-json').value.includes('307')`)
	require.Empty(t, on(ctx, t, chromedp.Evaluate[string](`location.hash`)), "keys of the page do nothing in the editor")
	holds(ctx, t, inEditor(`return editor.querySelector('.wrong-text')?.textContent.includes('minutes') && editor.querySelector('.cm-line.changed.wrong')`))
	do(ctx, t, chromedp.KeyEvent("\b"))
	holds(ctx, t, inEditor(`return !editor.querySelector('.wrong-text') && !editor.querySelector('.changed')`))
	fill(ctx, t, "#f-hours", "4")
	holds(ctx, t, inEditor(`return [...editor.querySelectorAll('.changed')].some(l => l.textContent.includes('4'))`))
	do(ctx, t, chromedp.Evaluate[chromedp.Void](inEditor(`editor.focus()`)), chromedp.KeyEvent("\t"))
	holds(ctx, t, `document.activeElement !== document.querySelector('.editor')`)
	quiet(ctx, t)
	do(ctx, t, chromedp.Evaluate[chromedp.Void](`document.querySelector('#f').dispatchEvent(new Event('submit', {bubbles: true}))`)) // leaves without a question
}

// nameStays writes the name of a new job in the form and then its JSON, which is saved.
func nameStays(t *testing.T, s *consoleTest) {
	s.jobs(t, "naming")
	ctx := s.tab(t)
	s.open(ctx, t, "/new?collection=naming")
	fill(ctx, t, "#f-name", "from-json")
	holds(ctx, t, `document.querySelector('#j-name').value === 'from-json'`)
	do(ctx, t, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`{const e = document.querySelector('#f-json'); e.focus(); e.value = e.value.replace('https://', %q); e.dispatchEvent(new InputEvent('input', {bubbles: true}))}`, s.target)))
	holds(ctx, t, fmt.Sprintf(`document.querySelector('#f-uri').value === %q`, s.target))
	require.Equal(t, "from-json", on(ctx, t, chromedp.Evaluate[string](`document.querySelector('#f-name').value`)))
	do(ctx, t, chromedp.Evaluate[chromedp.Void](`{const e = document.querySelector('#f-json'); e.value = e.value.replace('"enabled"', '"disabled"'); e.dispatchEvent(new InputEvent('input', {bubbles: true}))}`))
	click(ctx, t, "[data-save]")
	says(ctx, t, "Created.")
	stored, err := s.client.Job(t.Context(), "naming", "from-json")
	require.NoError(t, err)
	require.Equal(t, calls.JobDisabled, stored.Properties.State, "what was written last is saved, even if the form does not have it yet")
	quiet(ctx, t)
}

// actionIsTried sends what was not saved.
func actionIsTried(t *testing.T, s *consoleTest) {
	s.jobs(t, "trying", "nightly")
	for _, scripts := range []bool{true, false} {
		ctx := s.tab(t)
		s.scripts(ctx, t, scripts)
		s.open(ctx, t, "/jobs/trying/nightly/edit")
		fill(ctx, t, "#f-uri", s.target+"/fails")
		click(ctx, t, `.savebar button[value=try]`)
		says(ctx, t, "Tried at")
		says(ctx, t, "Nothing was saved")
		require.Contains(t, strings.Join(texts(ctx, t, "#tried"), ""), "Failed")
	}
	stored, err := s.client.Job(t.Context(), "trying", "nightly")
	require.NoError(t, err)
	require.Equal(t, s.target, stored.Properties.Action.Request.URI)
}

// scripts says whether a tab runs scripts.
func (s *consoleTest) scripts(ctx context.Context, t *testing.T, run bool) {
	t.Helper()
	do(ctx, t, chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !run})
		return err
	}))
}

// changeOfOthersIsShown edits a job that somebody else changes meanwhile.
func changeOfOthersIsShown(t *testing.T, s *consoleTest) {
	s.jobs(t, "both", "nightly")
	ctx := s.tab(t)
	s.open(ctx, t, "/jobs/both/nightly/edit")
	fill(ctx, t, "#f-hours", "5")
	theirs := s.daily()
	theirs.Recurrence.Schedule.Minutes = []int{11}
	_, err := s.client.PutJob(t.Context(), "both", "nightly", theirs)
	require.NoError(t, err)
	click(ctx, t, "[data-save]")
	says(ctx, t, "The job was changed while you were editing. Nothing was saved.")
	says(ctx, t, "recurrence.schedule.minutes")
	require.Equal(t, "5", on(ctx, t, chromedp.Evaluate[string](`document.querySelector('#f-hours').value`)), "what was written stays")
	stored, err := s.client.Job(t.Context(), "both", "nightly")
	require.NoError(t, err)
	require.Equal(t, []int{11}, stored.Properties.Recurrence.Schedule.Minutes, "it is not overwritten")
	click(ctx, t, "[data-save]")
	says(ctx, t, "Nothing runs by the old definition any more.")
	stored, err = s.client.Job(t.Context(), "both", "nightly")
	require.NoError(t, err)
	require.Equal(t, []int{5}, stored.Properties.Recurrence.Schedule.Hours)
	quiet(ctx, t)
}

// hundredsAreDisabled disables more jobs than one request changes, and undoes it.
func hundredsAreDisabled(t *testing.T, s *consoleTest) {
	const n = 204
	s.jobs(t, "hundreds")
	var all sync.WaitGroup
	places := make(chan struct{}, 8)
	for i := range n {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			if _, err := s.client.PutJob(t.Context(), "hundreds", fmt.Sprintf("job-%03d", i), s.daily()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	enabled := func() int {
		found, err := s.client.Summaries(t.Context(), calls.InCollection("hundreds"), calls.Search{Filter: "state eq Enabled", Top: 1})
		require.NoError(t, err)
		return found.Matching
	}
	ctx := s.tab(t)
	await(t, "list of all", func() bool { return enabled() == n })
	s.open(ctx, t, "/jobs/hundreds")
	holds(ctx, t, `!document.querySelector('[data-select]').hidden`)
	click(ctx, t, "input[name=all]")
	click(ctx, t, ".bulk button[value=disable]")
	says(ctx, t, fmt.Sprintf("Pause: %d jobs of hundreds?", n))
	click(ctx, t, "main form button.btn-1")
	says(ctx, t, fmt.Sprintf("%d done", n))
	await(t, "job that is disabled", func() bool { return enabled() == 0 })
	press(ctx, t, chromedp.Click(chromedp.Search(`//button[text()='Undo…']`)))
	says(ctx, t, fmt.Sprintf("Enable: %d jobs of hundreds?", n))
	click(ctx, t, "main form button.btn-1")
	says(ctx, t, fmt.Sprintf("%d done", n))
	await(t, "list of all", func() bool { return enabled() == n })
	quiet(ctx, t)
}

// pagesWorkWithoutScripts opens each page, and disables selected jobs.
func pagesWorkWithoutScripts(t *testing.T, s *consoleTest) {
	s.jobs(t, "plainly", "a", "b")
	ctx := s.tab(t)
	s.scripts(ctx, t, false)
	for _, path := range s.shown() {
		s.open(ctx, t, path)
		require.NotEmpty(t, texts(ctx, t, "#main h1"), path)
		require.Empty(t, texts(ctx, t, "[data-js]:not([hidden])"), path)
	}
	s.open(ctx, t, "/jobs/plainly")
	click(ctx, t, `input[name=job][value=a]`)
	click(ctx, t, `.bulk button[value=disable]`)
	says(ctx, t, "Pause: 1 job of plainly?")
	click(ctx, t, "main form button.btn-1")
	says(ctx, t, "1 done")
	s.open(ctx, t, "/jobs/plainly/b/edit")
	do(ctx, t, chromedp.Evaluate[chromedp.Void](`document.querySelector('#f-json').value = document.querySelector('#f-json').value.replace('"day"', '"week"')`))
	press(ctx, t, chromedp.Click(chromedp.Search(`//button[text()='Save the JSON']`)))
	says(ctx, t, "Nothing runs by the old definition any more.")
}

// tabbable are the elements that the key Tab reaches.
const tabbable = `[...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"], .editor')].filter(e =>
	!e.disabled && e.type !== 'hidden' && e.checkVisibility({visibilityProperty: true, contentVisibilityAuto: true}) && e.getClientRects().length > 0 &&
	!(e.closest('details:not([open])') && e.tagName !== 'SUMMARY'))`

// keysReachAll goes through each page with the key Tab: each control gets the focus, shows it, and lets it go.
func keysReachAll(t *testing.T, s *consoleTest) {
	s.jobs(t, "many", "a", "b", "c", "d")
	ctx := s.tab(t)
	for _, path := range s.shown() {
		s.open(ctx, t, path)
		if strings.Contains(path, "edit") || strings.Contains(path, "/new") {
			holds(ctx, t, `document.querySelector('.editor')`)
		}
		n := on(ctx, t, chromedp.Evaluate[int](tabbable+`.map((e, i) => { e.dataset.tab = i; return i }).length`))
		do(ctx, t, chromedp.Evaluate[chromedp.Void](`window.reached = new Set(); window.unseen = [];
			addEventListener('focusin', e => { const own = getComputedStyle(e.target); reached.add(e.target.dataset.tab);
				const seen = s => s.outlineStyle !== 'none' && s.outlineWidth !== '0px' || s.boxShadow !== 'none';
				if (!e.target.matches('.editor') && !seen(own)) unseen.push(e.target.outerHTML.slice(0, 120)) })`))
		parts := 8 * on(ctx, t, chromedp.Evaluate[int](`document.querySelectorAll('input[type=datetime-local]').length`)) // of a date and a time
		for range n + parts + 3 {
			do(ctx, t, chromedp.KeyEvent("\t"))
		}
		missed := on(ctx, t, chromedp.Evaluate[[]string](tabbable+`.filter(e => !reached.has(e.dataset.tab) && !(e.type === 'radio')).map(e => e.outerHTML.slice(0, 160))`))
		require.Empty(t, missed, "%s: Tab does not reach these", path)
		require.Empty(t, on(ctx, t, chromedp.Evaluate[[]string](`unseen`)), "%s: the focus does not show on these", path)
	}
}

// coloursAreForced looks at each page with the colours of the system: states have shapes, and what is a button looks like one.
func coloursAreForced(t *testing.T, s *consoleTest) {
	ctx := s.tab(t)
	prefer(ctx, t, "forced-colors", "active")
	for _, path := range s.shown() {
		s.open(ctx, t, path)
		require.True(t, on(ctx, t, chromedp.Evaluate[bool](`matchMedia('(forced-colors: active)').matches`)))
		bare := on(ctx, t, chromedp.Evaluate[[]string](`[...document.querySelectorAll('main .btn, main input:not([type=hidden]), main select, main textarea')].filter(e => {
			if (!e.checkVisibility() || ['checkbox', 'radio'].includes(e.type)) return false;
			const s = getComputedStyle(e); return (s.borderTopStyle === 'none' || s.borderTopWidth === '0px') && !e.matches('.btn-q') && s.backgroundColor === getComputedStyle(document.body).backgroundColor
		}).map(e => e.outerHTML.slice(0, 120))`))
		require.Empty(t, bare, "%s: no edge shows what these are", path)
		unseen := on(ctx, t, chromedp.Evaluate[[]string](`[...document.querySelectorAll('main svg.m')].filter(e => e.checkVisibility() && getComputedStyle(e).color === getComputedStyle(document.body).backgroundColor).map(e => e.outerHTML)`))
		require.Empty(t, unseen, "%s: these marks have the colour of the page", path)
	}
}

// opens returns what the path of a form or a page does: its last part or, of a collection that is paused or has settings, its first.
func opens(path string) string {
	path, _, _ = strings.Cut(path, "?")
	path, _, _ = strings.Cut(path, "#")
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if parts[0] == "pause" || parts[0] == "resume" || parts[0] == "settings" {
		return parts[0]
	}
	return parts[len(parts)-1]
}

// TestTheConsoleShowsEachRoleWhatItMayDo opens the pages with each role. No form of a page is refused.
func TestTheConsoleShowsEachRoleWhatItMayDo(t *testing.T) {
	t.Parallel()
	binary, err := build()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	tokens := map[string]string{}
	for _, role := range []string{"reader", "operator", "contributor", "owner"} {
		out, err := exec.CommandContext(t.Context(), binary, "token", "create", "--name", role, "--role", role, "--token-file", file).Output()
		require.NoError(t, err)
		tokens[role] = strings.TrimSpace(string(out))
	}
	base := startNode(t, "--ui-listen", "", "--token-file", file).addresses["API"]
	target := newReceiver(t)
	c, err := calls.New(base, calls.Options{Token: tokens["owner"]})
	require.NoError(t, err)
	s := &consoleTest{base: base, target: target.URL, client: c, browser: browse(t)}
	s.jobs(t, "many", "a", "b")
	s.jobs(t, "default", "hello")
	off := s.daily()
	off.State = calls.JobDisabled
	_, err = c.PutJob(t.Context(), "many", "b", off)
	require.NoError(t, err)
	operates := []string{"run", "skip", "enable", "disable", "rerun", "bulk", "bulk/do", "pause", "resume", "backfill", "skips"}
	writes := append(slices.Clone(operates), "edit", "new", "delete", "calendars", "settings")
	pages := map[string]string{"edit": "edit", "delete": "edit", "new": "edit", "pause": "pause", "resume": "pause", "backfill": "pause", "skips": "skips", "settings": "settings"} // and what shows who may open them
	for role, may := range map[string][]string{"reader": nil, "operator": operates, "contributor": writes, "owner": writes} {
		ctx := s.tab(t)
		do(ctx, t, chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
			_, err := cdp.Call(ctx, tab, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Authorization": "Bearer " + tokens[role]}})
			return err
		}))
		seen := map[string]bool{}
		for _, path := range append(s.shown(), "/jobs/many/b", "/jobs/many/b/resume") {
			s.open(ctx, t, path)
			refused := on(ctx, t, chromedp.Evaluate[bool](`document.querySelector('h1').textContent === 'Not allowed'`))
			needs := pages[opens(path)]
			require.Equal(t, needs != "" && !slices.Contains(may, needs), refused, "%s as %s", path, role)
			forms := on(ctx, t, chromedp.Evaluate[[]string](`[...document.querySelectorAll('form[method=post]')].filter(f => !f.matches('.top-end *')).flatMap(f => [f.getAttribute('action'), ...[...f.querySelectorAll('[formaction]')].map(b => b.getAttribute('formaction'))])`))
			for _, form := range forms {
				form, _, _ := strings.Cut(form, "#")
				verb := opens(strings.TrimPrefix(form, "/console"))
				seen[verb] = true
				require.Contains(t, may, verb, "%s shows %s a form that would be refused: %s", path, role, form)
			}
			links := on(ctx, t, chromedp.Evaluate[[]string](`[...document.querySelectorAll('main a[href]')].map(a => a.getAttribute('href'))`))
			for _, link := range links {
				if needs := pages[opens(strings.TrimPrefix(link, "/console"))]; needs != "" {
					seen[opens(strings.TrimPrefix(link, "/console"))] = true
					require.Contains(t, may, needs, "%s shows %s a link to a page that would be refused: %s", path, role, link)
				}
			}
			quiet(ctx, t)
		}
		for _, verb := range []string{"run", "skip", "skips", "pause", "resume", "backfill", "settings"} {
			require.Equal(t, slices.Contains(may, verb), seen[verb], "%s as %s", verb, role)
		}
	}
	// what is not shown is refused as well
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/jobCollections/many/jobs/a/run?api-version=2016-03-01", nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+tokens["reader"])
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusForbidden, answer.StatusCode)
}
