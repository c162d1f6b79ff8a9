package wiring

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"almanac/access"
	"almanac/access/issuer"
	"almanac/access/login"
	"almanac/access/session"
	"almanac/access/token"
	"almanac/api"
	"almanac/api/guard"
	"almanac/console"
	"almanac/internal/audit/refusals"
	"almanac/internal/ratelimit"
)

// Authenticate makes the authenticators of tokens, and follows the files about callers until ctx ends. Call it before
// [Process.Handler] and [Process.ProtectUI].
func (p *Process) Authenticate(ctx context.Context) {
	a := &p.Access
	if a.Tokens != nil {
		go a.Tokens.Watch(ctx, p.Log)
		p.authenticators = append(p.authenticators, &token.Authenticator{Tokens: a.Tokens.Value})
	}
	if len(a.Issuers) > 0 {
		p.issuer = issuer.New(issuer.Options{Issuers: a.Issuers, Audiences: a.Audiences, Client: p.issuerClient, Log: p.Log})
		p.authenticators = append(p.authenticators, p.issuer)
	}
	if a.Policy != nil {
		go a.Policy.Watch(ctx, p.Log)
	}
	if a.Revoked != nil {
		go a.Revoked.Watch(ctx, p.Log)
		go a.Signers.Watch(ctx, p.Log)
	}
}

// assignments returns the assignments in force; nil if there is no file of them.
func (p *Process) assignments() *access.Policy {
	if p.Access.Policy == nil {
		return nil
	}
	return p.Access.Policy.Value()
}

// withSessions returns all authenticators, in the order in which they are asked. A nil sessions is none.
func (p *Process) withSessions(sessions *session.Authenticator) []access.Authenticator {
	all := slices.Clone(p.authenticators)
	if sessions != nil {
		all = append(all, sessions)
	}
	certificates := access.Certificates{}
	if p.Access.Revoked != nil {
		certificates.Revoked = p.Access.Revoked.Value
	}
	return append(all, certificates)
}

// protectAPI adds to the options of the API who may call it, and returns its login pages; nil if there are none.
func (p *Process) protectAPI(o *api.Options) *login.Handler {
	o.Problems = p.problems
	if !p.Authenticating() {
		return nil
	}
	home := "/docs"
	if p.Console {
		home = console.Path
	}
	pages, sessions := p.pages(p.PublicURL, home, o.Callers)
	o.Access = &guard.Access{Authenticators: p.withSessions(sessions), Policy: p.assignments}
	return pages
}

// problems returns what is wrong although jobs can be stored and run.
func (p *Process) problems() (found []string) {
	a := &p.Access
	var all []func() string
	if a.Tokens != nil {
		all = append(all, a.Tokens.Problem)
	}
	if a.Policy != nil {
		all = append(all, a.Policy.Problem)
	}
	if a.Revoked != nil {
		all = append(all, a.Revoked.Problem, func() string { return a.Revoked.Value().Problem(a.Signers.Value(), time.Now()) })
	}
	for _, problem := range append(all, p.Refusals.Problem) {
		if text := problem(); text != "" {
			found = append(found, text)
		}
	}
	return found
}

// ProtectUI returns middleware that lets only owners reach the Web UI; nil if nothing asks who calls.
func (p *Process) ProtectUI() func(http.Handler) http.Handler {
	if !p.Authenticating() {
		return nil
	}
	limits := ratelimit.NewLimiter(p.PerCaller)
	pages, sessions := p.pages(nil, "/", limits)
	gate := &login.Gate{
		Authenticators: p.withSessions(sessions), Policy: p.assignments, Pages: pages, Callers: limits, Log: p.Log, Refused: p.auditRefused,
	}
	return func(next http.Handler) http.Handler { return p.Proxies.Resolve(gate.Before(next)) }
}

// pages returns the login pages of a server that browsers reach at a URL, and the authenticator of their sessions. Both
// are nil if there is nothing to log in with.
func (p *Process) pages(public *url.URL, home string, limits *ratelimit.Limiter) (*login.Handler, *session.Authenticator) {
	l := &p.Access.Login
	if len(p.authenticators) == 0 {
		return nil, nil
	}
	same, err := session.NewSameOrigin(public)
	if err != nil { // the setting has been checked: it is a URL
		p.Log.Error("there is no login page", "error", err)
		return nil, nil
	}
	sessions := &session.Authenticator{Key: l.Key, Tokens: p.authenticators, Same: same}
	o := login.Options{
		Sessions: sessions, Lifetime: l.Lifetime, PublicURL: public, Home: home, Callers: limits, Log: p.Log, Refused: p.auditRefused,
	}
	if l.ClientID != "" {
		sessions.Issuer = l.Issuer
		o.Provider = &login.Provider{
			Issuer: l.Issuer, ClientID: l.ClientID, ClientSecret: l.ClientSecret, Scopes: l.Scopes, Client: p.issuerClient, Tokens: p.issuer,
		}
	}
	if tool := l.CommandLine; tool.ClientID != "" {
		o.CommandLine = &login.CommandLine{Issuer: l.Issuer, ClientID: tool.ClientID, Scopes: tool.Scopes}
	}
	return login.New(o), sessions
}

// auditRefused writes to the audit log, if there is one, that a login or a request to the Web UI was refused.
func (p *Process) auditRefused(r *http.Request, principal string, status int, code string) {
	if p.Refusals == nil {
		return
	}
	err := p.Refusals.Write(refusals.Refusal{
		Time: time.Now(), Principal: principal, Client: ratelimit.ByAddress(r), Method: r.Method, Path: r.URL.Path, Status: status, Code: code,
	})
	if err != nil {
		p.Log.ErrorContext(r.Context(), "a refused request is missing in the audit log", "error", err)
	}
}
