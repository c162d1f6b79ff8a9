package guard

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"almanac/access"
	"almanac/api/answer"
	"almanac/api/route"
	"almanac/internal/ratelimit"
	"almanac/job"
	"almanac/job/listing"
)

// Access says who may call the API, and what for.
type Access struct {
	// Authenticators tell who sent a request. The first that answers wins.
	Authenticators []access.Authenticator

	// Policy returns the assignments in force. Nil means that only what principals bring along counts.
	Policy func() *access.Policy
}

// Authenticate answers 401 to requests of whom it is not known who sent them, and notes the caller in the context of
// the others. Requests to public routes have no caller.
func (g *Guard) Authenticate(c *gin.Context) {
	if g.Access == nil {
		return
	}
	if needs, known := g.Permissions.Of(c.Request.Method, c.FullPath()); known && needs.Public {
		return
	}
	who, err := g.caller(c.Request)
	if err != nil {
		g.refuseCredential(c, err)
		return
	}
	c.Request = c.Request.WithContext(access.WithPrincipal(c.Request.Context(), who))
}

// Authorize answers requests that the caller may not make: 404 for what the caller may not see, and else 403.
func (g *Guard) Authorize(c *gin.Context) {
	who := access.PrincipalOf(c.Request.Context())
	path := c.FullPath() // "" for a path or a method that does not exist, about which every caller may learn
	if g.Access == nil || who == nil || path == "" {
		return
	}
	needs, known := g.Permissions.Of(c.Request.Method, path)
	view := g.policy().For(who)
	scope := g.scope(c)
	role := view.Role(scope)
	switch {
	case known && role.Allows(needs.Action):
		return
	case known && needs.Below && (view.Reaches(scope) || !route.Has(c, "jc") && needs.Action != access.Preview):
		c.Set(viewKey, view)
		return
	case !known:
		needs.Action = access.Action(c.Request.Method + " " + path)
	}
	noteRefusal(c, who.ID(), string(needs.Action))
	if known && role == 0 && route.Has(c, "jc") {
		g.Errors.Fail(c, g.hidden(c))
	} else {
		g.Errors.Fail(c, forbidden(who, needs.Action, scope, role))
	}
}

// caller returns who sent a request, by the first authenticator that answers. If none does, it returns
// a [access.CredentialError], which is errNoCredential if there is nothing to answer.
func (g *Guard) caller(r *http.Request) (*access.Principal, error) {
	for _, a := range g.Access.Authenticators {
		if who, err := a.Authenticate(r); who != nil || err != nil {
			return who, err
		}
	}
	if r.Header.Get("Authorization") != "" {
		return nil, &access.CredentialError{
			Problem: "The header Authorization has no credential of a kind that is accepted here.",
		}
	}
	return nil, errNoCredential
}

var errNoCredential = &access.CredentialError{
	Problem: "The request has no credential. Send a token in the header Authorization, as Bearer TOKEN.",
}

func (g *Guard) policy() *access.Policy {
	if g.Access.Policy == nil {
		return nil
	}
	return g.Access.Policy()
}

// refuseCredential answers a request whose sender is not known: 401, or 503 if that could not be found out now, or 429
// if its address sends too many.
func (g *Guard) refuseCredential(c *gin.Context, err error) {
	bad, ok := errors.AsType[*access.CredentialError](err)
	if refusal := g.limitStranger(c.Request, ok && c.Request.Header.Get("Authorization") != ""); refusal != nil {
		g.refuseCaller(c, refusal)
		return
	}
	if !ok {
		g.Errors.Log.WarnContext(
			c.Request.Context(), "a credential could not be checked", slog.Any("error", err), answer.LogID(c),
		)
		g.Errors.Fail(c, &job.Error{Kind: job.KindUnavailable, Code: "ServiceUnavailable", Err: err,
			Message: "The credential could not be checked now, since its issuer does not answer."})
		return
	}
	challenge := `Bearer realm="almanac"`
	if bad != errNoCredential {
		g.Errors.Log.InfoContext(
			c.Request.Context(), "a credential was refused", slog.Any("error", bad), slog.Any("cause", bad.Err), answer.LogID(c),
		)
		challenge += `, error="invalid_token", error_description="` + strings.ReplaceAll(bad.Problem, `"`, "'") + `"`
	}
	c.Header("WWW-Authenticate", challenge)
	answer.Error(
		c, http.StatusUnauthorized,
		job.ErrorBody{Code: "AuthenticationFailed", Message: "Authentication failed. " + bad.Problem},
	)
}

// Identify returns who sent a request that a handler beside the API answers in its own way. A request of whom that is
// not known counts as one that Authenticate refuses: the error is a [ratelimit.Refusal] if its address sends too many,
// a [access.CredentialError] if its credential does not count or it has none, and another one if that could not be found
// out now. Access must be set.
func (g *Guard) Identify(r *http.Request) (*access.Principal, error) {
	who, err := g.caller(r)
	if err == nil {
		return who, nil
	}
	bad, ok := errors.AsType[*access.CredentialError](err)
	if refusal := g.limitStranger(r, ok && r.Header.Get("Authorization") != ""); refusal != nil {
		return nil, refusal
	}
	switch {
	case !ok:
		g.Errors.Log.WarnContext(r.Context(), "a credential could not be checked", slog.Any("error", err))
	case bad != errNoCredential:
		g.Errors.Log.InfoContext(r.Context(), "a credential was refused", slog.Any("error", bad), slog.Any("cause", bad.Err))
	}
	return nil, err
}

// limitStranger limits the requests of an address whose sender is not known, and those of them that sent a credential
// in a header, which failed. Nobody guesses a session, and pages of a browser whose session has ended go on asking.
// Credentials that count are not affected: others may share the address.
func (g *Guard) limitStranger(r *http.Request, failed bool) *ratelimit.Refusal {
	address := ratelimit.ByAddress(r)
	done, err := g.Callers.Admit(r.Context(), address)
	if refusal, ok := errors.AsType[*ratelimit.Refusal](err); ok {
		return refusal
	}
	if err == nil {
		done()
	}
	if !failed {
		return nil
	}
	refusal := g.logins.Check(address)
	g.logins.Failed(address)
	return refusal
}

// forbidden returns the error for an action that the caller's role does not allow.
func forbidden(who *access.Principal, a access.Action, scope access.Scope, role access.Role) error {
	has := "It has no role there."
	if role > 0 {
		has = fmt.Sprintf("Its role there is %s.", role)
	}
	return &job.Error{Kind: job.KindForbidden, Code: "AuthorizationFailed", Message: fmt.Sprintf(
		"The client '%.200s' does not have authorization to perform action '%s' over scope '%s'. %s",
		who.Name, a, scope, has)}
}

// hidden returns the error for a collection or a job that the caller may not see. It is the one for a resource that
// does not exist.
func (g *Guard) hidden(c *gin.Context) error {
	k := g.Paths.Collection(c)
	what := "jobcollections/" + k.Name
	if name := route.Name(c, "job"); name != "" {
		what += "/jobs/" + name
	}
	return job.NotFound(what, k.ResourceGroup)
}

// scope returns the scope of the path of a request.
func (g *Guard) scope(c *gin.Context) access.Scope {
	path := c.FullPath()
	if path == route.Metrics || path == route.Subscriptions || strings.HasPrefix(path, route.Provider) {
		return access.Everything
	}
	subscription, group := g.Paths.Group(c)
	return access.NewScope(subscription, group, route.Name(c, "jc"), route.Name(c, "job"))
}

// viewKey is where a request has what a list shows to the caller.
const viewKey = "view"

// View returns what a list shows; nil for all that is in it.
func View(c *gin.Context) listing.View {
	if view, ok := c.Get(viewKey); ok {
		return view.(access.View)
	}
	return nil
}
