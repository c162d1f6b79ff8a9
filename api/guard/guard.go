// Package guard refuses requests before anything is done for them: those of callers who are not known, may not make
// them or send too many, and those that are not meant for this server.
package guard

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"almanac/access"
	"almanac/api/answer"
	"almanac/api/route"
	"almanac/internal/audit/refusals"
	"almanac/internal/ratelimit"
	"almanac/job"
)

// A Guard has a handler for each reason to refuse a request. Use [New].
type Guard struct {
	Options
	crossOrigin *http.CrossOriginProtection
	logins      *ratelimit.Logins // by address
}

// Options are what a Guard goes by. Errors and Paths are required.
type Options struct {
	// Access says who may call. Nil means that everyone may do everything.
	Access *Access

	// Permissions are what the routes need.
	Permissions route.Permissions

	// CheckHost wraps next in a handler that answers requests it refuses and passes on all others. Nil means that no
	// request is refused.
	CheckHost func(next http.Handler) http.Handler

	// Callers limits the requests of each caller. Nil means no limits.
	Callers *ratelimit.Limiter

	// Caller names the caller of a request for Callers. Nil means the principal or, if it is not known who called, the
	// address, as [ratelimit.ByAddress] has it.
	Caller func(r *http.Request) string

	// Refusals is the log of refused calls. Nil means none.
	Refusals *refusals.Log

	Errors answer.Errors
	Paths  route.Defaults
}

// New returns a guard.
func New(o Options) *Guard {
	if o.Caller == nil {
		o.Caller = callerOf
	}
	return &Guard{Options: o, crossOrigin: http.NewCrossOriginProtection(), logins: ratelimit.NewLogins()}
}

// callerOf names the caller of a request: its principal or, if it is not known who called, its address.
func callerOf(r *http.Request) string {
	if who := access.PrincipalOf(r.Context()); who != nil {
		return who.ID()
	}
	return ratelimit.ByAddress(r)
}

// Admit ends requests that CheckHost answers itself. One whose address sends too many gets 429 instead, which is not
// in the audit log.
func (g *Guard) Admit(c *gin.Context) {
	if g.CheckHost == nil || g.admits(c.Request) {
		return
	}
	if refusal := g.limitStranger(c.Request, false); refusal != nil {
		g.refuseCaller(c, refusal)
		return
	}
	g.CheckHost(http.NotFoundHandler()).ServeHTTP(c.Writer, c.Request)
	c.Abort()
}

// admits reports whether CheckHost passes a request on.
func (g *Guard) admits(r *http.Request) (admitted bool) {
	g.CheckHost(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { admitted = true })).ServeHTTP(unsent{}, r)
	return admitted
}

// An unsent answer is not written.
type unsent struct{}

func (unsent) Header() http.Header         { return http.Header{} }
func (unsent) Write(p []byte) (int, error) { return len(p), nil }
func (unsent) WriteHeader(int)             {}

// RefuseCrossOrigin answers 403 to requests that a browser sends for a page of another site: where the API asks for
// no login, any page that its user visits could otherwise call it. Other clients are not affected. An address that
// sends too many gets 429, as for [Guard.Admit].
func (g *Guard) RefuseCrossOrigin(c *gin.Context) {
	if err := g.crossOrigin.Check(c.Request); err != nil {
		if refusal := g.limitStranger(c.Request, false); refusal != nil {
			g.refuseCaller(c, refusal)
			return
		}
		g.Errors.Fail(c, &job.Error{
			Kind: job.KindForbidden, Code: "CrossOriginRequestForbidden",
			Message: "Web pages of other sites may not send requests that change something.", Err: err,
		})
	}
}
