package credentials

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"almanac/access/issuer"
	"almanac/cmd/almanac/internal/cli/exit"
)

// A Place is where people log in: an issuer, and the public client by which it knows Almanac's command line.
type Place struct {
	Issuer   string
	ClientID string
	Scopes   []string // besides openid
}

// answerTime is how long an issuer may take for an answer.
const answerTime = 15 * time.Second

// Ask returns where the API at a URL has people log in, as it says itself (RFC 9728). An API that does not say is an
// error.
func Ask(ctx context.Context, transport http.RoundTripper, api string) (Place, error) {
	if err := issuer.CheckURL(api); err != nil {
		return Place{}, fmt.Errorf("the URL of the API: %w; --oidc-issuer and --oidc-client-id of "+
			"\"almanac context add\" say where to log in without asking it", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(api, "/")+"/.well-known/oauth-protected-resource", nil)
	if err != nil {
		return Place{}, err
	}
	resp, err := caller(transport).Do(r)
	if err != nil {
		return Place{}, err
	}
	defer resp.Body.Close()
	var said struct {
		Issuers  []string `json:"authorization_servers"`
		Scopes   []string `json:"scopes_supported"`
		ClientID string   `json:"almanac_cli_client_id"`
	}
	err = json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&said)
	if resp.StatusCode != http.StatusOK || err != nil || len(said.Issuers) == 0 || said.ClientID == "" {
		return Place{}, exit.With(exit.Refused, fmt.Errorf("the API at %s does not say where to log in: it needs "+
			"--oidc-cli-client-id, or the context --oidc-issuer and --oidc-client-id", api))
	}
	return Place{said.Issuers[0], said.ClientID, said.Scopes}, nil
}

// caller returns a client that follows no redirect: what it sends is for one server alone.
func caller(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Transport: transport, Timeout: answerTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// unreached returns the error of an issuer that has not answered as one, which is not that of an API.
func unreached(ctx context.Context, at string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return exit.With(exit.Unreachable, fmt.Errorf("the issuer %s: %v", at, err)) //nolint:errorlint // it is not of the API
}

// A site is what is known of an issuer.
type site struct {
	oauth2.Config
	client     *http.Client
	revocation string // URL at which tokens are revoked (RFC 7009); "" if there is none
}

// discover asks an issuer where its pages are.
func discover(ctx context.Context, transport http.RoundTripper, p Place) (*site, error) {
	if err := issuer.CheckURL(p.Issuer); err != nil {
		return nil, fmt.Errorf("the issuer: %w", err)
	}
	client := caller(transport)
	found, err := issuer.Discover(ctx, client, p.Issuer)
	if err != nil {
		return nil, unreached(ctx, p.Issuer, err)
	}
	var said struct {
		Revocation string `json:"revocation_endpoint"`
	}
	if err := found.Claims(&said); err != nil {
		return nil, err
	}
	s := &site{client: client, revocation: said.Revocation}
	s.ClientID, s.Endpoint, s.Scopes = p.ClientID, found.Endpoint(), []string{"openid"}
	s.Endpoint.AuthStyle = oauth2.AuthStyleInParams // a public client names itself, and proves nothing
	for _, scope := range p.Scopes {
		if scope != "openid" {
			s.Scopes = append(s.Scopes, scope)
		}
	}
	return s, issuer.CheckURL(s.Endpoint.TokenURL)
}

// with returns a context for calls of the site.
func (s *site) with(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, s.client)
}

// A Code is what a person enters at an issuer.
type Code struct {
	Address  string // where
	Code     string
	Complete string    // an address that has the code; "" if there is none
	Expires  time.Time // zero if the issuer does not say
}

// Request logs a person in, for the API at a URL. It calls show once with what the person has to do, and waits until
// that is done, the code expires, or ctx ends.
func Request(ctx context.Context, transport http.RoundTripper, p Place, api string, show func(Code)) (*Login, error) {
	s, err := discover(ctx, transport, p)
	if err != nil {
		return nil, err
	}
	if s.Endpoint.DeviceAuthURL == "" {
		return nil, exit.With(exit.Refused, fmt.Errorf("the issuer %s has no login for command lines "+
			"(device_authorization_endpoint)", p.Issuer))
	}
	if err := issuer.CheckURL(s.Endpoint.DeviceAuthURL); err != nil {
		return nil, err
	}
	code, err := s.DeviceAuth(s.with(ctx))
	if err != nil {
		return nil, refusal(ctx, p.Issuer, err)
	}
	if err := checkCode(code); err != nil {
		return nil, err
	}
	show(Code{code.VerificationURI, code.UserCode, code.VerificationURIComplete, code.Expiry})
	token, err := s.wait(ctx, code)
	if err != nil {
		return nil, refusal(ctx, p.Issuer, err)
	}
	l := &Login{URL: api, Issuer: p.Issuer, ClientID: p.ClientID}
	return l, l.take(token)
}

// checkCode checks that an issuer sends a person to a web page.
func checkCode(code *oauth2.DeviceAuthResponse) error {
	u, err := url.Parse(code.VerificationURI)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || code.UserCode == "" || code.DeviceCode == "" {
		return errors.New("the issuer has answered without the address of a page, or without a code")
	}
	return nil
}

// wait asks for the token until it is there. An issuer that is not reached is asked again, half as often.
func (s *site) wait(ctx context.Context, code *oauth2.DeviceAuthResponse) (*oauth2.Token, error) {
	for {
		token, err := s.DeviceAccessToken(s.with(ctx), code)
		_, unreached := errors.AsType[*url.Error](err)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && !code.Expiry.IsZero() && !time.Now().Before(code.Expiry):
			return nil, errExpired
		case !unreached || code.Expiry.IsZero():
			return token, err
		}
		code.Interval = 2 * max(code.Interval, 5)
	}
}

var errExpired = exit.With(exit.Failed, errors.New("the code has expired, and nobody has logged in with it: begin again"))

// refusal returns what an issuer has answered, in words. It has none of what was sent.
func refusal(ctx context.Context, at string, err error) error {
	answered, ok := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case !ok && exit.CodeOf(err) == exit.Unreachable:
		return unreached(ctx, at, err)
	case !ok:
		return err
	case answered.ErrorCode == "expired_token":
		return errExpired
	case answered.ErrorCode == "access_denied":
		return exit.With(exit.Refused, errors.New("the login was refused at the issuer"))
	case answered.ErrorCode != "":
		text := answered.ErrorCode
		if answered.ErrorDescription != "" {
			text += ": " + answered.ErrorDescription
		}
		return exit.With(exit.Refused, fmt.Errorf("the issuer %s has refused: %.300s", at, text))
	}
	return exit.With(exit.Failed, fmt.Errorf("the issuer %s has answered %s", at, answered.Response.Status))
}

// Revoke has the issuer end a login, so that a copy of its refresh token counts no more. An issuer that cannot do that
// is no error.
func Revoke(ctx context.Context, transport http.RoundTripper, l *Login) error {
	if l.RefreshToken == "" {
		return nil
	}
	s, err := discover(ctx, transport, Place{Issuer: l.Issuer, ClientID: l.ClientID})
	if err != nil || s.revocation == "" {
		return err
	}
	if err := issuer.CheckURL(s.revocation); err != nil {
		return err
	}
	form := url.Values{"token": {l.RefreshToken}, "token_type_hint": {"refresh_token"}, "client_id": {l.ClientID}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.revocation, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := s.client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the issuer %s has answered %s", l.Issuer, resp.Status)
	}
	return nil
}
