package api

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/gin-gonic/gin"

	"almanac/job"
)

// A Scheduler stores and runs jobs. Its errors carry a [job.Kind]; others count as [job.KindInternal]. It
// returns jobs without secrets.
type Scheduler interface {
	// PutCollection and PutJob create or replace; created reports which.
	PutCollection(ctx context.Context, k job.CollectionKey, body []byte) (c job.Collection, created bool, err error)
	PatchCollection(ctx context.Context, k job.CollectionKey, patch []byte) (job.Collection, error)
	Collection(ctx context.Context, k job.CollectionKey) (job.Collection, error)

	// DeleteCollection, EnableCollection and DisableCollection return nil if the change is complete, and
	// otherwise the operation that continues it.
	DeleteCollection(ctx context.Context, k job.CollectionKey) (*job.Operation, error)
	EnableCollection(ctx context.Context, k job.CollectionKey) (*job.Operation, error)
	DisableCollection(ctx context.Context, k job.CollectionKey) (*job.Operation, error)
	// Operation fails with [job.KindNotFound] if there is no operation with that ID.
	Operation(ctx context.Context, k job.CollectionKey, id string) (job.Operation, error)

	// Collections, Jobs and History return a page and its continuation, the [job.Page.After] of the next
	// page; it is empty on the last page. Collections are sorted by name. An empty resource group means the
	// whole subscription.
	Collections(ctx context.Context, subscription, resourceGroup string, p job.Page) (found []job.Collection, next string, err error)
	Jobs(ctx context.Context, k job.CollectionKey, p job.Page) (jobs []job.Job, next string, err error)
	History(ctx context.Context, k job.Key, p job.Page) (records []job.Record, next string, err error)

	PutJob(ctx context.Context, k job.Key, body []byte) (j job.Job, created bool, err error)
	// PostJob creates a job with a generated name.
	PostJob(ctx context.Context, k job.CollectionKey, body []byte) (job.Job, error)
	PatchJob(ctx context.Context, k job.Key, patch []byte) (job.Job, error)
	Job(ctx context.Context, k job.Key) (job.Job, error)
	DeleteJob(ctx context.Context, k job.Key) error
	RunJob(ctx context.Context, k job.Key) error

	// Ready returns nil, or an error that says what is missing. Its text is shown to every caller.
	Ready(ctx context.Context) error
}

// Options configure the handler. The zero value is ready to use.
type Options struct {
	Log *slog.Logger // nil means no log

	// DefaultSubscription and DefaultResourceGroup apply to the short paths. They default to the nil GUID
	// and "default".
	DefaultSubscription  string
	DefaultResourceGroup string

	// Version is Almanac's version, shown at /.
	Version string

	// Timeout is the time limit of a request. It defaults to 30 s.
	Timeout time.Duration

	// MaxBodyBytes is the size limit for reading a body. It defaults to 64 KiB. The size limit of a job is
	// in [job.Limits].
	MaxBodyBytes int64

	// PublicURL is the start of links, for callers that reach this API through a proxy. Nil means the
	// scheme and host of each request. X-Forwarded headers are ignored.
	PublicURL *url.URL

	// Guard wraps next in a handler that answers requests it refuses and passes on all others. Its answers
	// are logged like all answers. Nil means that no request is refused.
	Guard func(next http.Handler) http.Handler
}

const (
	defaultSubscription  = "00000000-0000-0000-0000-000000000000"
	defaultResourceGroup = "default"
	defaultTimeout       = 30 * time.Second
	defaultMaxBodyBytes  = 64 << 10
)

type server struct {
	scheduler     Scheduler
	log           *slog.Logger
	subscription  string // default of the short paths
	resourceGroup string
	version       string
	timeout       time.Duration
	publicURL     *url.URL
	crossOrigin   *http.CrossOriginProtection
	guard         func(http.Handler) http.Handler // nil: no guard
}

// New returns a handler that serves the API of s.
func New(s Scheduler, o Options) http.Handler {
	srv := &server{
		scheduler:     s,
		log:           o.Log,
		subscription:  cmp.Or(o.DefaultSubscription, defaultSubscription),
		resourceGroup: cmp.Or(o.DefaultResourceGroup, defaultResourceGroup),
		version:       o.Version,
		timeout:       cmp.Or(o.Timeout, defaultTimeout),
		publicURL:     o.PublicURL,
		crossOrigin:   http.NewCrossOriginProtection(),
		guard:         o.Guard,
	}
	if srv.log == nil {
		srv.log = slog.New(slog.DiscardHandler)
	}
	return http.MaxBytesHandler(canonicalPath(srv.engine()), cmp.Or(o.MaxBodyBytes, defaultMaxBodyBytes))
}

// engine returns the router with all routes.
func (s *server) engine() *gin.Engine {
	if gin.Mode() == gin.DebugMode { // debug mode, which is global, prints every route in its own format
		gin.SetMode(gin.ReleaseMode)
	}
	r := gin.New()
	r.HandleMethodNotAllowed = true
	r.RedirectTrailingSlash = false
	r.ForwardedByClientIP = false
	r.UseEscapedPath = true      // names may hold an escaped slash,
	r.UnescapePathValues = false // and a plus, which gin would decode as a blank: see param
	r.Use(s.identify, s.logAccess, s.recoverPanic, s.admit, s.refuseCrossOrigin, s.limitTime)
	s.routes(r)
	return r
}
