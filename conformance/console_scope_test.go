package conformance_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	calls "almanac/client"
)

// within returns the test for another resource group: its client, and its pages.
func (s *consoleTest) within(subscription, group string) *consoleTest {
	there := *s
	there.client = s.client.In(subscription, group)
	there.at = "/subscriptions/" + subscription + "/resourceGroups/" + group
	return &there
}

// TestTheConsoleShowsEachResourceGroup opens the console of a server whose jobs are in two subscriptions, as the clients
// of Azure Scheduler store them.
func TestTheConsoleShowsEachResourceGroup(t *testing.T) {
	t.Parallel()
	base := startNode(t, "--ui-listen", "").addresses["API"]
	c, err := calls.New(base, calls.Options{})
	require.NoError(t, err)
	s := &consoleTest{base: base, target: newReceiver(t).URL, client: c, browser: browse(t)}
	const azure, other = "11111111-2222-3333-4444-555555555555", "22222222-3333-4444-5555-666666666666"
	billing, ops := s.within(azure, "billing"), s.within(other, "ops")
	billing.jobs(t, "reports", "nightly")
	ctx := s.tab(t)
	path := func() string { return on(ctx, t, chromedp.Evaluate[string](`location.pathname`)) }
	await(t, "Home of the group with jobs", func() bool {
		s.open(ctx, t, "/") // the group is listed after some seconds
		return path() == "/console"+billing.at+"/"
	})
	says(ctx, t, "None of 1 job fails")
	ops.jobs(t, "reports", "nightly", "weekly")
	await(t, "the other group in the menu", func() bool {
		billing.open(ctx, t, "/jobs")
		return on(ctx, t, chromedp.Evaluate[bool](`document.querySelector('.scope').textContent.includes('ops')`))
	})
	click(ctx, t, ".scope summary")
	press(ctx, t, chromedp.Click(chromedp.Search(`//details[@open]//a[starts-with(text(),'ops')]`)))
	says(ctx, t, "None of 2 jobs fails")
	do(ctx, t, chromedp.KeyEvent("gj"))
	says(ctx, t, "weekly")
	ops.jobs(t, "reports", "new")
	says(ctx, t, "1 new")
	do(ctx, t, chromedp.KeyEvent("/"))
	fill(ctx, t, "#fq", "week")
	do(ctx, t, chromedp.Evaluate[chromedp.Void](`document.querySelector('#fq').form.requestSubmit()`))
	says(ctx, t, "1 of 3 jobs")
	press(ctx, t, chromedp.Click(chromedp.Search(`//a[text()='weekly' or contains(.,'weekly')][contains(@class,'name')]`)))
	says(ctx, t, "ALMANAC_RESOURCE_GROUP='ops'")
	press(ctx, t, chromedp.Click(chromedp.Search(`//a[text()='Edit']`)))
	holds(ctx, t, `document.querySelector('#f-description, [name=uri]') !== null`)
	fill(ctx, t, "[name=uri]", s.target+"/changed")
	says(ctx, t, "Next runs")
	click(ctx, t, "button[data-save]")
	says(ctx, t, "Nothing runs by the old definition any more.")
	require.Equal(t, "/console"+ops.at+"/jobs/reports/weekly", path())
	j, err := ops.client.Job(t.Context(), "reports", "weekly")
	require.NoError(t, err)
	require.Equal(t, s.target+"/changed", j.Properties.Action.Request.URI)
	press(ctx, t, chromedp.Click(chromedp.Search(`//button[text()='Run now']`)))
	await(t, "the page of what runs", func() bool {
		return strings.HasPrefix(path(), "/console"+ops.at+"/jobs/reports/weekly/executions/")
	})
	says(ctx, t, "Succeeded")
	quiet(ctx, t)

	do(ctx, t, chromedp.Navigate(base+billing.at+"/providers/Microsoft.Scheduler/jobCollections/reports/jobs/nightly/history?api-version=2016-03-01"))
	says(ctx, t, "Run now")
	require.Equal(t, "/console"+billing.at+"/jobs/reports/nightly", path(), "the link of an alert leads to the page of its job")
	await(t, "all groups", func() bool {
		s.open(ctx, t, "/")
		return path() == "/console/groups"
	})
	says(ctx, t, azure)
	billing.jobs(t, "many", "a", "b")
	axe := axeScript(t)
	for _, path := range billing.shown() {
		do(ctx, t, chromedp.EmulateViewport(1440, 1000))
		billing.open(ctx, t, path)
		do(ctx, t, chromedp.Evaluate[chromedp.Void](axe))
		require.Empty(t, on(ctx, t, chromedp.Evaluate[[]string](`axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']}).then(r => r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.target)))`, chromedp.EvalAwaitPromise)), path)
		do(ctx, t, chromedp.EmulateViewport(320, 800))
		do(ctx, t, chromedp.Evaluate[chromedp.Void](`document.querySelector('.scope summary').click()`))
		require.LessOrEqual(t, on(ctx, t, chromedp.Evaluate[int](`document.documentElement.scrollWidth`)), 320, "%s is too wide for a phone", path)
		outside := on(ctx, t, chromedp.Evaluate[[]string](`[...document.querySelectorAll('a[href], form[action], [formaction]')].filter(e => !e.closest('.scope') && !(location.pathname.endsWith('/groups') && e.closest('main')))
			.map(e => e.getAttribute('formaction') ?? e.getAttribute('href') ?? e.getAttribute('action'))
			.filter(path => path.startsWith('/console') && !path.startsWith('/console`+billing.at+`'))`))
		require.Empty(t, outside, "%s leads out of its group", path)
		quiet(ctx, t)
	}
}
