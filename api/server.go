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

// A Scheduler keeps collections and jobs. Its errors carry a [job.Kind]; what
// does not counts as [job.KindInternal]. Jobs are returned without secrets.
type Scheduler interface {
	// PutCollection and PutJob create or replace, and report which it was.
	PutCollection(ctx context.Context, k job.CollectionKey, body []byte) (c job.Collection, created bool, err error)
	PatchCollection(ctx context.Context, k job.CollectionKey, patch []byte) (job.Collection, error)
	Collection(ctx context.Context, k job.CollectionKey) (job.Collection, error)

	// DeleteCollection, EnableCollection and DisableCollection return nil when
	// all is done, or the operation that goes on.
	DeleteCollection(ctx context.Context, k job.CollectionKey) (*job.Operation, error)
	EnableCollection(ctx context.Context, k job.CollectionKey) (*job.Operation, error)
	DisableCollection(ctx context.Context, k job.CollectionKey) (*job.Operation, error)
	// Operation fails with [job.KindNotFound] if there is none of that id.
	Operation(ctx context.Context, k job.CollectionKey, id string) (job.Operation, error)

	// Collections, Jobs and History return a page, and what [job.Page.After]
	// continues it with: empty where nothing follows. Collections are sorted by
	// name; they are those of the whole subscription where the resource group is
	// empty.
	Collections(ctx context.Context, subscription, resourceGroup string, p job.Page) (found []job.Collection, next string, err error)
	Jobs(ctx context.Context, k job.CollectionKey, p job.Page) (jobs []job.Job, next string, err error)
	History(ctx context.Context, k job.Key, p job.Page) (records []job.Record, next string, err error)

	PutJob(ctx context.Context, k job.Key, body []byte) (j job.Job, created bool, err error)
	// PostJob creates a job under a name that it makes.
	PostJob(ctx context.Context, k job.CollectionKey, body []byte) (job.Job, error)
	PatchJob(ctx context.Context, k job.Key, patch []byte) (job.Job, error)
	Job(ctx context.Context, k job.Key) (job.Job, error)
	DeleteJob(ctx context.Context, k job.Key) error
	RunJob(ctx context.Context, k job.Key) error

	// Ready returns nil, or an error that says what is missing. Its text is
	// shown to whoever asks.
	Ready(ctx context.Context) error
}

// Options configure the handler. The zero value is ready to use.
type Options struct {
	Log *slog.Logger // nil means none

	// DefaultSubscription and DefaultResourceGroup are what the short paths
	// stand for. They default to the nil GUID and to "default".
	DefaultSubscription  string
	DefaultResourceGroup string

	// Version is Almanac's own, shown at /.
	Version string

	// Timeout is how long a request may take. It defaults to 30 s.
	Timeout time.Duration

	// MaxBodyBytes is the size above which a body is not even read. It
	// defaults to 64 KiB; what a job may measure is up to [job.Limits].
	MaxBodyBytes int64

	// PublicURL is where callers reach this API when a proxy stands before it;
	// links start with it. Nil means the scheme and host of each request. No
	// X-Forwarded header is trusted.
	PublicURL *url.URL

	// Guard returns a handler that answers the requests that it refuses, and passes all others
	// on. What it answers is logged as every answer is. Nil means that none is refused.
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
	subscription  string // of the short paths
	resourceGroup string
	version       string
	timeout       time.Duration
	publicURL     *url.URL
	crossOrigin   *http.CrossOriginProtection
	guard         func(http.Handler) http.Handler // nil: none
}

// New returns the API of s.
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

// engine returns the router with all its routes.
func (s *server) engine() *gin.Engine {
	if gin.Mode() == gin.DebugMode { // which prints every route, in a format of its own; the mode is the process's
		gin.SetMode(gin.ReleaseMode)
	}
	r := gin.New()
	r.HandleMethodNotAllowed = true
	r.RedirectTrailingSlash = false
	r.ForwardedByClientIP = false
	r.UseEscapedPath = true      // a name may hold an escaped slash,
	r.UnescapePathValues = false // and a plus, which gin would take for a blank: see param
	r.Use(s.identify, s.logAccess, s.recoverPanic, s.admit, s.refuseCrossOrigin, s.limitTime)
	s.routes(r)
	return r
}
