package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/access"
	"almanac/client"
	"almanac/console"
	"almanac/internal/apitest"
)

func TestTheSettingsOfACollectionAreChangedByAForm(t *testing.T) {
	t.Parallel()
	c, h := stored(t, new(apitest.Memory))
	b := browse(t, h, console.Options{})
	const list, page = "/console/jobs/reports", "/console/settings/reports"
	b.get(list).has(`href="/console/settings/reports"`)
	opened := b.get(page)
	opened.has("Settings of reports", `<option value="P20Premium" selected>`, `<option value="Enabled" selected>`, `href="/console/pause/reports"`)
	save := func(changes url.Values) *shown { return b.post(page, page, filledIn(t, b.get(page), changes)) }
	first := save(url.Values{"plan": {"Standard"}, "maxJobCount": {"7"}, "mostInterval": {"2"}, "mostFrequency": {"hour"}, "flexibleWindow": {"PT5M"}})
	require.Equal(t, list+"?done=settings", first.location, first.text)
	of, err := c.Collection(t.Context(), "reports")
	require.NoError(t, err)
	require.Equal(t, client.CollectionProperties{SKU: client.SKU{Name: "Standard"}, State: "Enabled", FlexibleWindow: "PT5M",
		Quota: &client.Quota{MaxJobCount: 7, MaxRecurrence: &client.MaxRecurrence{Frequency: "hour", Interval: 2}}}, of.Properties)
	save(url.Values{"maxJobCount": {""}, "mostFrequency": {""}, "flexibleWindow": {""}})
	of, err = c.Collection(t.Context(), "reports")
	require.NoError(t, err)
	require.Empty(t, of.Properties.FlexibleWindow)
	require.True(t, of.Properties.Quota == nil || of.Properties.Quota.MaxRecurrence == nil)
	require.Equal(t, "Standard", of.Properties.SKU.Name, "what was not written stays")

	wrong := save(url.Values{"maxJobCount": {"<b>"}, "flexibleWindow": {"soon"}})
	require.Equal(t, http.StatusBadRequest, wrong.status)
	requireHarmless(t, wrong)
	contains(t, wrong, `href="#f-maxJobCount"`, `id="e-flexibleWindow"`, "&lt;b&gt;")

	form := filledIn(t, b.get(page), url.Values{"maxJobCount": {"9"}})
	_, err = c.PatchCollection(t.Context(), "reports", map[string]any{"properties": map[string]any{"flexibleWindow": "PT9M"}})
	require.NoError(t, err)
	refused := b.post(page, page, form)
	contains(t, refused, "Somebody changed the collection", `value="PT9M"`, `name="maxJobCount" value="9"`)
	require.Equal(t, list+"?done=settings", b.post(page, page, filledIn(t, refused, nil)).location)
	of, err = c.Collection(t.Context(), "reports")
	require.NoError(t, err)
	require.Equal(t, []any{9, "PT9M"}, []any{of.Properties.Quota.MaxJobCount, of.Properties.FlexibleWindow}, "neither change is lost")
}

func TestACollectionIsCreatedByAForm(t *testing.T) {
	t.Parallel()
	c, h := stored(t, new(apitest.Memory))
	b := browse(t, h, console.Options{})
	b.get("/console/jobs").has(`href="/console/settings"`)
	const page = "/console/settings"
	require.Equal(t, "/console/jobs/billing?done=collection", b.post(page, page, filledIn(t, b.get(page), url.Values{"name": {"billing"}, "maxJobCount": {"3"}})).location)
	of, err := c.Collection(t.Context(), "billing")
	require.NoError(t, err)
	require.Equal(t, 3, of.Properties.Quota.MaxJobCount)
	contains(t, b.post(page, page, filledIn(t, b.get(page), url.Values{"name": {"billing"}})), "there is a job collection of this name already", `id="e-name"`)
	contains(t, b.post(page, page, filledIn(t, b.get(page), url.Values{"name": {"a/b"}})), `id="e-name"`)
	contains(t, b.post(page, page, filledIn(t, b.get(page), nil)), "name: required")

	reader := browse(t, h, console.Options{Who: as(access.Operator, everywhere)})
	reader.get("/console/jobs").lacks("/settings")
	reader.get("/console/jobs/reports").lacks("/settings")
	for _, path := range []string{page, page + "/reports"} {
		require.Equal(t, http.StatusForbidden, reader.get(path).status)
	}
}

func TestAWindowIsSkippedAfterThePageHasSaidWhat(t *testing.T) {
	t.Parallel()
	_, h := withJob(t, new(apitest.Memory))
	var asked string
	b := browse(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/skip") {
			asked = r.URL.RawQuery
		}
		answering(h, map[string]string{"/skip": `{"name":"reports/nightly"}`, "/previewChange": runsOfDays(50)}).ServeHTTP(w, r)
	}), console.Options{})
	b.get(nightly).has(`/skips"`)
	const page = nightly + "/skips"
	b.get(page).has("Skip runs of nightly", "Europe/Stockholm")
	within := url.Values{"from": {"2026-11-27T00:00"}, "until": {"2026-11-30T00:00"}, "do": {"check"}}
	b.post(page, page, within).has("3 runs would be skipped", ">Skip 3 runs</button>")
	require.Empty(t, asked)
	b.post(page, page, url.Values{"from": {"2026-11-27T00:00"}, "until": {"2027-03-01T00:00"}, "do": {"check"}}).has("49 runs and more would be skipped")
	b.post(page, page, url.Values{"from": {"2027-03-01T00:00"}, "until": {"2027-03-02T00:00"}, "do": {"check"}}).has("How many that are is not known")
	for want, form := range map[string]url.Values{
		"write a time after the first one": {"from": {"2026-11-27T00:00"}, "until": {"2026-11-26T23:00"}},
		"is not a time":                    {"from": {"soon"}, "until": {"2026-11-30T00:00"}},
		"is over":                          {"from": {"2026-11-01T00:00"}, "until": {"2026-11-02T00:00"}},
		"Until: write a time":              {"from": {"2026-11-27T00:00"}},
	} {
		b.post(page, page, form).has(want)
	}
	require.Empty(t, asked)
	within.Del("do")
	require.Contains(t, b.post(page, page, within).location, nightly+"?done=skippedall")
	require.Equal(t, "from=2026-11-26T23%3A00%3A00Z&until=2026-11-29T23%3A00%3A00Z", asked)
	reader := browse(t, h, console.Options{Who: as(access.Reader, everywhere)})
	reader.get(nightly).lacks("/skips")
	require.Equal(t, http.StatusForbidden, reader.get(page).status)
}

// contains requires that a page, which may be one of an error, has texts.
func contains(t *testing.T, s *shown, texts ...string) {
	t.Helper()
	for _, text := range texts {
		require.Contains(t, s.text, text)
	}
}

// runsOfDays is an answer with so many runs, on days in a row at 01:30 UTC.
func runsOfDays(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`{"change":"same","was":%[1]q,"willBe":%[1]q}`, now.Truncate(24*3600e9).AddDate(0, 0, i).Format(time.DateOnly)+"T01:30:00Z"))
	}
	return `{"runs":[` + strings.Join(all, ",") + `],"same":1,"moves":0,"new":0,"goes":0,"done":false}`
}

// filledIn returns the values of the only form of a page that has fields, and those that a user writes.
func filledIn(t *testing.T, s *shown, changes url.Values) url.Values {
	t.Helper()
	text := *s
	text.text = strings.Replace(s.text, `<form class="form" `, `<form class="form" id="f" `, 1)
	return filled(t, &text, "f", changes)
}
