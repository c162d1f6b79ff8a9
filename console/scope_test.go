package console_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/access"
	"almanac/api"
	"almanac/api/guard"
	"almanac/client"
	"almanac/console"
	"almanac/internal/apitest"
)

const (
	azure      = "11111111-2222-3333-4444-555555555555"
	billing    = "/console/subscriptions/" + azure + "/resourceGroups/billing"
	inBilling  = billing + "/jobs/reports/nightly"
	ofBilling  = "/subscriptions/" + azure + "/resourceGroups/billing"
	apiBilling = ofBilling + "/providers/Microsoft.Scheduler"
)

// inGroups returns an API with the job nightly in the collection reports of each of some resource groups, which are named
// as subscription/name; "" is that of the short paths.
func inGroups(t *testing.T, m *apitest.Memory, groups ...string) (*client.Client, http.Handler) {
	t.Helper()
	h := api.New(m, api.Options{Now: func() time.Time { return now }})
	c, err := client.New("http://localhost", client.Options{Transport: client.ServedBy(h)})
	require.NoError(t, err)
	for _, g := range groups {
		of := c
		if subscription, name, ok := strings.Cut(g, "/"); ok {
			of = c.In(subscription, name)
		}
		_, err := of.PutCollection(t.Context(), "reports", client.Collection{Properties: client.CollectionProperties{SKU: client.SKU{Name: "P20Premium"}}})
		require.NoError(t, err)
		_, err = of.PutJob(t.Context(), "reports", "nightly", daily())
		require.NoError(t, err)
	}
	return c, h
}

// A page of another resource group leads to nothing outside of it but through the menu.
func TestEachPageOfAGroupStaysInIt(t *testing.T) {
	t.Parallel()
	_, h := inGroups(t, &apitest.Memory{Records: history()}, "", azure+"/billing")
	b := browse(t, h, console.Options{})
	link := regexp.MustCompile(`(?:href|action|data-at|data-live)="([^"]*)"`)
	menu := regexp.MustCompile(`(?s)<details class="menu scope".*?</details>`)
	for _, page := range []string{
		"/", "/jobs", "/jobs/reports", "/jobs/reports/nightly", "/jobs/reports/nightly/edit", "/jobs/reports/nightly/delete", "/jobs/reports/nightly/pause",
		"/jobs/reports/nightly/backfill", "/jobs/reports/nightly/explain?at=2026-11-26T01:30:00Z", "/pause/reports", "/new", "/new?collection=reports&from=nightly",
		"/activity", "/activity?by=time", "/about", "/groups",
	} {
		shown := b.get(billing + page)
		if shown.status != http.StatusOK { // what the memory does not have
			require.Contains(t, []string{"/jobs/reports/nightly/explain?at=2026-11-26T01:30:00Z", "/jobs/reports/nightly/backfill", "/jobs/reports/nightly/pause", "/pause/reports"}, page)
		}
		require.Contains(t, shown.text, "· billing · Almanac</title>", page)
		rest := menu.ReplaceAllString(shown.text, "")
		if page == "/groups" {
			_, rest, _ = strings.Cut(rest, "</main>")
		}
		for _, m := range link.FindAllStringSubmatch(rest, -1) {
			if to := m[1]; strings.HasPrefix(to, "/console") && !strings.HasPrefix(to, "/console/assets/") {
				require.True(t, strings.HasPrefix(to, billing), "%s leads to %s", page, to)
			}
		}
	}
}

func TestAFormOfAGroupChangesWhatIsInIt(t *testing.T) {
	t.Parallel()
	c, h := inGroups(t, new(apitest.Memory), "", azure+"/billing")
	b := browse(t, h, console.Options{})
	state := func(of *client.Client) client.JobState {
		j, err := of.Job(t.Context(), "reports", "nightly")
		require.NoError(t, err)
		return j.Properties.State
	}
	there := c.In(azure, "billing")
	did := b.post(inBilling, inBilling+"/disable", nil).location
	require.Equal(t, inBilling+"?done=disabled", did)
	require.Equal(t, client.JobDisabled, state(there))
	require.Equal(t, client.JobEnabled, state(c))
	b.get("/console/jobs/reports/nightly?done=disabled").lacks(`role="status"`)
	b.get(did).has("Disabled.", "Undo", `action="`+inBilling+`/enable"`)

	require.Equal(t, inBilling, b.send(http.MethodPost, billing+"/zone", tokenOf(t, b, inBilling, url.Values{"zone": {"Europe/Stockholm"}}),
		func(r *http.Request) { r.Header.Set("Referer", "http://localhost"+inBilling) }).location)
	require.Equal(t, billing+"/", b.send(http.MethodPost, billing+"/zone", tokenOf(t, b, inBilling, url.Values{"zone": {"UTC"}}),
		func(r *http.Request) { r.Header.Set("Referer", "http://localhost/console/jobs/reports/nightly") }).location, "not where another group is shown")
	require.Equal(t, billing+"/jobs/reports?done=deleted", b.post(inBilling+"/delete", inBilling+"/delete", url.Values{"name": {"nightly"}}).location)
	require.Equal(t, client.JobEnabled, state(c))
	_, err := there.Job(t.Context(), "reports", "nightly")
	require.True(t, client.IsNotFound(err))

	created := b.post(billing+"/new", billing+"/new", url.Values{
		"from": {"json"}, "do": {"save"}, "collection": {"reports"}, "name": {"nightly"}, "json": {`{"properties":{"action":{"type":"Https","request":{"uri":"https://example.com/","method":"GET"}},"startTime":"2027-01-01"}}`},
	})
	require.Equal(t, inBilling+"?done=created", created.location, created.text)
	_, err = there.Job(t.Context(), "reports", "nightly")
	require.NoError(t, err)
}

// tokenOf returns a form with the token of a page.
func tokenOf(t *testing.T, b *browser, page string, form url.Values) url.Values {
	t.Helper()
	m := formToken.FindStringSubmatch(b.get(page).text)
	require.NotNil(t, m)
	form.Set("token", m[1])
	return form
}

func TestEachPageHasOneAddress(t *testing.T) {
	t.Parallel()
	_, h := inGroups(t, new(apitest.Memory), "", azure+"/billing")
	b := browse(t, h, console.Options{})
	const short = "/console/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/Default"
	require.Equal(t, "/console/jobs?q=a%20b", b.get(short+"/jobs?q=a%20b").location)
	require.Equal(t, "/console/", b.get(short).location)
	require.Equal(t, billing+"/", b.get(billing).location)
	b.get("/console/Subscriptions/" + azure + "/resourcegroups/BILLING/jobs").has(">nightly<")
	require.Equal(t, http.StatusNotFound, b.get("/console/subscriptions/"+azure).status)

	b.get(inBilling).has("J=&#39;http://localhost"+apiBilling+"/jobCollections/reports/jobs/nightly&#39;", `curl -X POST &#34;$J/run?api-version=2016-03-01&#34;`,
		"export ALMANAC_SUBSCRIPTION=&#39;"+azure+"&#39;", "export ALMANAC_RESOURCE_GROUP=&#39;billing&#39;")
	b.get("/console/jobs/reports/nightly").has("curl -X POST $J/run").lacks("ALMANAC_SUBSCRIPTION")
}

// What an alert links to is the API's history of a job. A browser that follows the link is shown the page of the job.
func TestTheLinkOfAnAlertLeadsToThePage(t *testing.T) {
	t.Parallel()
	_, h := inGroups(t, new(apitest.Memory), "", azure+"/billing")
	public, err := url.Parse("https://example.com/almanac")
	require.NoError(t, err)
	b := browse(t, h, console.Options{PublicURL: public})
	const short = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/default/providers/Microsoft.Scheduler"
	require.Equal(t, "/almanac"+inBilling, b.get(apiBilling+"/jobCollections/reports/jobs/nightly/history?api-version=2016-03-01").location)
	require.Equal(t, "/almanac"+billing+"/jobs/reports", b.get(apiBilling+"/jobCollections/reports?api-version=2016-03-01").location)
	require.Equal(t, "/almanac/console/jobs/reports/nightly", b.get(short+"/jobCollections/reports/jobs/nightly/history?api-version=2016-03-01").location)
	for _, path := range []string{apiBilling + "/jobCollections/reports/jobs/nightly", apiBilling + "/jobCollections"} {
		require.Empty(t, b.get(path+"?api-version=2016-03-01").location, "%s: no alert has this link", path)
	}
	program := b.send(http.MethodGet, apiBilling+"/jobCollections/reports/jobs/nightly/history?api-version=2016-03-01", nil, func(r *http.Request) {
		r.Header.Set("Accept", "*/*")
		r.Header.Del("Sec-Fetch-Mode")
	})
	require.Equal(t, http.StatusOK, program.status)
	require.Contains(t, program.text, `"value":[`)
}

func TestHomeOfAnEmptyGroupLeadsToWhereThereAreJobs(t *testing.T) {
	t.Parallel()
	none := func(groups ...string) *browser {
		_, h := inGroups(t, new(apitest.Memory), groups...)
		return browse(t, h, console.Options{})
	}
	none().get("/console/").has("Your first job").lacks("menu scope", "another resource group")
	one := none(azure + "/billing")
	require.Equal(t, billing+"/", one.get("/console/").location)
	one.get(billing+"/").has("· billing · Almanac</title>").lacks("Your first job", "menu scope")
	one.get("/console/jobs").has("No jobs yet", "There are job collections in other resource groups: ", `<a href="`+billing+`/">billing</a>`)
	one.get("/console/subscriptions/x/resourceGroups/y/").has("Your first job", "In another resource group: ", "This is y.")

	two := none(azure+"/billing", "b/Billing", "c/other")
	require.Equal(t, "/console/groups", two.get("/console/").location)
	two.get("/console/groups").has("11111111-2222-3333-4444-555555555555</td>", ">billing</a>", ">Billing</a>", ">other</a>")
	two.get(billing+"/jobs").has(`title="Resource group billing of the subscription `+azure, `class="cut"><span class="mid-up">11111111…/</span>billing</span>`, `<a href="/console/subscriptions/b/resourceGroups/Billing/">Billing<`)

	both := none("", azure+"/billing")
	both.get("/console/").lacks("Your first job")
	both.get("/console/").has("menu scope", "Resource group: </span>", `<a href="/console/" aria-current="true">default<`, `<a href="`+billing+`/">billing<`)
	none("").get("/console/").lacks("menu scope")
}

// A principal has a role in one scope.
type principal struct {
	role  access.Role
	scope string
}

// A caller with a role in one resource group sees that, and no button that would be refused, and nothing of the others.
func TestRolesInAGroupCountThere(t *testing.T) {
	t.Parallel()
	groups := map[string]string{"/console": "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/default", billing: ofBilling}
	for of, p := range map[string]principal{
		"a reader of one":                       {access.Reader, ofBilling},
		"an operator of one":                    {access.Operator, ofBilling},
		"a contributor of another subscription": {access.Contributor, "/subscriptions/00000000-0000-0000-0000-000000000000"},
		"an owner of all":                       {access.Owner, "/"},
		"a reader of a job":                     {access.Reader, apiBilling + "/jobCollections/reports/jobs/nightly"},
	} {
		t.Run(of, func(t *testing.T) {
			t.Parallel()
			m := new(apitest.Memory)
			inGroups(t, m, "", azure+"/billing")
			scope, err := access.ParseScope(p.scope, access.Defaults{})
			require.NoError(t, err)
			who := &access.Principal{Kind: access.KindToken, Name: "me", Grant: access.Grant{Role: p.role, Scope: scope}}
			h := api.New(m, api.Options{Access: &guard.Access{Authenticators: []access.Authenticator{always{who}}}})
			b := browse(t, h, console.Options{Who: func(*http.Request) (console.Caller, error) {
				return console.Caller{Name: "me", ID: "me", Known: true, May: (*access.Policy)(nil).For(who).Allows}, nil
			}})
			for path, group := range groups {
				in, err := access.ParseScope(group+"/providers/Microsoft.Scheduler/jobCollections/reports/jobs/nightly", access.Defaults{})
				require.NoError(t, err)
				role := (*access.Policy)(nil).For(who).Role(in)
				page := b.get(path + "/jobs/reports/nightly")
				if role == 0 {
					require.Equal(t, http.StatusNotFound, page.status)
					b.get(path + "/jobs").lacks(">nightly<")
					continue
				}
				for action, text := range map[access.Action]string{
					access.RunJobs: "Run now", access.DisableJobs: "Pause…", access.WriteJobs: `/nightly/edit"`, access.DeleteJobs: "Delete…",
				} {
					require.Equal(t, role.Allows(action), strings.Contains(page.has().text, text), "%s in %s", text, path)
				}
				ran := b.post(path+"/jobs/reports/nightly", path+"/jobs/reports/nightly/disable", nil)
				require.Equal(t, role.Allows(access.DisableJobs), ran.status == http.StatusSeeOther, "%s %s", path, ran.text)
				if role.Allows(access.DisableJobs) {
					b.post(path+"/jobs/reports/nightly", path+"/jobs/reports/nightly/enable", nil)
				}
			}
			sees := strings.Contains(b.get(billing+"/jobs").text, ">nightly<")
			require.Equal(t, sees, strings.Contains(b.get("/console/jobs").text, "menu scope"), "there is a menu where there is another group")
			require.Equal(t, p.scope == "/" || !sees, strings.Contains(b.get(billing+"/jobs").text, "menu scope"))
			require.Equal(t, sees, strings.Contains(b.get("/console/groups").text, ">billing<"))
		})
	}
}

// always is an authenticator that takes every caller for one.
type always struct{ who *access.Principal }

func (a always) Authenticate(*http.Request) (*access.Principal, error) { return a.who, nil }
