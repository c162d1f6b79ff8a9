// Package redact makes text that somebody else wrote safe to store and show: without
// secrets and control characters, and no longer than it may be.
package redact

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Shorter texts are not taken for secrets: hiding them would spoil a text
// that has them by chance.
const (
	MinSecret      = 4  // bytes of a password, a token, a key
	MinQuerySecret = 16 // bytes of a value in the query of an address
)

// Secrets are what a text must not show.
type Secrets []string

// Add adds secrets. Those shorter than [MinSecret] are left out.
func (s *Secrets) Add(secrets ...string) { s.add(MinSecret, secrets...) }

func (s *Secrets) add(least int, texts ...string) {
	for _, text := range texts {
		text = strings.TrimRight(text, "=") // the padding of base64, which may be left out where the secret is repeated
		if len(text) >= least && !slices.Contains(*s, text) {
			*s = append(*s, text)
		}
	}
}

// AddQuery adds the values of an address's query that are as long as [MinQuerySecret],
// encoded as in the query and decoded.
func (s *Secrets) AddQuery(query string) {
	for pair := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' }) {
		_, value, _ := strings.Cut(pair, "=")
		s.add(MinQuerySecret, value)
		if plain, err := url.QueryUnescape(value); err == nil {
			s.add(MinQuerySecret, plain)
		}
	}
}

// AddCredentials adds a user's password, if there is one, and the pair that basic
// authentication encodes.
func (s *Secrets) AddCredentials(user, password string) {
	if password != "" {
		s.Add(password, user+":"+password)
	}
}

// readOn is how many bytes of a text are read beyond those that may be shown, so that a
// secret at the end of these is recognised.
const readOn = 64

// Text returns a text without secrets and control characters. A text that is longer than
// limit bytes is cut, and ends in an ellipsis: limit bytes at most together. What is
// beyond that is not read, so a long text costs no more than a short one.
func (s Secrets) Text(text string, limit int) string {
	if len(text) <= limit+readOn {
		return Cut(Clean(s.hide(text)), limit)
	}
	return Cut(s.Beginning([]byte(text[:limit+readOn]), limit)+ellipsis, limit)
}

// Beginning returns the beginning of a text of which the rest may be missing, without
// secrets, control characters and a rune at its end that is there only in part: limit
// bytes at most.
func (s Secrets) Beginning(text []byte, limit int) string {
	return prefix(Clean(s.hide(wholeRunes(string(text)))), limit)
}

// sharedAccess matches the tokens that are made of a shared access key.
var sharedAccess = regexp.MustCompile(`SharedAccessSignature [^\s"'<>]+`)

// hide replaces secrets in a text with an ellipsis, also where they are encoded for
// JSON, HTML, an address, a form or in base64, or twice. It hides one at the end of
// the text of which only the beginning is there.
func (s Secrets) hide(text string) string {
	text = sharedAccess.ReplaceAllString(text, "SharedAccessSignature …")
	if len(s) == 0 {
		return text
	}
	hidden := make([]bool, len(text))
	s.mark(&view{text: text}, 2, hidden)
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

// mark marks the bytes of the original text that a view shows secrets in, and those
// of the views that decoding it gives.
func (s Secrets) mark(v *view, depth int, hidden []bool) {
	for _, secret := range s {
		for at := 0; ; {
			n := strings.Index(v.text[at:], secret)
			if n < 0 {
				break
			}
			at += n + len(secret)
			v.mark(at-len(secret), at, hidden)
		}
		for at := max(0, len(v.text)-len(secret)+1); at+MinSecret <= len(v.text); at++ { // a beginning at the end
			if v.text[at] == secret[0] && strings.HasPrefix(secret, v.text[at:]) {
				v.mark(at, len(v.text), hidden)
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
