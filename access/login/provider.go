package login

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"almanac/access"
	"almanac/access/issuer"
)

// discoveryAge is how long it is remembered where an issuer has its pages.
const discoveryAge = 15 * time.Minute

// A Provider is an OpenID Connect issuer at which browsers log in, by an authorization code with PKCE. It is safe for
// concurrent use.
type Provider struct {
	Issuer       string
	ClientID     string
	ClientSecret string   // "" for a client that is public
	Scopes       []string // besides openid
	Client       *http.Client
	Tokens       *issuer.Authenticator // which verifies ID tokens

	mu    sync.Mutex
	known *discovered
	asked time.Time
}

// A discovered is what an issuer says about itself.
type discovered struct {
	endpoint  oauth2.Endpoint
	namesSelf bool // it says in each answer which issuer it is
}

// discover returns what the issuer says about itself. It is asked when somebody logs in, so that Almanac starts without
// it.
func (p *Provider) discover(ctx context.Context) (*discovered, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known != nil && time.Since(p.asked) < discoveryAge {
		return p.known, nil
	}
	found, err := p.ask(ctx)
	switch {
	case err == nil:
		p.known, p.asked = found, time.Now()
	case p.known == nil:
		return nil, fmt.Errorf("ask the issuer %s where to log in: %w", p.Issuer, err)
	}
	return p.known, nil
}

func (p *Provider) ask(ctx context.Context) (*discovered, error) {
	provider, err := issuer.Discover(ctx, p.Client, p.Issuer)
	if err != nil {
		return nil, err
	}
	var said struct {
		Named bool `json:"authorization_response_iss_parameter_supported"` // RFC 9207
	}
	if err := provider.Claims(&said); err != nil {
		return nil, err
	}
	found := &discovered{endpoint: provider.Endpoint(), namesSelf: said.Named}
	if p.ClientSecret == "" {
		found.endpoint.AuthStyle = oauth2.AuthStyleInParams // a public client names itself, and proves nothing
	}
	return found, errors.Join(issuer.CheckURL(found.endpoint.AuthURL), issuer.CheckURL(found.endpoint.TokenURL))
}

func (p *Provider) config(d *discovered, redirect string) *oauth2.Config {
	scopes := append([]string{oidc.ScopeOpenID}, slices.DeleteFunc(slices.Clone(p.Scopes), func(s string) bool { return s == oidc.ScopeOpenID })...)
	return &oauth2.Config{ClientID: p.ClientID, ClientSecret: p.ClientSecret, Endpoint: d.endpoint, RedirectURL: redirect, Scopes: scopes}
}

// url returns where a browser begins to log in.
func (p *Provider) url(ctx context.Context, a *attempt) (string, error) {
	found, err := p.discover(ctx)
	if err != nil {
		return "", err
	}
	return p.config(found, a.Redirect).AuthCodeURL(a.State, oauth2.S256ChallengeOption(a.Verifier), oidc.Nonce(a.Nonce)), nil
}

// identity returns the user who logged in, by the code in an issuer's answer.
func (p *Provider) identity(ctx context.Context, a *attempt, code string) (*issuer.Identity, error) {
	found, err := p.discover(ctx)
	if err != nil {
		return nil, err
	}
	token, err := p.config(found, a.Redirect).Exchange(oidc.ClientContext(ctx, issuer.Bounded(p.Client)), code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return nil, exchangeError(err)
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return nil, errors.New("the issuer's answer has no ID token")
	}
	return p.Tokens.Identity(ctx, p.Issuer, p.ClientID, a.Nonce, raw)
}

// exchangeError returns the error of a code that could not be exchanged. The issuer's whole answer is in none: it may
// repeat what was sent.
func exchangeError(err error) error {
	answered, ok := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case !ok:
		return fmt.Errorf("exchange the code: %w", err)
	case answered.ErrorCode == "invalid_grant":
		return &access.CredentialError{Problem: "The issuer does not accept the code of this login. Begin again."}
	}
	return fmt.Errorf("exchange the code: the issuer answered %d %s", answered.Response.StatusCode, cut(answered.ErrorCode))
}
