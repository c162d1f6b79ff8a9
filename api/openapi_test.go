package api_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/require"

	"almanac/access"
	"almanac/api"
	"almanac/api/guard"
	"almanac/internal/audit"
	"almanac/internal/ratelimit"
	"almanac/job"
	"almanac/job/explain"
	"almanac/job/input"
	"almanac/job/kind"
	"almanac/job/lateness"
	"almanac/job/listing"
	"almanac/job/notification"
	"almanac/job/presence"
	"almanac/job/preview"
	daysoff "almanac/recurrence/calendars"
)

// A contract is the OpenAPI description, against which answers are checked.
type contract struct {
	*openapi3.T
	router routers.Router
}

func loadContract(t testing.TB) contract {
	t.Helper()
	doc := api.LoadOpenAPI(t)
	for _, s := range slices.Concat(slices.Collect(maps.Values(serversOf(doc)))...) {
		s.URL = strings.TrimPrefix(s.URL, ".") // the router does not support the "." of a relative URL
	}
	router, err := gorillamux.NewRouter(doc)
	require.NoError(t, err)
	return contract{doc, router}
}

// serversOf returns the servers of every path.
func serversOf(doc *openapi3.T) map[string]openapi3.Servers {
	servers := map[string]openapi3.Servers{}
	for path, item := range doc.Paths.Map() {
		servers[path] = doc.Servers
		if item.Servers != nil {
			servers[path] = item.Servers
		}
	}
	return servers
}

// serve sends a request to h, and requires that the answer matches the description.
func (c contract) serve(t testing.TB, h http.Handler, r *http.Request) answer {
	t.Helper()
	got := serve(h, r)
	sent := http.Header{} // canonical header names, since clients compare them without case
	for name, values := range got.header {
		sent[http.CanonicalHeaderKey(name)] = values
	}
	response := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, Route: c.route(t, r)},
		Status:                 got.status,
		Header:                 sent,
		Options:                &openapi3filter.Options{IncludeResponseStatus: true},
	}
	err := openapi3filter.ValidateResponse(t.Context(), response.SetBodyBytes([]byte(got.body)))
	require.NoError(t, err, "%s %s: %d %s", r.Method, r.URL, got.status, got.body)
	described := response.RequestValidationInput.Route.Operation.Responses.Status(got.status)
	require.NotNil(t, described, "%s %s: %d", r.Method, r.URL, got.status)
	require.Equal(t, described.Value.Content != nil, got.body != "", "%s %s: whether there is a body", r.Method, r.URL)
	return got
}

// route returns the operation of a request. If there is none, it returns one that describes the error
// answer.
func (c contract) route(t testing.TB, r *http.Request) *routers.Route {
	t.Helper()
	r = r.Clone(t.Context())
	r.URL.Path = cmp.Or(strings.TrimSuffix(r.URL.Path, "/"), "/") // trailing slashes are ignored
	route, _, err := c.router.FindRoute(r)
	without := func(status int, response string) *routers.Route {
		return &routers.Route{Spec: c.T, Operation: &openapi3.Operation{
			Responses: openapi3.NewResponses(openapi3.WithStatus(status, c.Components.Responses[response])),
		}}
	}
	switch {
	case errors.Is(err, routers.ErrMethodNotAllowed):
		return without(http.StatusMethodNotAllowed, "MethodNotAllowed")
	case errors.Is(err, routers.ErrPathNotFound):
		return without(http.StatusNotFound, "NotFound")
	}
	require.NoError(t, err)
	return route
}

// summaries returns a page of a job, and of one that could not be read.
func summaries(k job.Key) listing.Summaries {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return listing.Summaries{
		Page: []listing.Summary{
			{
				Key: k, State: job.StateEnabled, Generation: 1700, When: "every day at 09:00", Type: kind.HTTPS, Host: "api.example.com",
				Next: at.Add(time.Hour), Last: job.OutcomeFailed, Late: 1500 * time.Millisecond,
				Recent: []job.Mark{
					{Due: at.Add(-time.Hour), Outcome: job.OutcomeCompleted, Late: -1, Assumed: true},
					{Due: at, Outcome: job.OutcomeFailed, Late: 1500 * time.Millisecond, Manual: true},
				},
				Day:        listing.DayCounts{Failed: 1, Manual: 1},
				DisabledBy: &job.Disabling{At: at, By: "ada"},
				Retry:      &job.OutlineRetry{Attempt: 2, Max: 5, Next: at.Add(time.Minute)},
			},
			{Key: k, Unread: "broken"},
		},
		Next: "n", Total: 3, Matching: 2, AsOf: at,
		Counts: listing.Counts{
			States: map[job.State]int{job.StateEnabled: 2}, Outcomes: map[job.Outcome]int{job.OutcomeFailed: 1, "": 1},
			Hosts: []listing.HostCount{{Host: "api.example.com", Jobs: 2}}, Hour: 1, Day: 2, None: 1, Unread: 1,
			LastDay:     listing.DayCounts{Late: 1},
			Collections: []listing.CollectionCount{{Key: k.Collection, Jobs: 2, Failing: 1, Next: at.Add(time.Hour)}},
		},
	}
}

// A backend is how a scheduler answers all calls.
type backend struct {
	err      error
	created  bool // a PUT creates
	finished bool // changes of a collection complete at once
}

// scheduler returns a fake that stores nothing and answers according to m.
func (m *backend) scheduler(t testing.TB) *fake {
	t.Helper()
	edited := func(k job.Key, current *job.Job, edit editJob) (job.Job, error) {
		d, err := edit(current)
		return job.Job{Key: k, Definition: d.Redacted(), Status: daily(t, k).Status}, cmp.Or(m.err, err)
	}
	operation := job.Operation{ID: "o1", Done: m.finished}
	return &fake{
		calendarUses: func(_ job.CollectionKey, r *job.Recurrence) ([]daysoff.Use, error) {
			uses, err := noDayOff(r)
			return uses, cmp.Or(m.err, err)
		},
		putCollection: func(_ context.Context, c job.Collection) (job.Collection, bool, error) {
			return c, m.created, m.err
		},
		patchCollection: func(_ context.Context, k job.CollectionKey, edit editCollection) (job.Collection, error) {
			stored, err := edit(standard(k))
			return stored, cmp.Or(m.err, err)
		},
		collection: func(_ context.Context, k job.CollectionKey) (job.Collection, error) { return standard(k), m.err },
		change: func(context.Context, string, job.CollectionKey) (*job.Operation, error) {
			if m.finished {
				return nil, m.err
			}
			return &operation, m.err
		},
		operation:     func(context.Context, job.CollectionKey, string) (job.Operation, error) { return operation, m.err },
		subscriptions: func(context.Context, listing.Page) ([]string, string, error) { return []string{"s1"}, "s1", m.err },
		resourceGroups: func(_ context.Context, subscription string, _ listing.Page) ([]listing.Group, string, error) {
			return []listing.Group{{Subscription: subscription, Name: "g1", Collections: 2}}, "g1", m.err
		},
		collections: func(_ context.Context, subscription, resourceGroup string, _ listing.Page) ([]job.Collection, string, error) {
			return []job.Collection{standard(job.CollectionKey{Subscription: subscription, ResourceGroup: resourceGroup, Name: "c"})}, "c", m.err
		},
		putJob: func(_ context.Context, k job.Key, edit editJob) (job.Job, bool, error) {
			j, err := edited(k, nil, edit)
			return j, m.created, err
		},
		patchJob: func(_ context.Context, k job.Key, edit editJob) (job.Job, error) {
			current := daily(t, k)
			return edited(k, &current, edit)
		},
		job:       func(_ context.Context, k job.Key) (job.Job, error) { return daily(t, k), m.err },
		deleteJob: func(context.Context, job.Key) error { return m.err },
		runJob:    func(context.Context, job.Key) error { return m.err },
		execution: func(_ context.Context, k job.Key, name string) (job.ExecutionStatus, error) {
			return failedSoFar(k, name), m.err
		},
		skip: func(_ context.Context, k job.Key, _ job.SkipRequest) (job.Job, error) { return daily(t, k), m.err },
		backfill: func(_ context.Context, k job.Key, r job.BackfillRequest) (job.Job, error) {
			j := daily(t, k)
			j.Backfills = []job.Backfill{{BackfillRequest: r, State: job.BackfillRunning, Total: 7, At: r.From}}
			return j, m.err
		},
		changeBackfill: func(_ context.Context, k job.Key, name string, _ job.BackfillAction) (job.Job, error) {
			j := daily(t, k)
			since := at("2026-01-01T00:00:00Z")
			r := job.BackfillRequest{Name: name, From: since, Until: since.Add(time.Hour)}
			j.Backfills = []job.Backfill{{BackfillRequest: r, State: job.BackfillPaused, Total: 7, At: since}}
			return j, m.err
		},
		previewBackfill: func(context.Context, job.Key, job.BackfillRequest) (job.BackfillPreview, error) {
			return job.BackfillPreview{Total: 7}, m.err
		},
		previewCollection: func(_ context.Context, k job.CollectionKey, _ job.CollectionState, _ job.Promise) (all preview.HeldOfCollection, _ error) {
			all.Add(k.Job("one"), &preview.Held{Count: 2, Runs: 1, AtOnce: 1})
			all.Add(k.Job("two"), &preview.Held{Count: 3, Runs: 3, AtOnce: 2, More: true})
			return all, m.err
		},
		previewState: func(context.Context, job.Key, job.State, job.Promise) (preview.Held, error) {
			return preview.Held{Count: 1, Runs: 1, AtOnce: 1, Occurrences: []preview.HeldOccurrence{{Due: at("2026-01-02T00:00:00Z"), Runs: true}}}, m.err
		},
		unskip: func(_ context.Context, k job.Key, _ job.SkipRequest) (job.Job, error) { return daily(t, k), m.err },
		setJobState: func(_ context.Context, k job.Key, state job.State) (job.Job, error) {
			j := daily(t, k)
			j.Definition.State = state
			return j, m.err
		},
		rerunJob: func(_ context.Context, k job.Key, _ string) job.Rerun {
			return job.Rerun{Key: k, Status: job.RerunStarted, Execution: "1-2", Err: m.err}
		},
		rerunJobs: func(_ context.Context, k job.CollectionKey, _ listing.Page, _ string) ([]job.Rerun, string, error) {
			return []job.Rerun{
				{Key: k.Job("j1"), Status: job.RerunStarted}, {Key: k.Job("j2"), Status: job.RerunRefused, Err: job.Conflictf("it is busy")},
				{Key: k.Job("j3"), Status: job.RerunRefused, Err: errors.New("no idea")},
			}, "3", m.err
		},
		jobs: func(_ context.Context, k job.CollectionKey, _ listing.Page) ([]job.Job, string, error) {
			return []job.Job{daily(t, k.Job("j1")), {Key: k.Job("j2"), Definition: daily(t, k.Job("j2")).Definition}}, "j2", m.err
		},
		history: func(context.Context, job.Key, listing.Page) ([]job.Record, string, error) {
			return []job.Record{
				attempt(),
				{Execution: job.Execution{ActionName: job.MainAction}, Attempt: job.Attempt{Outcome: job.OutcomeMissed}},
			}, "", m.err
		},
		jobChanges: func(context.Context, job.Key, listing.Page) ([]audit.Change, string, error) {
			return []audit.Change{recordedChange(), {Operation: audit.DeleteJob, Status: audit.Failed, Message: "no", Client: "cli"}}, "r.5", m.err
		},
		collectionChanges: func(context.Context, job.CollectionKey, listing.Page) ([]audit.Change, string, error) {
			return []audit.Change{{Operation: audit.WriteCollection, Status: audit.Started}}, "", m.err
		},
		historyAcross: func(_ context.Context, s listing.Scope, _ listing.Page) ([]listing.JobRecord, string, error) {
			k := job.CollectionKey{Subscription: s.Subscription, ResourceGroup: "g1", Name: "c1"}
			return []listing.JobRecord{{Key: job.Key{Collection: k}, Unread: "it did not answer in time"}, {Key: k.Job("j1"), Record: attempt()}}, "", m.err
		},
		summaries: func(_ context.Context, s listing.Scope, _ listing.SummaryQuery) (listing.Summaries, error) {
			k := job.CollectionKey{Subscription: s.Subscription, ResourceGroup: cmp.Or(s.ResourceGroup, "g"), Name: cmp.Or(s.Collection, "c")}.Job("j")
			return summaries(k), m.err
		},
		digests: func(_ context.Context, k job.CollectionKey, _ listing.Page) (listing.Digests, error) {
			return listing.Digests{Next: "bmV4dA", AsOf: at("2026-01-01T00:00:00Z"), Page: []listing.Digest{
				{Key: k.Job("j"), Generation: 1700, State: job.StateEnabled, Digest: "47DEQpj8HBSa-_TImW-5JA"}, {Key: k.Job("unread")},
			}}, m.err
		},
		forecast: func(_ context.Context, _ listing.Scope, q listing.ForecastQuery) (listing.Forecast, error) {
			one := listing.DueCount{Time: q.From, Due: 3, Fullest: 2, FullestTime: q.From, Host: listing.NamedCount{Name: "h", Due: 2}}
			return listing.Forecast{
				Until: q.Until, Due: 3, Steps: []listing.DueCount{one}, Fullest: []listing.DueCount{one}, Times: []listing.DueCount{one, {Time: q.From}},
				Hosts: []listing.NamedCount{{Name: "h", Due: 2}}, Collections: []listing.NamedCount{{Name: "g/c", Due: 3}}, Jobs: 3, AsOf: q.From,
			}, m.err
		},
		selects: func(_ context.Context, k job.CollectionKey, _ listing.SummaryQuery, _ []string) ([]listing.Summary, []string, error) {
			return summaries(k.Job("j")).Page, []string{"gone"}, m.err
		},
		bulk: func(_ context.Context, k job.CollectionKey, _ job.BulkAction, jobs []job.BulkJob, _ string) (all []job.BulkResult) {
			for _, j := range jobs {
				all = append(all, job.BulkResult{Key: k.Job(j.Name), Status: job.BulkDone, Execution: "1-2"})
			}
			return append(all, job.BulkResult{Key: k.Job("x"), Status: job.BulkRefused, Err: job.Conflictf("no")})
		},
		beginBulk: func(context.Context, job.CollectionKey, job.BulkAction, []job.BulkJob, string) (job.Operation, error) {
			return operation, m.err
		},
		bulkResults: func(_ context.Context, k job.CollectionKey, _ string) (job.Operation, []job.BulkResult, error) {
			return operation, []job.BulkResult{
				{Key: k.Job("j1"), Status: job.BulkDone}, {Key: k.Job("j2"), Status: job.BulkRefused, Err: job.Conflictf("no")},
			}, m.err
		},
		upcoming: func(_ context.Context, s listing.Scope, until time.Time, _ listing.Page) ([]listing.Occurrence, string, error) {
			k := job.CollectionKey{Subscription: s.Subscription, ResourceGroup: "g1", Name: "c1"}
			return []listing.Occurrence{{Key: k.Job("j2"), Unread: "it did not answer in time"}, {Key: k.Job("j1"), Due: until}}, "", m.err
		},
		lateness: func(context.Context, job.CollectionKey, string, listing.Page) (lateness.Report, string, error) {
			return report(), "token", m.err
		},
		explain: func(_ context.Context, k job.Key, _ explain.Question) (explain.Answer, job.Key, error) {
			return explanation(), k, m.err
		},
		test: func(context.Context, job.Key) ([]notification.Delivery, error) {
			return []notification.Delivery{delivery}, m.err
		},
		workers: func(context.Context) (presence.Log, error) { return workersOnRecord(), m.err },
		try: func(_ context.Context, k job.Key, _ *job.Definition, _ bool) (job.Trial, error) {
			start := at("2026-01-01T00:00:00Z")
			failed := job.Attempt{
				Number: 1, Start: start, End: start.Add(time.Second), Outcome: job.OutcomeFailed, Message: "long", Reason: "why",
			}
			return job.Trial{Key: k, ID: "5cd6c0f8-93c5-5b10-92f3-4a45fbc8c0a6", Attempt: failed}, m.err
		},
		deliveries: func(context.Context, job.CollectionKey) ([]notification.Delivery, error) {
			return []notification.Delivery{delivery}, m.err
		},
		ready: func(context.Context) error { return m.err },
		calendar: func(_ context.Context, k job.CalendarKey) (job.KeptCalendar, error) {
			return holidays(k), m.err
		},
		calendars: func(_ context.Context, scope job.CollectionKey, _ listing.Page) ([]job.KeptCalendar, string, error) {
			return []job.KeptCalendar{holidays(scope.Calendar("SE")).Summary(), {Key: scope.Calendar("x"), Unread: "it did not answer in time"}}, "x", m.err
		},
		putCalendar: func(_ context.Context, k job.CalendarKey, c job.Calendar) (job.KeptCalendar, bool, error) {
			return job.KeptCalendar{Key: k, Calendar: c, Version: 1, Generation: 1700}, m.created, m.err
		},
		deleteCalendar: func(context.Context, job.CalendarKey) error { return m.err },
		calendarUsage: func(_ context.Context, k job.CalendarKey, _ listing.Page) ([]preview.Usage, string, error) {
			at := time.Date(2026, 12, 25, 8, 0, 0, 0, time.UTC)
			users := job.CollectionKey{Subscription: k.Scope.Subscription, ResourceGroup: "g1", Name: "c1"}
			user := preview.Usage{Key: users.Job("j"), OnMatch: "previousWorkingDay", State: job.StateEnabled, Until: at}
			user.Adjustments = []preview.Adjustment{
				{Nominal: at, Due: at.AddDate(0, 0, -1), Count: 1, By: &job.CalendarDay{Name: k.Name, Version: 3, Day: "Juldagen"}, Why: "SE has Juldagen"},
				{Nominal: at, Count: 2, Why: "SE has Juldagen"},
			}
			return []preview.Usage{user, {Key: users.Job("x"), Unread: "it did not answer in time"}}, "x", m.err
		},
	}
}

// holidays returns a calendar.
func holidays(k job.CalendarKey) job.KeptCalendar {
	return job.KeptCalendar{Key: k, Version: 3, Generation: 1703, Calendar: job.Calendar{
		WeekendDays: []string{"saturday", "sunday"}, Days: []job.NamedDay{{Date: "2026-01-01", Name: "Nyårsdagen"}, {Date: "2026-05-01"}},
		Periods: []job.NamedPeriod{{First: "2026-07-01", Last: "2026-07-31"}}, MakeUpDays: []job.NamedDay{{Date: "2026-02-14"}},
		CompleteUntil: "2026-12-31",
	}}
}

// delivery is a message that was delivered.
var delivery = notification.Delivery{ID: "m1", Name: "ops", Target: "POST https://example.com/", Time: time.Unix(0, 0).UTC(), Alerts: 2, Outcome: notification.Delivered, Message: "200 OK", Attempts: 1}

// A trigger is a request that should lead to a certain answer.
type trigger struct {
	backend backend
	method  string
	target  string
	body    string
	header  http.Header
	access  *guard.Access
	flooded bool // its caller has sent too many requests
}

// required returns the query parameters without which a request is refused, with their examples.
func required(op *openapi3.Operation) (query string) {
	for _, p := range op.Parameters {
		if p.Value.In == "query" && p.Value.Required && p.Value.Name != "api-version" {
			text, _ := p.Value.Example.(string)
			query += "&" + p.Value.Name + "=" + text
		}
	}
	return query
}

// triggers returns requests for every answer that an operation may have.
func triggers(path, method string, op *openapi3.Operation, server *openapi3.Server) []trigger {
	target := strings.NewReplacer(
		"{subscriptionId}", "s1", "{resourceGroupName}", "g1", "{jobCollectionName}", "c1", "{jobName}", "j1", "{calendarName}", "SE", "{operationId}", "o1", "{executionName}", "1-2", "{backfill}", "week5", "{file}", "index.js",
	).Replace(server.URL + path)
	plain := trigger{method: method, target: target + version + required(op), body: append(examples(op), "{}")[0]}
	with := func(change func(p *trigger)) trigger {
		p := plain
		change(&p)
		return p
	}
	all := []trigger{
		plain,
		with(func(p *trigger) { p.backend.finished = true }),
		with(func(p *trigger) { p.backend.err = errors.New("no idea") }),
		with(func(p *trigger) { p.backend.err = &job.Error{Kind: job.KindUnavailable, Message: "no worker"} }),
		with(func(p *trigger) { p.target = target + "?api-version=1" }),
		with(func(p *trigger) { p.target = target + "/" }),
	}
	for _, role := range []access.Role{0, access.Reader} {
		// of all callers, and then there is a caller that is not known
		all = append(all, with(func(p *trigger) { p.access = everyone(role) }))
	}
	all = append(all, with(func(p *trigger) { p.access = new(guard.Access) }))
	if !strings.HasPrefix(op.OperationID, "Service_") || slices.Contains([]string{"Service_Index", "Service_OpenAPI", "Service_JobSchema", "Service_Docs", "Service_DocsFile"}, op.OperationID) {
		all = append(all, with(func(p *trigger) { p.flooded = true })) // probes are exempt
	}
	if op.OperationID == "Service_Metrics" { // strangers may flood it
		all = append(all, with(func(p *trigger) { p.flooded, p.access = true, new(guard.Access) }))
	}
	for _, name := range []string{"If-Match", "If-None-Match"} {
		for _, value := range []string{`"x-1"`, "*"} {
			all = append(all, with(func(p *trigger) { p.header = http.Header{name: {value}} }))
		}
	}
	for _, example := range examples(op) {
		for _, created := range []bool{false, true} {
			all = append(all, with(func(p *trigger) { p.body, p.backend.created = example, created }))
		}
	}
	if strings.Contains(path, "{file}") {
		all = append(all, with(func(p *trigger) { p.target = strings.Replace(target, "index.js", "index.php", 1) }))
	}
	if strings.Contains(path, "{calendarName}") {
		all = append(all, with(func(p *trigger) { p.body = strings.Repeat(" ", job.MaxCalendarBodyBytes+1) }))
		if method != http.MethodPut {
			all = append(all, with(func(p *trigger) { p.backend.err = job.MissingCalendar(job.CalendarKey{}) }))
		}
	}
	if strings.Contains(path, "{jobCollectionName}") && op.OperationID != "JobCollections_CreateOrUpdate" {
		all = append(all, with(func(p *trigger) { p.backend.err = job.NotFound("it", "g1") }))
	}
	if action, selects := strings.CutPrefix(op.OperationID, "JobCollections_Bulk"); selects && action != "Preview" {
		many := input.Selection{Action: job.BulkAction(strings.ToLower(action))}
		for i := range 201 {
			many.Jobs = append(many.Jobs, job.BulkJob{Name: strconv.Itoa(i), Generation: 1})
		}
		body := `{"selection":"` + many.Text(time.Time{}) + `"}`
		for _, err := range []error{nil, errors.New("no idea"), &job.Error{Kind: job.KindUnavailable, Message: "no worker"}, job.NotFound("it", "g1")} {
			all = append(all, with(func(p *trigger) { p.body, p.backend.err = body, err }))
		}
	}
	if method != http.MethodGet {
		if !strings.Contains(op.OperationID, "Forecast") && !strings.Contains(op.OperationID, "Preview") && !strings.Contains(op.OperationID, "Bulk") {
			all = append(all, with(func(p *trigger) { p.backend.err = job.Conflictf("no") }))
		}
		all = append(all,
			with(func(p *trigger) { p.header = http.Header{"Sec-Fetch-Site": {"cross-site"}} }),
			with(func(p *trigger) { p.body = strings.Repeat(" ", 64<<10+1) }))
	}
	return all
}

// everyone is an authenticator that takes all callers for one with a role for everything.
func everyone(role access.Role) *guard.Access {
	return &guard.Access{Authenticators: []access.Authenticator{anyone{Grant: access.Grant{Role: role}}}}
}

type anyone access.Principal

func (a anyone) Authenticate(*http.Request) (*access.Principal, error) {
	return (*access.Principal)(&a), nil
}

// examples returns the example bodies in the description of an operation.
func examples(op *openapi3.Operation) []string {
	if op.RequestBody == nil {
		return nil
	}
	var bodies []string
	for _, e := range op.RequestBody.Value.Content["application/json"].Examples {
		body, err := json.Marshal(e.Value.Value)
		if err != nil {
			panic(err)
		}
		bodies = append(bodies, string(body))
	}
	return bodies
}

func TestEveryOperationIsAnsweredAsOpenAPIDescribesIt(t *testing.T) {
	t.Parallel()
	c := loadContract(t)
	servers := serversOf(c.T)
	for path, item := range c.Paths.Map() {
		for method, op := range item.Operations() {
			t.Run(op.OperationID, func(t *testing.T) {
				t.Parallel()
				answered := map[string]bool{}
				for _, server := range servers[path] {
					for _, p := range triggers(path, method, op, server) {
						answered[strconv.Itoa(c.fire(t, p))] = true
					}
				}
				require.ElementsMatch(t, slices.Collect(maps.Keys(op.Responses.Map())), slices.Collect(maps.Keys(answered)),
					"the statuses that are described, and those that there are")
			})
		}
	}
}

// provoke sends the request and returns the status of the answer.
func (c contract) fire(t *testing.T, p trigger) int {
	t.Helper()
	r := httptest.NewRequest(p.method, p.target, strings.NewReader(p.body))
	maps.Copy(r.Header, p.header)
	o := api.Options{Access: p.access, Now: func() time.Time { return at("2026-01-01T00:00:00Z") }, Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = io.WriteString(w, "up 1\n")
	})}
	if !p.flooded {
		return c.serve(t, api.New(p.backend.scheduler(t), o), r).status
	}
	o.Callers = ratelimit.NewLimiter(ratelimit.Limits{Rate: 1})
	status := 0
	synctest.Test(t, func(t *testing.T) { // whose time stands still
		h := api.New(p.backend.scheduler(t), o)
		for range 3 {
			status = serve(h, httptest.NewRequest(http.MethodGet, "/nowhere", nil)).status
		}
		require.Equal(t, http.StatusTooManyRequests, status)
		status = c.serve(t, h, r).status
	})
	return status
}

func TestRequestsThatNoOperationTakesAreAnsweredAsOpenAPIDescribesIt(t *testing.T) {
	t.Parallel()
	c := loadContract(t)
	require.Equal(t, http.StatusNotFound, c.fire(t, trigger{method: http.MethodGet, target: "/nowhere"}))
	require.Equal(t, http.StatusMethodNotAllowed, c.fire(t, trigger{method: http.MethodPut, target: "/jobCollections"}))
	require.Equal(t, http.StatusMethodNotAllowed, c.fire(t, trigger{method: http.MethodOptions, target: group + "/jobCollections/c/jobs/j"}))
}

func TestExamplesOfOpenAPIAreAccepted(t *testing.T) {
	t.Parallel()
	c := loadContract(t)
	o := input.ParseOptions{Now: at("2026-01-01T00:00:00Z")}
	item := c.Paths.Value("/jobCollections/{jobCollectionName}")
	require.NotEmpty(t, examples(item.Put))
	for _, example := range examples(item.Put) {
		_, err := input.ParseCollection([]byte(example), nil)
		require.NoError(t, err, example)
	}
	for _, example := range examples(item.Patch) {
		_, err := input.MergeCollection(standard(job.CollectionKey{}), []byte(example), nil)
		require.NoError(t, err, example)
	}
	item = c.Paths.Value("/jobCollections/{jobCollectionName}/jobs/{jobName}")
	require.NotEmpty(t, examples(item.Put))
	for _, example := range examples(item.Put) {
		_, err := input.ParseDefinition([]byte(example), o)
		require.NoError(t, err, example)
	}
	for _, example := range examples(item.Patch) {
		_, err := input.MergeDefinition(daily(t, job.Key{}).Definition, []byte(example), o)
		require.NoError(t, err, example)
	}
	for _, example := range examples(c.Paths.Value("/previewRecurrence").Post) {
		p, err := input.ParsePreview([]byte(example), o.Now)
		require.NoError(t, err, example)
		require.NotEmpty(t, p.Run().Occurrences)
	}
}

func TestRecordedSessionsAreAnsweredAsOpenAPIDescribesIt(t *testing.T) {
	t.Parallel()
	c := loadContract(t)
	text, err := os.ReadFile("../job/input/testdata/recorded.json")
	require.NoError(t, err)
	var sessions map[string][]exchange
	require.NoError(t, json.Unmarshal(text, &sessions))
	require.NotEmpty(t, sessions)
	for name, session := range sessions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recording := &replay{}
			h := api.New(recording.fake(), whenRecorded)
			for _, e := range session {
				recording.answer = e
				r := httptest.NewRequest(e.Method, strings.ReplaceAll(e.URI, " ", "%20"), bytes.NewReader(e.Request))
				require.Equal(t, e.Status, c.serve(t, h, r).status, "%s %s", e.Method, e.URI)
			}
		})
	}
}

func TestOpenAPIIsServedAsItIs(t *testing.T) {
	t.Parallel()
	got := send(api.New(&fake{}, api.Options{}), http.MethodGet, "/openapi.yaml", "")
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, "application/yaml", got.header.Get("Content-Type"))
	require.Equal(t, string(api.OpenAPI()), got.body)
}
