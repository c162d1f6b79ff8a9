package wiring

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"

	"almanac/access"
	"almanac/access/session"
	"almanac/api"
	"almanac/api/answer"
	"almanac/api/guard"
	"almanac/client"
	"almanac/console"
	"almanac/internal/ratelimit"
)

// console returns the web console of an API that is made with options; nil if there is none.
func (p *Process) console(h http.Handler, o *api.Options, login bool) *console.Console {
	if !p.Console {
		return nil
	}
	c, err := console.New(console.Options{
		API: h, PublicURL: p.PublicURL, Who: p.whoAsks(o), Refused: p.auditRefused, Login: login,
		Version: p.Build.Version, Log: p.Log,
	})
	if err != nil { // its own URL is a constant
		p.Log.Error("there is no console", "error", err)
		return nil
	}
	return c
}

// whoAsks tells the console who sent a request, and what that caller may do, by what the API goes by.
func (p *Process) whoAsks(o *api.Options) func(*http.Request) (console.Caller, error) {
	if o.Access == nil {
		return nil
	}
	g := guard.New(guard.Options{Access: o.Access, Callers: o.Callers, Errors: answer.Errors{Log: p.Log}})
	return func(r *http.Request) (console.Caller, error) {
		who, err := g.Identify(r)
		if err != nil {
			return console.Caller{}, pageError(err)
		}
		c := callerOf(who, o.Access.Policy)
		c.Session = hasSession(o.Access.Authenticators, r)
		return c, nil
	}
}

// pageError returns an error of a guard as a page shows it. That of a credential stays.
func pageError(err error) error {
	if _, ok := errors.AsType[*access.CredentialError](err); ok {
		return err
	}
	if refusal, ok := errors.AsType[*ratelimit.Refusal](err); ok {
		return &client.Error{
			Status: http.StatusTooManyRequests, Code: "TooManyRequests", RetryAfter: refusal.RetryAfter,
			Message: fmt.Sprintf("This address %s. Nothing was done: try again in %d s.", refusal.Reason, refusal.Seconds()),
		}
	}
	return &client.Error{
		Status: http.StatusServiceUnavailable, Code: "ServiceUnavailable",
		Message: "The credential could not be checked now, since its issuer does not answer.",
	}
}

// hasSession reports whether the caller of a request has logged in with a browser.
func hasSession(all []access.Authenticator, r *http.Request) bool {
	for _, one := range all {
		if sessions, ok := one.(*session.Authenticator); ok {
			_, who, err := sessions.Find(r)
			return err == nil && who != nil
		}
	}
	return false
}

func callerOf(who *access.Principal, policy func() *access.Policy) console.Caller {
	var assignments *access.Policy
	if policy != nil {
		assignments = policy()
	}
	view := assignments.For(who)
	return console.Caller{Name: cmp.Or(who.Name, who.ID()), ID: who.ID(), Known: true, May: view.Allows}
}
