package api

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"golang.org/x/time/rate"

	"almanac/api/answer"
	"almanac/api/guard"
	"almanac/api/route"
	"almanac/internal/audit/refusals"
	"almanac/internal/build"
	"almanac/internal/ratelimit"
	"almanac/job"
	"almanac/job/input"
	"almanac/job/kind"
)

// A Scheduler stores and runs jobs. Its errors carry a [job.Kind]; others count as [job.KindInternal]. It
// returns jobs without secrets. Each part is beside the handlers that need it.
type Scheduler interface {
	Groups
	Collections
	Calendars
	Operations
	Jobs
	Pauses
	Backfills
	Runs
	Histories
	Summaries
	Digests
	Forecasts
	Bulk
	Explanations
	Reports
	Trail
	Trials
	Workers
	Notifications
	Readiness
}

// DefaultTimeout is the default time limit of a request. It is shorter than the minute after which common proxies
// give up.
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
	CheckTarget input.CheckTarget

	// WarnOfTarget returns what may keep an action from being sent, and cannot be checked here; "" for nothing.
	// Answers to changes have it in a header. Nil means that there is nothing.
	WarnOfTarget func(kind.Parameters) string

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

	// HideResponses hides what targets answered from callers who may not read it, and from everyone of whom it is not
	// known who calls: the answers may hold more than such a caller may know.
	HideResponses bool

	// Problems returns what is wrong although jobs can be stored and run, for /readyz, which everyone may read. Nil
	// means that nothing ever is.
	Problems func() []string

	// Observe is called when a request begins, with the template of its route below the provider, "" if no route has
	// its path. It returns what to call with the status when it is answered. Nil means that requests are not
	// measured.
	Observe func(r *http.Request, route string) (end func(status int))

	// Trace is called likewise when a request is admitted, and returns its context, too. known is whether it is known
	// who called, or nothing asks. Nil means that there are no traces.
	Trace func(r *http.Request, route string, known bool) (ctx context.Context, end func(status int))

	// Metrics answers /metrics. Nil means that there are none.
	Metrics http.Handler

	// CheckHost wraps next in a handler that answers requests it refuses and passes on all others. Its answers
	// are logged like all answers. Nil means that no request is refused.
	CheckHost func(next http.Handler) http.Handler

	// Callers limits the requests of each caller. Nil means no limits.
	Callers *ratelimit.Limiter

	// Refusals is the log of refused calls. Nil means none.
	Refusals *refusals.Log

	// Caller names the caller of a request for Callers. Nil means the principal or, if it is not known who called, the
	// address, as [ratelimit.ByAddress] has it.
	Caller func(r *http.Request) string
}

type server struct {
	Options   // with its defaults
	scheduler Scheduler
	errors    answer.Errors
	paths     route.Defaults
	known     string        // the paths that there are
	tooMany   *rate.Limiter // of answers of 429 that are logged at level info
}

// New returns a handler that serves the API of s. The RemoteAddr of a request is taken for its caller's address, and
// headers about it are ignored; see Resolve of [almanac/internal/web.Proxies].
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
		paths:   route.Defaults{Subscription: o.DefaultSubscription, ResourceGroup: o.DefaultResourceGroup},
		tooMany: rate.NewLimiter(1, 10),
	}
	table := srv.table()
	return limitBodies(words(table).Canonical(srv.engine(table)), o.MaxBodyBytes)
}

// limitBodies limits what is read of bodies: those of calendars may be longer.
func limitBodies(h http.Handler, most int64) http.Handler {
	usual, long := http.MaxBytesHandler(h, most), http.MaxBytesHandler(h, max(most, job.MaxCalendarBodyBytes))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && strings.Contains(job.NormalizeName(r.URL.Path), calendars+"/") {
			long.ServeHTTP(w, r)
			return
		}
		usual.ServeHTTP(w, r)
	})
}

// engine returns the router with the routes of a table.
func (s *server) engine(table []endpoint) *gin.Engine {
	if gin.Mode() == gin.DebugMode { // debug mode, which is global, prints every route in its own format
		gin.SetMode(gin.ReleaseMode)
	}
	r := gin.New()
	r.HandleMethodNotAllowed = true
	r.RedirectTrailingSlash = false
	r.ForwardedByClientIP = false // RemoteAddr is the caller's: see New
	_ = r.SetTrustedProxies(nil)  // no address is wrong
	r.UseEscapedPath = true       // names may hold an escaped slash,
	r.UnescapePathValues = false  // and a plus, which gin would decode as a blank: see route.Name
	g := guard.New(guard.Options{
		Access: s.Access, Permissions: permissions(table), CheckHost: s.CheckHost, Callers: s.Callers, Caller: s.Caller,
		Refusals: s.Refusals, Errors: s.errors, Paths: s.paths,
	})
	r.Use(
		answer.Identify, s.observe, s.logAccess, g.Audit, s.errors.Recover, g.Admit, g.RefuseCrossOrigin, g.Authenticate,
		g.LimitCaller, s.trace, s.sign, s.limitTime, g.Authorize)
	s.known = knownPaths(table)
	s.serve(r, table)
	return r
}
