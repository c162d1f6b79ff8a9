package api_test

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"almanac/api"
	"almanac/internal/audit"
	"almanac/job"
	"almanac/job/explain"
	"almanac/job/input"
	"almanac/job/lateness"
	"almanac/job/listing"
	"almanac/job/notification"
	"almanac/job/presence"
	"almanac/job/preview"
	daysoff "almanac/recurrence/calendars"
)

type (
	editJob        = func(current *job.Job) (job.Definition, error)
	editCollection = func(current job.Collection) (job.Collection, error)
)

// A fake is a Scheduler whose methods a test sets; the others panic. The methods that change a whole
// collection share one field, change, and are told apart by name.
type fake struct {
	putCollection     func(ctx context.Context, c job.Collection) (job.Collection, bool, error)
	patchCollection   func(ctx context.Context, k job.CollectionKey, edit editCollection) (job.Collection, error)
	collection        func(ctx context.Context, k job.CollectionKey) (job.Collection, error)
	change            func(ctx context.Context, name string, k job.CollectionKey) (*job.Operation, error)
	operation         func(ctx context.Context, k job.CollectionKey, id string) (job.Operation, error)
	subscriptions     func(ctx context.Context, p listing.Page) ([]string, string, error)
	resourceGroups    func(ctx context.Context, subscription string, p listing.Page) ([]listing.Group, string, error)
	collections       func(ctx context.Context, subscription, resourceGroup string, p listing.Page) ([]job.Collection, string, error)
	putJob            func(ctx context.Context, k job.Key, edit editJob) (job.Job, bool, error)
	patchJob          func(ctx context.Context, k job.Key, edit editJob) (job.Job, error)
	job               func(ctx context.Context, k job.Key) (job.Job, error)
	deleteJob         func(ctx context.Context, k job.Key) error
	runJob            func(ctx context.Context, k job.Key) error
	execution         func(ctx context.Context, k job.Key, name string) (job.ExecutionStatus, error)
	skip              func(ctx context.Context, k job.Key, r job.SkipRequest) (job.Job, error)
	promised          []job.Promise // of enabling and disabling
	backfill          func(ctx context.Context, k job.Key, r job.BackfillRequest) (job.Job, error)
	changeBackfill    func(ctx context.Context, k job.Key, name string, a job.BackfillAction) (job.Job, error)
	previewBackfill   func(ctx context.Context, k job.Key, r job.BackfillRequest) (job.BackfillPreview, error)
	previewCollection func(ctx context.Context, k job.CollectionKey, s job.CollectionState, p job.Promise) (preview.HeldOfCollection, error)
	previewState      func(ctx context.Context, k job.Key, s job.State, p job.Promise) (preview.Held, error)
	unskip            func(ctx context.Context, k job.Key, r job.SkipRequest) (job.Job, error)
	setJobState       func(ctx context.Context, k job.Key, state job.State) (job.Job, error)
	rerunJob          func(ctx context.Context, k job.Key, request string) job.Rerun
	rerunJobs         func(ctx context.Context, k job.CollectionKey, p listing.Page, request string) ([]job.Rerun, string, error)
	jobs              func(ctx context.Context, k job.CollectionKey, p listing.Page) ([]job.Job, string, error)
	history           func(ctx context.Context, k job.Key, p listing.Page) ([]job.Record, string, error)
	collectionChanges func(ctx context.Context, k job.CollectionKey, p listing.Page) ([]audit.Change, string, error)
	jobChanges        func(ctx context.Context, k job.Key, p listing.Page) ([]audit.Change, string, error)
	historyAcross     func(ctx context.Context, s listing.Scope, p listing.Page) ([]listing.JobRecord, string, error)
	upcoming          func(ctx context.Context, s listing.Scope, until time.Time, p listing.Page) ([]listing.Occurrence, string, error)
	digests           func(ctx context.Context, k job.CollectionKey, p listing.Page) (listing.Digests, error)
	summaries         func(ctx context.Context, s listing.Scope, q listing.SummaryQuery) (listing.Summaries, error)
	forecast          func(ctx context.Context, s listing.Scope, q listing.ForecastQuery) (listing.Forecast, error)
	selects           func(ctx context.Context, k job.CollectionKey, q listing.SummaryQuery, names []string) ([]listing.Summary, []string, error)
	bulk              func(ctx context.Context, k job.CollectionKey, action job.BulkAction, jobs []job.BulkJob, request string) []job.BulkResult
	beginBulk         func(ctx context.Context, k job.CollectionKey, action job.BulkAction, jobs []job.BulkJob, request string) (job.Operation, error)
	bulkResults       func(ctx context.Context, k job.CollectionKey, id string) (job.Operation, []job.BulkResult, error)
	explain           func(ctx context.Context, k job.Key, q explain.Question) (explain.Answer, job.Key, error)
	lateness          func(ctx context.Context, k job.CollectionKey, name string, p listing.Page) (lateness.Report, string, error)
	test              func(ctx context.Context, k job.Key) ([]notification.Delivery, error)
	try               func(ctx context.Context, k job.Key, d *job.Definition, stored bool) (job.Trial, error)
	workers           func(ctx context.Context) (presence.Log, error)
	deliveries        func(ctx context.Context, k job.CollectionKey) ([]notification.Delivery, error)
	ready             func(ctx context.Context) error
	calendar          func(ctx context.Context, k job.CalendarKey) (job.KeptCalendar, error)
	calendars         func(ctx context.Context, scope job.CollectionKey, p listing.Page) ([]job.KeptCalendar, string, error)
	putCalendar       func(ctx context.Context, k job.CalendarKey, c job.Calendar) (job.KeptCalendar, bool, error)
	calendarUsage     func(ctx context.Context, k job.CalendarKey, p listing.Page) ([]preview.Usage, string, error)
	deleteCalendar    func(ctx context.Context, k job.CalendarKey) error
	calendarUses      func(k job.CollectionKey, r *job.Recurrence) ([]daysoff.Use, error)
}

func (f *fake) CalendarUses(_ context.Context, k job.CollectionKey, r *job.Recurrence) ([]daysoff.Use, error) {
	if f.calendarUses == nil {
		return noDayOff(r)
	}
	return f.calendarUses(k, r)
}

// noDayOff returns the calendars of a recurrence, with no day off.
func noDayOff(r *job.Recurrence) ([]daysoff.Use, error) {
	return r.Uses(slices.Repeat([]job.KeptCalendar{{Version: 1, Calendar: job.Calendar{WeekendDays: []string{}}}}, len(r.CalendarNames())))
}

func (f *fake) Calendar(ctx context.Context, k job.CalendarKey) (job.KeptCalendar, error) {
	return f.calendar(ctx, k)
}

func (f *fake) Calendars(ctx context.Context, scope job.CollectionKey, p listing.Page) ([]job.KeptCalendar, string, error) {
	return f.calendars(ctx, scope, p)
}

func (f *fake) PutCalendar(
	ctx context.Context, k job.CalendarKey, c job.Calendar, check func(*job.KeptCalendar) error,
) (job.KeptCalendar, bool, error) {
	if err := f.checkCalendar(ctx, k, check); err != nil {
		return job.KeptCalendar{}, false, err
	}
	return f.putCalendar(ctx, k, c)
}

func (f *fake) CalendarUsage(ctx context.Context, k job.CalendarKey, p listing.Page) ([]preview.Usage, string, error) {
	return f.calendarUsage(ctx, k, p)
}

func (f *fake) DeleteCalendar(ctx context.Context, k job.CalendarKey, check func(*job.KeptCalendar) error) error {
	if err := f.checkCalendar(ctx, k, check); err != nil {
		return err
	}
	return f.deleteCalendar(ctx, k)
}

// checkCalendar calls check with the calendar that there is, as the methods of a scheduler do.
func (f *fake) checkCalendar(ctx context.Context, k job.CalendarKey, check func(*job.KeptCalendar) error) error {
	if check == nil {
		return nil
	}
	current, err := f.calendar(ctx, k)
	if job.KindOf(err) == job.KindNotFound {
		return check(nil)
	}
	if err != nil {
		return err
	}
	return check(&current)
}

func (f *fake) TestNotifications(ctx context.Context, k job.Key) ([]notification.Delivery, error) {
	return f.test(ctx, k)
}

func (f *fake) Workers(ctx context.Context) (presence.Log, error) { return f.workers(ctx) }

func (f *fake) TryJob(ctx context.Context, k job.Key, d *job.Definition, stored bool) (job.Trial, error) {
	return f.try(ctx, k, d, stored)
}

func (f *fake) Deliveries(ctx context.Context, k job.CollectionKey) ([]notification.Delivery, error) {
	return f.deliveries(ctx, k)
}

func (f *fake) Explain(ctx context.Context, k job.Key, q explain.Question) (explain.Answer, job.Key, error) {
	return f.explain(ctx, k, q)
}

func (f *fake) Lateness(ctx context.Context, k job.CollectionKey, name string, p listing.Page) (lateness.Report, string, error) {
	return f.lateness(ctx, k, name, p)
}

var _ api.Scheduler = (*fake)(nil)

func (f *fake) PutCollection(ctx context.Context, c job.Collection, check func(*job.Collection) error) (job.Collection, bool, error) {
	if err := f.checkCollection(ctx, c.Key, check); err != nil {
		return job.Collection{}, false, err
	}
	return f.putCollection(ctx, c)
}

func (f *fake) Collection(ctx context.Context, k job.CollectionKey) (job.Collection, error) {
	return f.collection(ctx, k)
}

func (f *fake) PatchCollection(ctx context.Context, k job.CollectionKey, edit editCollection) (job.Collection, error) {
	return f.patchCollection(ctx, k, edit)
}

// checkCollection calls check with the collection that there is, as the methods of a scheduler do.
func (f *fake) checkCollection(ctx context.Context, k job.CollectionKey, check func(*job.Collection) error) error {
	if check == nil {
		return nil
	}
	current, err := f.collection(ctx, k)
	if job.KindOf(err) == job.KindNotFound {
		return check(nil)
	}
	return cmp.Or(err, check(&current))
}

func (f *fake) DeleteCollection(ctx context.Context, k job.CollectionKey, check func(*job.Collection) error) (*job.Operation, error) {
	if err := f.checkCollection(ctx, k, check); err != nil {
		return nil, err
	}
	return f.change(ctx, "delete", k)
}

func (f *fake) EnableCollection(ctx context.Context, k job.CollectionKey, p job.Promise) (*job.Operation, error) {
	f.promised = append(f.promised, p)
	return f.change(ctx, "enable", k)
}

func (f *fake) DisableCollection(ctx context.Context, k job.CollectionKey, p job.Promise) (*job.Operation, error) {
	f.promised = append(f.promised, p)
	return f.change(ctx, "disable", k)
}

func (f *fake) Operation(ctx context.Context, k job.CollectionKey, id string) (job.Operation, error) {
	return f.operation(ctx, k, id)
}

func (f *fake) Subscriptions(ctx context.Context, p listing.Page) ([]string, string, error) {
	return f.subscriptions(ctx, p)
}

func (f *fake) ResourceGroups(ctx context.Context, subscription string, p listing.Page) ([]listing.Group, string, error) {
	return f.resourceGroups(ctx, subscription, p)
}

func (f *fake) Collections(ctx context.Context, subscription, resourceGroup string, p listing.Page) ([]job.Collection, string, error) {
	return f.collections(ctx, subscription, resourceGroup, p)
}

func (f *fake) PutJob(ctx context.Context, k job.Key, edit editJob) (job.Job, bool, error) {
	return f.putJob(ctx, k, edit)
}

func (f *fake) PatchJob(ctx context.Context, k job.Key, edit editJob) (job.Job, error) {
	return f.patchJob(ctx, k, edit)
}

func (f *fake) Job(ctx context.Context, k job.Key) (job.Job, error) {
	if f.job == nil { // a test of something else
		return job.Job{Key: k}, nil
	}
	return f.job(ctx, k)
}

func (f *fake) BindOwner(ctx context.Context, k job.CollectionKey, b job.Binding) (job.Owner, error) {
	_, err := f.setJobState(ctx, k.Job("j"), job.StateEnabled)
	return b.Owner, err
}

func (f *fake) PruneJob(ctx context.Context, k job.Key, owner string, check func(*job.Job) error) (job.Job, error) {
	pruned, err := f.setJobState(ctx, k, job.StateDisabled)
	pruned.Status = job.Status{Owner: owner, PruneAt: job.NewTime(at("2026-01-08T00:00:00Z")), FormerState: job.StateEnabled}
	return pruned, cmp.Or(err, check(&pruned))
}

func (f *fake) CompareSecrets(ctx context.Context, k job.Key, _ *job.Definition) (bool, error) {
	_, err := f.setJobState(ctx, k, job.StateEnabled)
	return true, err
}

func (f *fake) RestoreJob(ctx context.Context, k job.Key, check func(*job.Job) error) (job.Job, error) {
	restored, err := f.setJobState(ctx, k, job.StateEnabled)
	return restored, cmp.Or(err, check(&restored))
}

func (f *fake) DeleteJob(ctx context.Context, k job.Key, check func(*job.Job) error) error {
	if check != nil {
		current, err := f.Job(ctx, k)
		if err := cmp.Or(err, check(&current)); err != nil {
			return err
		}
	}
	return f.deleteJob(ctx, k)
}

func (f *fake) RunJob(ctx context.Context, k job.Key, _ bool) (string, error) {
	return job.ExecutionName(0x64b1f0c1a2b3c, 12), f.runJob(ctx, k)
}

func (f *fake) Execution(ctx context.Context, k job.Key, name string) (job.ExecutionStatus, error) {
	return f.execution(ctx, k, name)
}

func (f *fake) SkipOccurrences(ctx context.Context, k job.Key, r job.SkipRequest) (job.Job, error) {
	return f.skip(ctx, k, r)
}

func (f *fake) Backfill(ctx context.Context, k job.Key, r job.BackfillRequest) (job.Job, error) {
	return f.backfill(ctx, k, r)
}

func (f *fake) ChangeBackfill(ctx context.Context, k job.Key, name string, a job.BackfillAction) (job.Job, error) {
	return f.changeBackfill(ctx, k, name, a)
}

func (f *fake) PreviewBackfill(ctx context.Context, k job.Key, r job.BackfillRequest) (job.BackfillPreview, error) {
	return f.previewBackfill(ctx, k, r)
}

func (f *fake) PreviewState(ctx context.Context, k job.Key, s job.State, p job.Promise) (preview.Held, error) {
	return f.previewState(ctx, k, s, p)
}

func (f *fake) PreviewStates(
	ctx context.Context, k job.CollectionKey, names []string, s job.State, p job.Promise,
) ([]preview.Held, []error) {
	held, errs := make([]preview.Held, len(names)), make([]error, len(names))
	for i, name := range names {
		held[i], errs[i] = f.previewState(ctx, k.Job(name), s, p)
	}
	return held, errs
}

func (f *fake) PreviewCollectionState(
	ctx context.Context, k job.CollectionKey, s job.CollectionState, p job.Promise,
) (preview.HeldOfCollection, error) {
	return f.previewCollection(ctx, k, s, p)
}

func (f *fake) UnskipOccurrences(ctx context.Context, k job.Key, r job.SkipRequest) (job.Job, error) {
	return f.unskip(ctx, k, r)
}

func (f *fake) EnableJob(ctx context.Context, k job.Key, p job.Promise) (job.Job, error) {
	f.promised = append(f.promised, p)
	return f.setJobState(ctx, k, job.StateEnabled)
}

func (f *fake) DisableJob(ctx context.Context, k job.Key, p job.Promise) (job.Job, error) {
	f.promised = append(f.promised, p)
	return f.setJobState(ctx, k, job.StateDisabled)
}
func (f *fake) RerunJob(ctx context.Context, k job.Key, request string) job.Rerun {
	return f.rerunJob(ctx, k, request)
}

func (f *fake) RerunJobs(ctx context.Context, k job.CollectionKey, p listing.Page, request string) ([]job.Rerun, string, error) {
	return f.rerunJobs(ctx, k, p, request)
}

func (f *fake) Jobs(ctx context.Context, k job.CollectionKey, p listing.Page) ([]job.Job, string, error) {
	return f.jobs(ctx, k, p)
}

func (f *fake) History(ctx context.Context, k job.Key, p listing.Page) ([]job.Record, string, error) {
	return f.history(ctx, k, p)
}

func (f *fake) JobChanges(ctx context.Context, k job.Key, p listing.Page) ([]audit.Change, string, error) {
	return f.jobChanges(ctx, k, p)
}

func (f *fake) CollectionChanges(ctx context.Context, k job.CollectionKey, p listing.Page) ([]audit.Change, string, error) {
	return f.collectionChanges(ctx, k, p)
}

func (f *fake) HistoryAcross(ctx context.Context, s listing.Scope, p listing.Page) ([]listing.JobRecord, string, error) {
	return f.historyAcross(ctx, s, p)
}

func (f *fake) Digests(ctx context.Context, k job.CollectionKey, p listing.Page) (listing.Digests, error) {
	return f.digests(ctx, k, p)
}

func (f *fake) Summaries(ctx context.Context, s listing.Scope, q listing.SummaryQuery) (listing.Summaries, error) {
	return f.summaries(ctx, s, q)
}

func (f *fake) ForecastAcross(ctx context.Context, s listing.Scope, q listing.ForecastQuery) (listing.Forecast, error) {
	return f.forecast(ctx, s, q)
}

func (f *fake) Select(ctx context.Context, k job.CollectionKey, q listing.SummaryQuery, names []string) ([]listing.Summary, []string, error) {
	return f.selects(ctx, k, q, names)
}

func (f *fake) Bulk(ctx context.Context, k job.CollectionKey, action job.BulkAction, jobs []job.BulkJob, request string) []job.BulkResult {
	return f.bulk(ctx, k, action, jobs, request)
}

func (f *fake) BeginBulk(ctx context.Context, k job.CollectionKey, action job.BulkAction, jobs []job.BulkJob, request string) (job.Operation, error) {
	return f.beginBulk(ctx, k, action, jobs, request)
}

func (f *fake) BulkResults(ctx context.Context, k job.CollectionKey, id string) (job.Operation, []job.BulkResult, error) {
	return f.bulkResults(ctx, k, id)
}

func (f *fake) Upcoming(ctx context.Context, s listing.Scope, until time.Time, p listing.Page) ([]listing.Occurrence, string, error) {
	return f.upcoming(ctx, s, until, p)
}

func (f *fake) Ready(ctx context.Context) error { return f.ready(ctx) }

const (
	group       = "/subscriptions/s1/resourceGroups/g1/providers/Microsoft.Scheduler"
	defaultID   = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/default/providers/Microsoft.Scheduler"
	version     = "?api-version=2016-03-01"
	jsonContent = "application/json; charset=utf-8"
)

// An answer is a response as the caller sees it.
type answer struct {
	status int
	body   string
	header http.Header
}

// send sends a request with a JSON body to h.
func send(h http.Handler, method, target, body string) answer {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	return serve(h, r)
}

func serve(h http.Handler, r *http.Request) answer {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return answer{w.Code, w.Body.String(), w.Header()}
}

// get sends a GET request to the API of f.
func get(f *fake, target string) answer {
	return send(api.New(f, api.Options{}), http.MethodGet, target, "")
}

// logged returns options with a log, and the text of the log.
func logged() (api.Options, *strings.Builder) {
	var text strings.Builder
	return api.Options{Log: slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}))}, &text
}

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic(err)
	}
	return t
}

// definition returns the stored form of a job that calls http://example.com/.
func definition(t testing.TB, properties string) job.Definition {
	t.Helper()
	d, err := input.ParseDefinition([]byte(`{"properties":`+properties+`}`), input.ParseOptions{Now: at("2026-01-01T00:00:00Z")})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// daily returns a job that has run once.
func daily(t testing.TB, k job.Key) job.Job {
	t.Helper()
	return job.Job{
		Key: k, Created: at("2025-12-31T00:00:00Z"),
		Definition: definition(t, `{"startTime":"2026-01-01","action":{"type":"http","request":{
			"uri":"http://example.com/?a=1&b=<2>","method":"POST","headers":{"x-tag":"a&b"},"body":"<x>&</x>",
			"authentication":{"type":"basic","username":"u","password":"hush"}}},
			"recurrence":{"frequency":"Day"}}`),
		Status: job.Status{
			LastExecutionTime: job.NewTime(at("2026-01-01T00:00:00.25Z")), NextExecutionTime: job.NewTime(at("2026-01-02T00:00:00Z")),
			ExecutionCount: 1,
		},
	}
}

const dailyProperties = `{"startTime":"2026-01-01T00:00:00Z","action":{"request":{"uri":"http://example.com/?a=1&b=<2>","method":"POST",` +
	`"headers":{"x-tag":"a&b"},"body":"<x>&</x>","authentication":{"username":"u","type":"Basic"}},"type":"http"},` +
	`"recurrence":{"frequency":"day","interval":1},"state":"enabled",` +
	`"status":{"lastExecutionTime":"2026-01-01T00:00:00.25Z","nextExecutionTime":"2026-01-02T00:00:00Z","executionCount":1,"failureCount":0,"faultedCount":0}}`
