// Package redact makes text of unknown origin safe to store and show: it removes secrets and
// control characters, and limits the length.
package redact

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// The minimum lengths of secrets. Hiding shorter ones would spoil texts that contain them by
// chance.
const (
	MinSecret      = 4  // bytes of a password, a token, a key
	MinQuerySecret = 16 // bytes of a value in the query of an address
)

// Secrets are texts that must not be shown.
type Secrets []string

// Add adds secrets, except those shorter than [MinSecret].
func (s *Secrets) Add(secrets ...string) { s.add(MinSecret, secrets...) }

func (s *Secrets) add(least int, texts ...string) {
	for _, text := range texts {
		text = strings.TrimRight(text, "=") // base64 padding may be missing where the secret is repeated
		if len(text) >= least && !slices.Contains(*s, text) {
			*s = append(*s, text)
		}
	}
}

// AddQuery adds the values of a URL's query, encoded and decoded, except those shorter than
// [MinQuerySecret].
func (s *Secrets) AddQuery(query string) {
	for pair := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' }) {
		_, value, _ := strings.Cut(pair, "=")
		s.add(MinQuerySecret, value)
		if plain, err := url.QueryUnescape(value); err == nil {
			s.add(MinQuerySecret, plain)
		}
	}
}

// AddCredentials adds a user's password and the pair that basic authentication encodes. A user without a
// password may be a key, and is added instead.
func (s *Secrets) AddCredentials(user, password string) {
	if password == "" {
		s.Add(user)
		return
	}
	s.Add(password, user+":"+password)
}

// readOn is the number of bytes that are read beyond the limit, so that a secret at the
// limit is recognised.
const readOn = 64

// Text returns a text without secrets and control characters. A longer text than limit bytes
// is cut to limit bytes, including an ellipsis at the end. Most of the rest is not read, so
// a long text costs no more than a short one.
func (s Secrets) Text(text string, limit int) string {
	if len(text) <= limit+readOn {
		return Cut(Clean(s.hide(text)), limit)
	}
	return Cut(s.Beginning([]byte(text[:limit+readOn]), limit)+ellipsis, limit)
}

// Beginning returns the first bytes of a text, at most limit, without secrets and control
// characters. The text may be cut off anywhere: an incomplete rune at its end is dropped.
func (s Secrets) Beginning(text []byte, limit int) string {
	return prefix(Clean(s.hide(wholeRunes(string(text)))), limit)
}

// sharedAccess matches the tokens that are signed with a shared access key.
var sharedAccess = regexp.MustCompile(`(?i)SharedAccessSignature [^\s"'<>]+`)

// hide replaces secrets in a text with an ellipsis, in any case, also if they are encoded for JSON, HTML, a
// URL or a form, or in base64, up to twice. It also hides a secret that is cut off at the end
// of the text.
func (s Secrets) hide(text string) string {
	text = sharedAccess.ReplaceAllString(text, "SharedAccessSignature …")
	if len(s) == 0 {
		return text
	}
	hidden := s.hidden(text)
	var b strings.Builder
	for i := range hidden {
		switch {
		case !hidden[i]:
			b.WriteByte(text[i])
		case i == 0 || !hidden[i-1]:
			b.WriteString(ellipsis)
		}
	}
	return b.String()
}

// Count returns the number of places in a text that [Secrets.Text] would hide.
func (s Secrets) Count(text string) int {
	n, hidden := 0, s.hidden(text)
	for i := range hidden {
		if hidden[i] && (i == 0 || !hidden[i-1]) {
			n++
		}
	}
	return n
}

// hidden reports for each byte of a text whether it belongs to a secret.
func (s Secrets) hidden(text string) []bool {
	hidden, folded := make([]bool, len(text)), make(Secrets, len(s))
	for i, secret := range s {
		folded[i] = fold(secret)
	}
	folded.mark(&view{text: text}, 2, hidden)
	return hidden
}

// mark marks the bytes of the original text that encode secrets of a view, in any case, and of the views
// that result from decoding it, up to a depth. The secrets are folded.
func (s Secrets) mark(v *view, depth int, hidden []bool) {
	text := fold(v.text)
	for _, secret := range s {
		for at := 0; ; {
			n := strings.Index(text[at:], secret)
			if n < 0 {
				break
			}
			at += n + len(secret)
			v.mark(at-len(secret), at, hidden)
		}
		for at := max(0, len(text)-len(secret)+1); at+MinSecret <= len(text); at++ { // a secret that is cut off
			if text[at] == secret[0] && strings.HasPrefix(secret, text[at:]) {
				v.mark(at, len(text), hidden)
				break
			}
		}
	}
	if depth == 0 {
		return
	}
	for _, e := range encodings {
		if decoded := v.decode(e); decoded != nil {
			s.mark(decoded, depth-1, hidden)
		}
	}
}
