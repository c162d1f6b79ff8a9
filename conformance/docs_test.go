package conformance_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// An operation is one of the API that is tried out on the documentation page.
type operation struct {
	operation string
	fill      map[string]string // parameters to fill in
	body      string            // instead of the example that the page shows
	status    []string          // good statuses of the answer
}

// tryOuts are one for each operation, in an order in which they succeed. The jobs
// are made in a collection that is disabled, so that none runs on its own.
func tryOuts(target string) []operation {
	here := map[string]string{"jobCollectionName": fmt.Sprintf("docs-%d", time.Now().UnixNano()), "jobName": "nightly", "calendarName": "docs"}
	gone := map[string]string{"jobCollectionName": here["jobCollectionName"], "operationId": "none"}
	never := map[string]string{"jobCollectionName": here["jobCollectionName"], "jobName": here["jobName"], "executionName": "1-1", "backfill": "week5"}
	ok, created, missing := []string{"200"}, []string{"201"}, []string{"404"}
	changed := []string{"200", "202"}
	none := []string{"409"}    // there are no notifications
	notNext := []string{"409"} // the collection is disabled
	return []operation{
		{"JobCollections_CreateOrUpdate", here, "", created},
		{"JobCollections_ListByResourceGroup", nil, "", ok},
		{"JobCollections_ListBySubscription", nil, "", ok},
		{"Subscriptions_List", nil, "", ok},
		{"ResourceGroups_List", nil, "", ok},
		{"JobCollections_Get", here, "", ok},
		{"JobCollections_Patch", here, "", ok},
		{"JobCollections_Enable", here, "", changed},
		{"JobCollections_Disable", here, "", changed},
		{"JobCollections_GetOperation", gone, "", missing},
		{"JobCollections_GetOperationResult", gone, "", missing},
		{"Jobs_CreateOrUpdate", here, "", created},
		{"Jobs_Create", here, "", created},
		{"Jobs_List", here, "", ok},
		{"Jobs_Get", here, "", ok},
		{"Jobs_Patch", here, `{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":"` + target + `"}}}}`, ok},
		{"Workers_ListBySubscription", nil, "", ok},
		{"Jobs_Try", here, `{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":"` + target + `"}}}}`, ok},
		{"Jobs_Run", here, "", ok},
		{"Jobs_Rerun", here, "", ok},
		{"Jobs_GetExecution", never, "", missing},
		{"Jobs_Skip", here, "", notNext},
		{"Jobs_Unskip", here, "", notNext},
		{"Jobs_PreviewPause", here, "", ok},
		{"JobCollections_PreviewPause", here, "", ok},
		{"JobCollections_BindOwner", here, `{"id":"5f0a9d1e-6f2b-4c1e-9d3a-2b7c8e4f1a60","collections":["` + here["jobCollectionName"] + `"]}`, ok},
		{"Jobs_Prune", here, `{"owner":"5f0a9d1e-6f2b-4c1e-9d3a-2b7c8e4f1a60"}`, []string{"409"}}, // the job has no owner
		{"Jobs_Restore", here, "", ok},
		{"Jobs_CompareSecrets", here, `{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":"` + target + `"}}}}`, ok},
		{"Jobs_PreviewBackfill", here, "", ok},
		{"Jobs_ListBackfills", here, "", ok},
		{"Jobs_Backfill", here, "", notNext},
		{"Jobs_ChangeBackfill", never, "", notNext},
		{"Jobs_Disable", here, "", ok},
		{"Jobs_Enable", here, "", ok},
		{"JobCollections_Rerun", here, "", ok},
		{"Jobs_TestNotification", here, "", none},
		{"JobCollections_TestNotification", here, "", none},
		{"JobCollections_ListNotifications", here, "", ok},
		{"Jobs_ListJobHistory", here, "", ok},
		{"Jobs_ListChanges", here, "", ok},
		{"JobCollections_ListChanges", here, "", ok},
		{"JobCollections_ListHistory", here, "", ok},
		{"JobCollections_ListUpcoming", here, "", ok},
		{"Jobs_ListHistoryByResourceGroup", nil, "", ok},
		{"Jobs_ListUpcomingByResourceGroup", nil, "", ok},
		{"Jobs_ListHistoryBySubscription", nil, "", ok},
		{"Jobs_ListUpcomingBySubscription", nil, "", ok},
		{"JobCollections_BulkPreview", here, "", ok},
		{"JobCollections_GetBulkResults", gone, "", missing},
		{"JobCollections_BulkEnable", here, "", ok},
		{"JobCollections_BulkDisable", here, "", ok},
		{"JobCollections_BulkRun", here, "", ok},
		{"JobCollections_BulkSkip", here, "", ok},
		{"JobCollections_BulkRerun", here, "", ok},
		{"JobCollections_BulkDelete", here, "", ok},
		{"JobCollections_Lateness", here, "", ok},
		{"JobCollections_ListSummaries", here, "", ok},
		{"JobCollections_ListDigests", here, "", ok},
		{"JobCollections_GetForecast", here, "", ok},
		{"JobCollections_PostForecast", here, "", ok},
		{"Jobs_PreviewChange", here, "", ok},
		{"Jobs_Explain", here, "", ok},
		{"Jobs_Lateness", here, "", ok},
		{"Jobs_ListSummariesByResourceGroup", nil, "", ok},
		{"Jobs_GetForecastByResourceGroup", nil, "", ok},
		{"Jobs_PostForecastByResourceGroup", nil, "", ok},
		{"Jobs_ListSummariesBySubscription", nil, "", ok},
		{"Jobs_GetForecastBySubscription", nil, "", ok},
		{"Jobs_PostForecastBySubscription", nil, "", ok},
		{"Calendars_CreateOrUpdate", here, "", created},
		{"JobCollections_PreviewRecurrence", here, `{"properties":{"recurrence":{"frequency":"day","calendars":[{"name":"docs"}]}}}`, ok},
		{"Calendars_List", here, "", ok},
		{"Calendars_Get", here, "", ok},
		{"Calendars_ListUsage", here, "", ok},
		{"Calendars_Delete", here, "", ok},
		{"SubscriptionCalendars_CreateOrUpdate", here, "", created},
		{"SubscriptionCalendars_List", nil, "", ok},
		{"SubscriptionCalendars_Get", here, "", ok},
		{"SubscriptionCalendars_ListUsage", here, "", ok},
		{"SubscriptionCalendars_Delete", here, "", ok},
		{"Jobs_Delete", here, "", ok},
		{"JobCollections_Delete", here, "", changed},
		{"Recurrence_Preview", nil, "", ok},
		{"Recurrence_Read", nil, "", ok},
		{"Service_Index", nil, "", ok},
		{"Service_Health", nil, "", ok},
		{"Service_Readiness", nil, "", ok},
		{"Service_Metrics", nil, "", ok},
		{"Service_OpenAPI", nil, "", ok},
		{"Service_JobSchema", nil, "", ok},
		{"Service_Docs", nil, "", ok},
		{"Service_DocsFile", nil, "", ok},
	}
}

// browse starts a browser.
func browse(t *testing.T, options ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	var browser string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
		}
	}
	if browser == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("CI needs Chromium, such as Debian's package chromium: pages have to be tried out there")
		}
		t.Skip("neither Chromium nor Chrome is installed: no page is tried out")
	}
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), append(slices.Concat(chromedp.DefaultExecAllocatorOptions[:], options),
		chromedp.ExecPath(browser), chromedp.NoSandbox, chromedp.WindowSize(1400, 1200), chromedp.WSURLReadTimeout(patience))...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	_, err := chromedp.Run(ctx, chromedp.Location()) // which starts the browser
	require.NoError(t, err)
	return ctx
}

// on runs an action on the page, within patience.
func on[T any](ctx context.Context, t *testing.T, action chromedp.Action[T]) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, action)
	require.NoError(t, err)
	return value
}

// do runs actions that return nothing.
func do(ctx context.Context, t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	on(ctx, t, chromedp.Steps(actions...))
}

// texts returns the texts of all elements that a selector finds.
func texts(ctx context.Context, t *testing.T, selector string) []string {
	t.Helper()
	return on(ctx, t, chromedp.Evaluate[[]string](`[...document.querySelectorAll('`+selector+`')].map(found => found.textContent)`))
}

func TestEveryOperationCanBeTriedOutOnTheDocumentationPage(t *testing.T) {
	t.Parallel()
	ctx := browse(t)
	do(ctx, t, chromedp.Navigate(almanac+"/docs"), chromedp.WaitVisible(chromedp.CSS(".opblock")))
	described := on(ctx, t, chromedp.Evaluate[[]string](`[...document.querySelectorAll('.opblock')].map(block => block.id)`))
	var tried []string
	for _, tr := range tryOuts(newReceiver(t).URL) {
		i := slices.IndexFunc(described, func(id string) bool { return strings.HasSuffix(id, "-"+tr.operation) })
		require.GreaterOrEqual(t, i, 0, "the page does not show %s", tr.operation)
		tried = append(tried, described[i])
		t.Run(tr.operation, func(t *testing.T) { tryOut(ctx, t, "#"+described[i], tr) })
	}
	require.ElementsMatch(t, described, tried)
}

// tryOut tries an operation out as a reader of the page does who has just opened
// it: what was opened before may have loaded what this one lacks.
func tryOut(ctx context.Context, t *testing.T, block string, tr operation) {
	css := func(selector string) chromedp.CSS { return chromedp.CSS(block + " " + selector) }
	do(ctx, t, chromedp.Navigate(almanac+"/docs"), chromedp.WaitVisible(css(".opblock-summary-control")))
	path := on(ctx, t, chromedp.AttributeValue(css(".opblock-summary-path"), "data-path")).Value
	do(ctx, t, chromedp.Click(css(".opblock-summary-control")), chromedp.Click(css(".try-out__btn")), chromedp.WaitVisible(css(".execute")))
	for _, shown := range texts(ctx, t, block+" .parameter__type") {
		require.NotContains(t, shown, "any", "the type of a parameter")
	}
	want := strings.NewReplacer("{subscriptionId}", "00000000-0000-0000-0000-000000000000", "{file}", "index.js").Replace(path)
	for name, value := range tr.fill {
		if strings.Contains(path, "{"+name+"}") {
			want = strings.ReplaceAll(want, "{"+name+"}", url.PathEscape(value))
			fill(ctx, t, block+` tr[data-param-name="`+name+`"] input`, value)
		}
	}
	if tr.body != "" {
		fill(ctx, t, block+" .body-param__text", tr.body)
	}
	do(ctx, t, chromedp.Click(css(".execute")))
	status := on(ctx, t, chromedp.Text(css(".live-responses-table tbody .response-col_status")))
	sent, _, _ := strings.Cut(on(ctx, t, chromedp.Text(css(".request-url pre"))), "?")
	require.Equal(t, almanac+want, sent)
	require.Contains(t, tr.status, strings.Fields(status)[0], "%v", texts(ctx, t, block+" .live-responses-table"))
}

// fill pastes a text into a field, in the place of what is in it. Typing it would have
// the page drawn anew for each letter.
func fill(ctx context.Context, t *testing.T, field, text string) {
	t.Helper()
	paste := chromedp.Func(func(ctx context.Context, page *chromedp.Target) error {
		_, err := cdp.Call(ctx, page, input.InsertText, input.InsertTextParams{Text: text})
		return err
	})
	do(ctx, t, chromedp.WaitVisible(chromedp.CSS(field)), chromedp.Focus(chromedp.CSS(field)),
		chromedp.Evaluate[chromedp.Void](`document.querySelector('`+field+`').select()`), paste)
}

// choose chooses from a list, as a click on the choice does.
func choose(ctx context.Context, t *testing.T, list, choice string) {
	t.Helper()
	do(ctx, t, chromedp.WaitVisible(chromedp.CSS(list)), chromedp.SetJavascriptAttribute(chromedp.CSS(list), "value", choice),
		chromedp.Evaluate[chromedp.Void](`document.querySelector('`+list+`').dispatchEvent(new Event('change', {bubbles: true}))`))
}

func TestThePathsOfAzureCanBeTriedOutOnTheDocumentationPage(t *testing.T) {
	t.Parallel()
	ctx := browse(t)
	const block = "#operations-Job_collections-JobCollections_ListByResourceGroup"
	do(ctx, t, chromedp.Navigate(almanac+"/docs"), chromedp.Click(chromedp.CSS(block+" .opblock-summary-control")))
	choose(ctx, t, ".servers select", "./subscriptions/{subscriptionId}/resourceGroups/{resourceGroupName}/providers/Microsoft.Scheduler")
	do(ctx, t, chromedp.Click(chromedp.CSS(block+" .try-out__btn")))
	choose(ctx, t, block+` tr[data-param-name="api-version"] select`, "2016-03-01")
	do(ctx, t, chromedp.Click(chromedp.CSS(block+" .execute")))
	require.Equal(t, "200", strings.Fields(on(ctx, t, chromedp.Text(chromedp.CSS(block+" .live-responses-table tbody .response-col_status"))))[0])
	require.Equal(t, almanac+"/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/default/providers/Microsoft.Scheduler/jobCollections?api-version=2016-03-01",
		on(ctx, t, chromedp.Text(chromedp.CSS(block+" .request-url pre"))))
}
