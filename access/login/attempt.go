package login

import (
	"crypto/rand"
	"crypto/subtle"
	"net/http"
	"time"

	"golang.org/x/oauth2"

	"almanac/access/session"
)

const (
	// attemptTime is how long somebody may take to log in at an issuer.
	attemptTime = 10 * time.Minute

	attemptCookie  = "almanac-login"
	attemptPurpose = "login"
)

// An attempt is a login at an issuer that has begun. Its browser keeps it, encrypted, so that only that browser can end
// it.
type attempt struct {
	Issuer   string    `json:"issuer"`
	State    string    `json:"state"`
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"` // of PKCE
	Redirect string    `json:"redirect"` // URL to which the issuer sends the browser
	Return   string    `json:"return"`   // path at which the browser continues
	Expires  time.Time `json:"expires"`
}

func newAttempt(issuer, redirect, back string) *attempt {
	return &attempt{Issuer: issuer, State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Redirect: redirect, Return: back,
		Expires: time.Now().Add(attemptTime)}
}

// save has the browser keep an attempt.
func (h *Handler) save(w http.ResponseWriter, r *http.Request, a *attempt) error {
	sealed, err := h.Sessions.Key.Seal(attemptPurpose, a)
	if err == nil {
		session.SetCookie(w, attemptCookie, sealed, attemptTime, h.Sessions.Same.Secure(r))
	}
	return err
}

// take returns the attempt that an issuer's answer belongs to, and has the browser forget it; nil if there is none.
func (h *Handler) take(w http.ResponseWriter, r *http.Request) *attempt {
	secure := h.Sessions.Same.Secure(r)
	sealed, err := session.ReadCookie(r, attemptCookie, secure)
	session.SetCookie(w, attemptCookie, "", 0, secure)
	a := new(attempt)
	if err != nil || sealed == "" || h.Sessions.Key.Open(attemptPurpose, sealed, a) != nil {
		return nil
	}
	state := r.URL.Query().Get("state")
	if a.Issuer != h.Provider.Issuer || time.Now().After(a.Expires) || subtle.ConstantTimeCompare([]byte(a.State), []byte(state)) != 1 {
		return nil
	}
	return a
}
