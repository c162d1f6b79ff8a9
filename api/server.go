package api

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/gin-gonic/gin"
	"golang.org/x/time/rate"

	"almanac/api/answer"
	"almanac/api/guard"
	"almanac/api/paths"
	"almanac/internal/audit"
	"almanac/internal/audit/refusals"
	"almanac/internal/build"
	"almanac/internal/callers"
	"almanac/job"
	"almanac/job/input"
	"almanac/job/listing"
	"almanac/job/notification"
)

// A Scheduler stores and runs jobs. Its errors carry a [job.Kind]; others count as [job.KindInternal]. It
// returns jobs without secrets.
type Scheduler interface {
	// PutCollection creates or replaces the collection c.Key; created reports which. Unless check is nil, it is called with the collection
	// that is then replaced, nil for none; an error of it is returned. It is so for the other methods that have a check.
	PutCollection(ctx context.Context, c job.Collection, check func(current *job.Collection) error) (stored job.Collection, created bool, err error)
	// PatchCollection replaces a collection with the one that edit returns, and PatchJob a job's definition.
	// They call edit again if the resource was changed meanwhile. An error of edit is returned.
	PatchCollection(ctx context.Context, k job.CollectionKey, edit func(current job.Collection) (job.Collection, error)) (job.Collection, error)
	Collection(ctx context.Context, k job.CollectionKey) (job.Collection, error)

	// DeleteCollection, EnableCollection and DisableCollection return nil if the change is complete, and
	// otherwise the operation that continues it.
	DeleteCollection(ctx context.Context, k job.CollectionKey, check func(current *job.Collection) error) (*job.Operation, error)
	EnableCollection(ctx context.Context, k job.CollectionKey) (*job.Operation, error)
	DisableCollection(ctx context.Context, k job.CollectionKey) (*job.Operation, error)
	// Operation fails with [job.KindNotFound] if there is no operation with that ID.
	Operation(ctx context.Context, k job.CollectionKey, id string) (job.Operation, error)

	// Collections, Jobs and History return a page and its continuation, the [listing.Page.After] of the next
	// page; it is empty on the last page. Collections are sorted by name. An empty resource group means the
	// whole subscription.
	Collections(ctx context.Context, subscription, resourceGroup string, p listing.Page) (found []job.Collection, next string, err error)
	Jobs(ctx context.Context, k job.CollectionKey, p listing.Page) (jobs []job.Job, next string, err error)
	History(ctx context.Context, k job.Key, p listing.Page) (records []job.Record, next string, err error)

	// JobChanges and CollectionChanges return a page of the changes of a job or a collection, newest first, and its
	// continuation. They work for one that was deleted, too, for a while.
	JobChanges(ctx context.Context, k job.Key, p listing.Page) (changes []audit.Change, next string, err error)
	CollectionChanges(ctx context.Context, k job.CollectionKey, p listing.Page) (changes []audit.Change, next string, err error)

	// HistoryAcross and Upcoming return a page of the histories of all jobs of a scope, newest first, and of their
	// occurrences after now up to until, by due time. They ignore Skip. What could not be read comes first.
	HistoryAcross(ctx context.Context, s listing.Scope, p listing.Page) (records []listing.JobRecord, next string, err error)
	Upcoming(ctx context.Context, s listing.Scope, until time.Time, p listing.Page) (due []listing.Occurrence, next string, err error)

	// PutJob creates a job, or edits it as PatchJob does; created reports which. current is nil for a new
	// job.
	PutJob(ctx context.Context, k job.Key, edit func(current *job.Job) (job.Definition, error)) (j job.Job, created bool, err error)
	PatchJob(ctx context.Context, k job.Key, edit func(current *job.Job) (job.Definition, error)) (job.Job, error)
	Job(ctx context.Context, k job.Key) (job.Job, error)
	DeleteJob(ctx context.Context, k job.Key, check func(current *job.Job) error) error
	// RunJob returns the name of the execution that it starts; Execution an execution by its name, and [job.KindNotFound] for one that
	// the job has never had.
	RunJob(ctx context.Context, k job.Key) (execution string, err error)
	Execution(ctx context.Context, k job.Key, name string) (job.Progress, error)
	SkipOccurrence(ctx context.Context, k job.Key, due time.Time) (job.Job, error)
	EnableJob(ctx context.Context, k job.Key) (job.Job, error)
	DisableJob(ctx context.Context, k job.Key) (job.Job, error)
	// RerunJob runs a job whose last execution failed again, and RerunJobs those of a page of a collection, as for Jobs.
	// request names the request, for one that is repeated; it may be empty.
	RerunJob(ctx context.Context, k job.Key, request string) job.Rerun
	RerunJobs(ctx context.Context, k job.CollectionKey, p listing.Page, request string) (results []job.Rerun, next string, err error)

	// TestNotifications sends a test to the targets of a job's notifications, or of a collection's if the key has no name.
	// Deliveries returns the newest deliveries of a collection, newest first.
	TestNotifications(ctx context.Context, k job.Key) ([]notification.Delivery, error)
	Deliveries(ctx context.Context, k job.CollectionKey) ([]notification.Delivery, error)

	// Ready returns nil, or an error that says what is missing. Its text is shown to every caller.
	Ready(ctx context.Context) error
}

// DefaultTimeout is the default time limit of a request. It is shorter than the minute after which common proxies give up.
const DefaultTimeout = 55 * time.Second

// Options configure the handler. The zero value is ready to use.
type Options struct {
	Log *slog.Logger // nil means no log

	// DefaultSubscription and DefaultResourceGroup apply to the short paths. They default to the nil GUID
	// and "default".
	DefaultSubscription  string
	DefaultResourceGroup string

	// Build is shown at / and at /healthz.
	Build build.Info

	// Timeout is the time limit of a request. It defaults to [DefaultTimeout].
	Timeout time.Duration

	// Limits are those of jobs and collections, and must be those of the Scheduler. Nil means
	// [input.DefaultLimits].
	Limits *input.Limits

	// CheckTarget returns an error if an action would fail on every attempt; a job with such an action is
	// refused. Nil means that no action is refused.
	CheckTarget func(*job.Action) error

	// WarnOfTarget returns what may keep an action from being sent, and cannot be checked here; "" for nothing. Answers to changes have it in a
	// header. Nil means that there is nothing.
	WarnOfTarget func(*job.Action) string

	// Now returns the time of a request. Nil means [time.Now].
	Now func() time.Time

	// MaxBodyBytes is the size limit for reading a body. It defaults to 64 KiB. The size limit of a job is
	// in Limits of package job/input.
	MaxBodyBytes int64

	// PublicURL is the start of links, for callers that reach this API through a proxy. Nil means the
	// scheme and host of each request. X-Forwarded headers are ignored.
	PublicURL *url.URL

	// Access says who may call. Nil means that everyone may do everything.
	Access *guard.Access

	// Problems returns what is wrong although jobs can be stored and run, for /readyz, which everyone may read. Nil means
	// that nothing ever is.
	Problems func() []string

	// Observe is called when a request begins, with the template of its route below the provider, "" if no route has its
	// path. It returns what to call with the status when it is answered. Nil means that requests are not measured.
	Observe func(r *http.Request, route string) (end func(status int))

	// Trace is called likewise when a request is admitted, and returns its context, too. known is whether it is known who called, or
	// nothing asks. Nil means that there are no traces.
	Trace func(r *http.Request, route string, known bool) (ctx context.Context, end func(status int))

	// Metrics answers /metrics. Nil means that there are none.
	Metrics http.Handler

	// CheckHost wraps next in a handler that answers requests it refuses and passes on all others. Its answers
	// are logged like all answers. Nil means that no request is refused.
	CheckHost func(next http.Handler) http.Handler

	// Callers limits the requests of each caller. Nil means no limits.
	Callers *callers.Limiter

	// Refusals is the log of refused calls. Nil means none.
	Refusals *refusals.Log

	// Caller names the caller of a request for Callers. Nil means the principal or, if it is not known who called, the
	// address, as [callers.ByAddress] has it.
	Caller func(r *http.Request) string
}

type server struct {
	Options   // with its defaults
	scheduler Scheduler
	errors    answer.Errors
	paths     paths.Defaults
	tooMany   *rate.Limiter // of answers of 429 that are logged at level info
}

// New returns a handler that serves the API of s. The RemoteAddr of a request is taken for its caller's address, and headers
// about it are ignored; see Resolve of [almanac/internal/web.Proxies].
func New(s Scheduler, o Options) http.Handler {
	o.DefaultSubscription = cmp.Or(o.DefaultSubscription, job.NilSubscription)
	o.DefaultResourceGroup = cmp.Or(o.DefaultResourceGroup, "default")
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.MaxBodyBytes = cmp.Or(o.MaxBodyBytes, 64<<10)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	srv := &server{
		Options: o, scheduler: s, errors: answer.Errors{Log: o.Log, Timeout: o.Timeout},
		paths:   paths.Defaults{Subscription: o.DefaultSubscription, ResourceGroup: o.DefaultResourceGroup},
		tooMany: rate.NewLimiter(1, 10),
	}
	return http.MaxBytesHandler(paths.Canonical(srv.engine()), o.MaxBodyBytes)
}

// engine returns the router with all routes.
func (s *server) engine() *gin.Engine {
	if gin.Mode() == gin.DebugMode { // debug mode, which is global, prints every route in its own format
		gin.SetMode(gin.ReleaseMode)
	}
	r := gin.New()
	r.HandleMethodNotAllowed = true
	r.RedirectTrailingSlash = false
	r.ForwardedByClientIP = false // RemoteAddr is the caller's: see New
	_ = r.SetTrustedProxies(nil)  // no address is wrong
	r.UseEscapedPath = true       // names may hold an escaped slash,
	r.UnescapePathValues = false  // and a plus, which gin would decode as a blank: see paths.Name
	g := guard.New(guard.Options{
		Access: s.Access, Permissions: permissions, CheckHost: s.CheckHost, Callers: s.Callers, Caller: s.Caller, Refusals: s.Refusals,
		Errors: s.errors, Paths: s.paths,
	})
	r.Use(answer.Identify, s.observe, s.logAccess, g.Audit, s.errors.Recover, g.Admit, g.RefuseCrossOrigin, g.Authenticate, g.LimitCaller, s.trace, s.sign, s.limitTime, g.Authorize)
	s.routes(r)
	return r
}
