package activities

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Shorter texts are not taken for secrets: hiding them would spoil an answer
// that has them by chance.
const (
	minSecret      = 4  // a password
	minQuerySecret = 16 // a key or signature in an address
)

// secrets are what a request brings that its host may send back, and that
// nobody should read in the history. The longest comes first.
type secrets []string

// secretsOf returns the credentials of a request, as they are and as they are
// sent, and long values of its query.
func secretsOf(req *http.Request) secrets {
	var found secrets
	add := func(least int, texts ...string) {
		for _, text := range texts {
			text = strings.TrimRight(text, "=") // a host may leave out what base64 is padded with
			if len(text) >= least {
				found = append(found, text)
			}
		}
	}
	if _, credentials, ok := strings.Cut(req.Header.Get("Authorization"), " "); ok {
		add(minSecret, credentials)
	}
	if _, password, ok := req.BasicAuth(); ok {
		add(minSecret, password)
	}
	if password, ok := req.URL.User.Password(); ok {
		add(minSecret, password, base64.StdEncoding.EncodeToString([]byte(req.URL.User.Username()+":"+password)))
	}
	for pair := range strings.FieldsFuncSeq(req.URL.RawQuery, func(r rune) bool { return r == '&' || r == ';' }) {
		_, value, _ := strings.Cut(pair, "=")
		add(minQuerySecret, value)
		if plain, err := url.QueryUnescape(value); err == nil && plain != value {
			add(minQuerySecret, plain)
		}
	}
	slices.SortFunc(found, func(a, b string) int { return len(b) - len(a) })
	return found
}

// hide replaces secrets in a text, and one at its end of which only the
// beginning is there.
func (s secrets) hide(text string) string {
	for _, secret := range s {
		text = strings.ReplaceAll(text, secret, "…")
		for n := len(secret) - 1; n >= minSecret; n-- {
			if before, ok := strings.CutSuffix(text, secret[:n]); ok {
				text = before + "…"
				break
			}
		}
	}
	return text
}
