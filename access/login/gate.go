package login

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"almanac/access"
	"almanac/internal/ratelimit"
	"almanac/internal/redact"
)

// A Gate lets owners of everything pass, and nobody else. It is for servers that can do everything and ask for no
// login, such as Temporal's Web UI.
type Gate struct {
	Authenticators []access.Authenticator // the first that answers wins
	Policy         func() *access.Policy  // nil means that only what principals bring along counts
	Pages          *Handler               // nil if there are none
	Callers        *ratelimit.Limiter     // of the requests of an address that are refused; nil means no limits
	Log            *slog.Logger

	// Refused is called for each request that is refused, with the caller, if that is known. Nil means that nothing is.
	Refused func(r *http.Request, principal string, status int, code string)
}

// Before returns a handler that passes the requests of owners to next.
func (g *Gate) Before(next http.Handler) http.Handler {
	cross, failures := http.NewCrossOriginProtection(), ratelimit.NewLogins()
	inner := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := cross.Check(r); err != nil {
			if g.slowDown(w, r, false, failures) {
				return
			}
			g.note(r, "", http.StatusForbidden, "CrossOriginRequestForbidden")
			http.Error(w, "Web pages of other sites may not send requests that change something.", http.StatusForbidden)
			return
		}
		who, err := g.caller(r)
		switch {
		case err != nil || who == nil:
			g.refuse(w, r, err, failures)
		case !g.owns(who):
			if g.slowDown(w, r, false, failures) {
				return
			}
			g.Log.InfoContext(r.Context(), "a caller is no owner of everything", slog.String("principal", who.ID()),
				slog.String("path", redact.Cut(r.URL.Path, maxLoggedPath)))
			g.note(r, who.ID(), http.StatusForbidden, "AuthorizationFailed")
			http.Error(w, "Who may see this has to be an owner in the scope /, since everything can be changed here. "+
				"You are "+who.ID()+".", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
	if g.Pages == nil {
		return inner
	}
	return g.Pages.Before(inner, func(h http.Handler) http.Handler { return h })
}

func (g *Gate) caller(r *http.Request) (*access.Principal, error) {
	for _, a := range g.Authenticators {
		if who, err := a.Authenticate(r); who != nil || err != nil {
			return who, err
		}
	}
	return nil, nil
}

func (g *Gate) owns(who *access.Principal) bool {
	var policy *access.Policy
	if g.Policy != nil {
		policy = g.Policy()
	}
	return policy.For(who).Allows(access.WriteAssignments, access.Everything)
}

func (g *Gate) note(r *http.Request, principal string, status int, code string) {
	if g.Refused != nil {
		g.Refused(r, principal, status, code)
	}
}

// refuse sends a browser to the login page, and answers 401 to others, or 503 if the caller could not be authenticated
// now. Only a credential that was sent in a header counts as a failed login: nobody guesses a session, and the pages of
// a browser whose session has ended go on asking.
func (g *Gate) refuse(w http.ResponseWriter, r *http.Request, err error, failures *ratelimit.Logins) {
	bad, ok := errors.AsType[*access.CredentialError](err)
	if g.slowDown(w, r, ok && r.Header.Get("Authorization") != "", failures) {
		return
	}
	switch {
	case err != nil && !ok:
		g.Log.WarnContext(r.Context(), "a credential could not be checked", slog.Any("error", err))
		http.Error(w, "The credential could not be checked now.", http.StatusServiceUnavailable)
	case g.Pages != nil && r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html") && r.Header.Get("Authorization") == "":
		redirect(w, loginPath+"?return="+url.QueryEscape(localPath(r.URL.RequestURI())))
	default:
		problem := "Log in first."
		if bad != nil {
			problem = bad.Problem
		}
		g.note(r, "", http.StatusUnauthorized, "AuthenticationFailed")
		w.Header().Set("WWW-Authenticate", `Bearer realm="almanac"`)
		http.Error(w, problem, http.StatusUnauthorized)
	}
}

// slowDown answers 429 if the address of a request that is refused sends too many, or has failed to log in too often,
// and reports whether it did. A credential that failed is counted.
func (g *Gate) slowDown(w http.ResponseWriter, r *http.Request, failed bool, failures *ratelimit.Logins) bool {
	address := ratelimit.ByAddress(r)
	done, err := g.Callers.Admit(r.Context(), address)
	refusal, _ := errors.AsType[*ratelimit.Refusal](err)
	if err == nil {
		done()
	}
	if failed && refusal == nil {
		refusal = failures.Check(address)
		failures.Failed(address)
	}
	if refusal == nil {
		return false
	}
	w.Header().Set("Retry-After", strconv.Itoa(refusal.Seconds()))
	http.Error(w, "This address "+refusal.Reason+".", http.StatusTooManyRequests)
	return true
}

// maxLoggedPath is how much of a path is logged, in bytes.
const maxLoggedPath = 512
