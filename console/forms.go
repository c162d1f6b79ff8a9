package console

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"net/http"

	"almanac/access/session"
)

const (
	// formCookie holds a secret of the browser. A form of the console has the same secret, so a page of another site,
	// which cannot read it, cannot send one. The API checks the origin of the request as well. It is no login: a browser
	// sends it also with a link of another site that is followed, so that the forms of its other tabs stay good.
	formCookie = "almanac-form"

	// formField is the field of a form with the secret.
	formField = "token"
)

// isSecure reports whether a browser reaches the console by TLS.
func (s *Console) isSecure(r *http.Request) bool { return s.secure || r.TLS != nil }

// formToken returns the token of the forms of a page, and has the browser keep its secret. It is masked by other random
// bytes each time, so that it cannot be learnt from the size of compressed pages.
func (s *Console) formToken(w http.ResponseWriter, r *http.Request) string {
	secret, err := session.ReadCookie(r, formCookie, s.isSecure(r))
	if err != nil || len(secret) != secretLength {
		secret = newToken()
		http.SetCookie(w, &http.Cookie{
			Name: s.formCookieName(r), Value: secret, Path: "/", HttpOnly: true, Secure: s.isSecure(r), SameSite: http.SameSiteLaxMode,
		})
	}
	mask := make([]byte, secretLength)
	_, _ = rand.Read(mask) // ends the program rather than fail
	masked := make([]byte, secretLength)
	subtle.XORBytes(masked, mask, []byte(secret))
	return base64.RawURLEncoding.EncodeToString(append(mask, masked...))
}

// secretLength is the length of a text of [newToken].
const secretLength = 26

func (s *Console) formCookieName(r *http.Request) string {
	if s.isSecure(r) {
		return "__Host-" + formCookie
	}
	return formCookie
}

// ownForm reports whether a page of the console sent a form.
func (s *Console) ownForm(r *http.Request) bool {
	secret, err := session.ReadCookie(r, formCookie, s.isSecure(r))
	both, errDecode := base64.RawURLEncoding.DecodeString(r.PostForm.Get(formField))
	if err != nil || errDecode != nil || len(secret) != secretLength || len(both) != 2*secretLength {
		return false
	}
	sent := make([]byte, secretLength)
	subtle.XORBytes(sent, both[:secretLength], both[secretLength:])
	return subtle.ConstantTimeCompare(sent, []byte(secret)) == 1
}
