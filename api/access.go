package api

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"almanac/access"
	"almanac/internal/callers"
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

// A permission is what a request to a route needs.
type permission struct {
	action access.Action // "": nothing, not even a login
	reach  reach
}

// A reach is how far the roles of a caller have to reach for an action in the scope of the path.
type reach int

const (
	whole reach = iota // a role in the scope
	some               // also one somewhere below it: a list shows what is there
)

// public is what the routes need that everyone may call: probes, and what is the same in every installation.
var public = permission{}

// permissions are what the routes need, by method and the path below the provider, for long and short paths alike. HEAD
// needs what GET does. A route that is not here is refused to everyone.
var permissions = map[string]permission{
	"GET /":             public,
	"GET /healthz":      public,
	"GET /readyz":       public,
	"GET /openapi.yaml": public,
	"GET /docs":         public,
	"GET /docs/:file":   public,
	"GET /metrics":      {access.ReadMetrics, whole},

	"POST /previewRecurrence": {access.Preview, some},

	"GET /jobCollections":                                 {access.ReadCollections, some},
	"GET /history":                                        {access.ReadHistory, some},
	"GET /upcoming":                                       {access.ReadJobs, some},
	"GET /jobCollections/:jc":                             {access.ReadCollections, whole},
	"PUT /jobCollections/:jc":                             {access.WriteCollections, whole},
	"PATCH /jobCollections/:jc":                           {access.WriteCollections, whole},
	"DELETE /jobCollections/:jc":                          {access.DeleteCollections, whole},
	"POST /jobCollections/:jc/enable":                     {access.EnableCollections, whole},
	"POST /jobCollections/:jc/disable":                    {access.DisableCollections, whole},
	"POST /jobCollections/:jc/rerun":                      {access.RunJobs, whole},
	"GET /jobCollections/:jc/operations/:id":              {access.ReadCollections, whole},
	"GET /jobCollections/:jc/operationResults/:id":        {access.ReadCollections, whole},
	"GET /jobCollections/:jc/notifications":               {access.ReadCollections, whole},
	"POST /jobCollections/:jc/testNotification":           {access.RunJobs, whole},
	"POST /jobCollections/:jc/jobs/:job/testNotification": {access.RunJobs, whole},
	"GET /jobCollections/:jc/changes":                     {access.ReadChanges, whole},
	"GET /jobCollections/:jc/jobs/:job/changes":           {access.ReadChanges, whole},
	"GET /jobCollections/:jc/history":                     {access.ReadHistory, some},
	"GET /jobCollections/:jc/upcoming":                    {access.ReadJobs, some},
	"GET /jobCollections/:jc/jobs":                        {access.ReadJobs, some},
	"POST /jobCollections/:jc/jobs":                       {access.WriteJobs, whole},
	"GET /jobCollections/:jc/jobs/:job":                   {access.ReadJobs, whole},
	"PUT /jobCollections/:jc/jobs/:job":                   {access.WriteJobs, whole},
	"PATCH /jobCollections/:jc/jobs/:job":                 {access.WriteJobs, whole},
	"DELETE /jobCollections/:jc/jobs/:job":                {access.DeleteJobs, whole},
	"POST /jobCollections/:jc/jobs/:job/run":              {access.RunJobs, whole},
	"POST /jobCollections/:jc/jobs/:job/rerun":            {access.RunJobs, whole},
	"POST /jobCollections/:jc/jobs/:job/skip":             {access.SkipJobs, whole},
	"POST /jobCollections/:jc/jobs/:job/enable":           {access.EnableJobs, whole},
	"POST /jobCollections/:jc/jobs/:job/disable":          {access.DisableJobs, whole},
	"GET /jobCollections/:jc/jobs/:job/history":           {access.ReadHistory, whole},
}

// permissionOf returns what a route needs, and whether that is known.
func permissionOf(method, route string) (permission, bool) {
	if _, short, long := strings.Cut(route, provider); long {
		route = short
	}
	if method == http.MethodHead {
		method = http.MethodGet
	}
	p, known := permissions[method+" "+route]
	return p, known
}

// authenticate answers 401 to requests of whom it is not known who sent them, and notes the caller in the context of
// the others. Requests to public routes have no caller.
func (s *server) authenticate(c *gin.Context) {
	if s.Access == nil {
		return
	}
	if needs, known := permissionOf(c.Request.Method, c.FullPath()); known && needs == public {
		return
	}
	who, err := s.caller(c.Request)
	if err != nil {
		s.refuseCredential(c, err)
		return
	}
	c.Request = c.Request.WithContext(access.WithPrincipal(c.Request.Context(), who))
}

// authorize answers requests that the caller may not make: 404 for what the caller may not see, and else 403.
func (s *server) authorize(c *gin.Context) {
	who := access.PrincipalOf(c.Request.Context())
	route := c.FullPath() // "" for a path or a method that does not exist, about which every caller may learn
	if s.Access == nil || who == nil || route == "" {
		return
	}
	needs, known := permissionOf(c.Request.Method, route)
	view := s.policy().For(who)
	scope := s.accessScope(c)
	role := view.Role(scope)
	switch {
	case known && role.Allows(needs.action):
		return
	case known && needs.reach == some && (view.Reaches(scope) || !hasCollection(c) && needs.action != access.Preview):
		c.Set(viewKey, view)
		return
	case !known:
		needs.action = access.Action(c.Request.Method + " " + route)
	}
	noteRefusal(c, who.ID(), string(needs.action))
	if known && role == 0 && hasCollection(c) {
		s.fail(c, s.hidden(c))
	} else {
		s.fail(c, forbidden(who, needs.action, scope, role))
	}
}

// caller returns who sent a request, by the first authenticator that answers. If none does, it returns
// a [access.CredentialError], which is errNoCredential if there is nothing to answer.
func (s *server) caller(r *http.Request) (*access.Principal, error) {
	for _, a := range s.Access.Authenticators {
		if who, err := a.Authenticate(r); who != nil || err != nil {
			return who, err
		}
	}
	if r.Header.Get("Authorization") != "" {
		return nil, &access.CredentialError{Problem: "The header Authorization has no credential of a kind that is accepted here."}
	}
	return nil, errNoCredential
}

var errNoCredential = &access.CredentialError{Problem: "The request has no credential. Send a token in the header Authorization, as Bearer TOKEN."}

func (s *server) policy() *access.Policy {
	if s.Access.Policy == nil {
		return nil
	}
	return s.Access.Policy()
}

// refuseCredential answers a request whose sender is not known: 401, or 503 if that could not be found out now, or 429
// if its address sends too many.
func (s *server) refuseCredential(c *gin.Context, err error) {
	bad, ok := errors.AsType[*access.CredentialError](err)
	if refusal := s.limitStranger(c, ok && bad != errNoCredential); refusal != nil {
		s.refuseCaller(c, refusal)
		return
	}
	if !ok {
		s.Log.WarnContext(c.Request.Context(), "a credential could not be checked", slog.Any("error", err), requestID(c))
		s.fail(c, &job.Error{Kind: job.KindUnavailable, Code: "ServiceUnavailable", Err: err,
			Message: "The credential could not be checked now, since its issuer does not answer."})
		return
	}
	challenge := `Bearer realm="almanac"`
	if bad != errNoCredential {
		s.Log.InfoContext(c.Request.Context(), "a credential was refused", slog.Any("error", bad), slog.Any("cause", bad.Err), requestID(c))
		challenge += `, error="invalid_token", error_description="` + strings.ReplaceAll(bad.Problem, `"`, "'") + `"`
	}
	c.Abort()
	c.Header("WWW-Authenticate", challenge)
	c.Set(codeKey, "AuthenticationFailed")
	_ = reply(c, http.StatusUnauthorized, errorEnvelope{job.ErrorBody{Code: "AuthenticationFailed", Message: "Authentication failed. " + bad.Problem}})
}

// limitStranger limits the requests of an address whose sender is not known, and those of them with a credential that does
// not count. Credentials that count are not affected: others may share the address.
func (s *server) limitStranger(c *gin.Context, failed bool) *callers.Refusal {
	address := callers.ByAddress(c.Request)
	done, err := s.Callers.Admit(c.Request.Context(), address)
	if refusal, ok := errors.AsType[*callers.Refusal](err); ok {
		return refusal
	}
	if err == nil {
		done()
	}
	if !failed {
		return nil
	}
	refusal := s.logins.Check(address)
	s.logins.Failed(address)
	return refusal
}

// forbidden returns the error for an action that the caller's role does not allow.
func forbidden(who *access.Principal, a access.Action, scope access.Scope, role access.Role) error {
	has := "It has no role there."
	if role > 0 {
		has = fmt.Sprintf("Its role there is %s.", role)
	}
	return &job.Error{Kind: job.KindForbidden, Code: "AuthorizationFailed", Message: fmt.Sprintf(
		"The client '%.200s' does not have authorization to perform action '%s' over scope '%s'. %s", who.Name, a, scope, has)}
}

// hidden returns the error for a collection or a job that the caller may not see. It is the one for a resource that
// does not exist.
func (s *server) hidden(c *gin.Context) error {
	k := s.collectionKey(c)
	what := "jobcollections/" + k.Name
	if name := param(c, "job"); name != "" {
		what += "/jobs/" + name
	}
	return job.NotFound(what, k.ResourceGroup)
}

// accessScope returns the scope of the path of a request.
func (s *server) accessScope(c *gin.Context) access.Scope {
	route := c.FullPath()
	if route == measurements || strings.HasPrefix(route, provider) {
		return access.Everything
	}
	subscription, group := s.scope(c)
	return access.NewScope(subscription, group, param(c, "jc"), param(c, "job"))
}

func hasCollection(c *gin.Context) bool { _, ok := c.Params.Get("jc"); return ok }

// viewKey is where a request has what a list shows to the caller.
const viewKey = "view"

// viewOf returns what a list shows; nil for all that is in it.
func viewOf(c *gin.Context) listing.View {
	if view, ok := c.Get(viewKey); ok {
		return view.(access.View)
	}
	return nil
}
