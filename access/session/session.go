// Package session keeps browsers logged in: by an encrypted cookie that names the user, and that counts for web
// pages of this server only.
//
// No process keeps anything about sessions, so all processes with the same key know all sessions. What a caller may do
// is not in the cookie: each request is judged by the tokens and assignments in force.
package session

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"almanac/access"
	"almanac/access/issuer"
)

// A Session is what a session cookie holds: a token or an identity.
type Session struct {
	Expires time.Time `json:"expires"`

	// Token is a token that was pasted. It is checked with each request, so the session ends with it.
	Token string `json:"token,omitempty"`

	// Identity is the user who logged in at an issuer.
	Identity *issuer.Identity `json:"identity,omitempty"`
}

// An Authenticator authenticates callers by their sessions. It is safe for concurrent use.
type Authenticator struct {
	Key    *Key
	Tokens []access.Authenticator // of tokens that were pasted
	Issuer string                 // whose logins count; "": none
	Same   *SameOrigin
	Now    func() time.Time // nil means [time.Now]
}

// purpose is that of a session cookie.
const purpose = "session"

// cookieName is the name of the session cookie.
const cookieName = "almanac-session"

var errEnded = &access.CredentialError{Problem: "The session has ended. Log in again."}

// Authenticate returns the owner of a request's session; nil for a request with the header Authorization.
func (a *Authenticator) Authenticate(r *http.Request) (*access.Principal, error) {
	_, who, err := a.Find(r)
	return who, err
}

// Find returns the session of a request and its principal; nil if the request has none.
func (a *Authenticator) Find(r *http.Request) (*Session, *access.Principal, error) {
	if r.Header.Get("Authorization") != "" {
		return nil, nil, nil
	}
	sealed, err := ReadCookie(r, cookieName, a.Same.Secure(r))
	switch {
	case err != nil:
		return nil, nil, &access.CredentialError{
			Problem: "The request has several session cookies. Delete the cookies of this server, and log in again.",
			Err:     err,
		}
	case sealed == "":
		return nil, nil, nil
	}
	if err := a.Same.Check(r); err != nil {
		return nil, nil, &access.CredentialError{
			Problem: "A session counts for web pages of this server only. " +
				"Other clients send a token in the header Authorization.",
			Err: err,
		}
	}
	s := new(Session)
	if err := a.Key.Open(purpose, sealed, s); err != nil {
		return nil, nil, &access.CredentialError{Problem: errEnded.Problem, Err: err}
	}
	if !a.now().Before(s.Expires) {
		return nil, nil, errEnded
	}
	who, err := a.principal(r, s)
	return s, who, err
}

// principal returns the owner of a session, by the tokens in force.
func (a *Authenticator) principal(r *http.Request, s *Session) (*access.Principal, error) {
	switch {
	case s.Token != "":
		return a.HolderOf(r, s.Token)
	case s.Identity == nil || a.Issuer == "" || s.Identity.Issuer != a.Issuer:
		return nil, errEnded
	}
	return s.Identity.Principal(), nil
}

// HolderOf returns the holder of a token, as if it had been sent in the header Authorization.
func (a *Authenticator) HolderOf(r *http.Request, token string) (*access.Principal, error) {
	bearing := &http.Request{Method: http.MethodGet, URL: new(url.URL), Header: http.Header{"Authorization": {"Bearer " + token}}}
	bearing = bearing.WithContext(r.Context())
	for _, t := range a.Tokens {
		if who, err := t.Authenticate(bearing); who != nil || err != nil {
			return who, err
		}
	}
	return nil, &access.CredentialError{Problem: "The text is no token of a kind that is accepted here."}
}

// Begin sets the cookie of a session. The error is [ErrTooLong] if it does not fit.
func (a *Authenticator) Begin(w http.ResponseWriter, r *http.Request, s Session) error {
	sealed, err := a.Key.Seal(purpose, s)
	if err != nil {
		return err
	}
	SetCookie(w, cookieName, sealed, s.Expires.Sub(a.now()), a.Same.Secure(r))
	return nil
}

// End takes the session cookie away from a browser.
func (a *Authenticator) End(w http.ResponseWriter, r *http.Request) {
	SetCookie(w, cookieName, "", 0, a.Same.Secure(r))
}

func (a *Authenticator) now() time.Time {
	if a.Now != nil {
		return a.Now()
	}
	return time.Now()
}

// hostPrefix begins the names of cookies that browsers accept only from this very host, by TLS and for all paths. So no
// server of another name below the same domain, and nobody on the network, can set them.
const hostPrefix = "__Host-"

func fullName(name string, secure bool) string {
	if secure {
		return hostPrefix + name
	}
	return name
}

// SetCookie sets a cookie that scripts cannot read and that other sites do not send, except with a link that is
// followed. A lifetime of 0 deletes it.
func SetCookie(w http.ResponseWriter, name, value string, lifetime time.Duration, secure bool) {
	seconds := int(lifetime / time.Second)
	if seconds <= 0 {
		seconds = -1
	}
	http.SetCookie(w, &http.Cookie{
		Name: fullName(name, secure), Value: value, Path: "/", MaxAge: seconds,
		HttpOnly: true, Secure: secure, SameSite: http.SameSiteLaxMode,
	})
}

var errSeveral = errors.New("several cookies have the same name")

// ReadCookie returns the value of a cookie that [SetCookie] has set; "" if there is none. Several of the same name are
// an error: another server of the machine may have set one.
func ReadCookie(r *http.Request, name string, secure bool) (string, error) {
	found := r.CookiesNamed(fullName(name, secure))
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0].Value, nil
	}
	return "", errSeveral
}
