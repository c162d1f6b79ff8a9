package activities

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"almanac/job"
)

// Shorter texts are not taken for secrets: hiding them would spoil an answer
// that has them by chance.
const (
	minSecret      = 4  // a password
	minQuerySecret = 16 // a key or signature in an address
)

// secrets are what an attempt brings that a receiver may send back, and that
// nobody should read in the history. All text of a receiver passes [secrets.text]
// before it is cut.
type secrets []string

func (s *secrets) add(least int, texts ...string) {
	for _, text := range texts {
		text = strings.TrimRight(text, "=") // a receiver may leave out what base64 is padded with
		if len(text) >= least && !slices.Contains(*s, text) {
			*s = append(*s, text)
		}
	}
}

// addQuery adds the long values of a query, as they are and as they are meant.
func (s *secrets) addQuery(query string) {
	for pair := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' }) {
		_, value, _ := strings.Cut(pair, "=")
		s.add(minQuerySecret, value)
		if plain, err := url.QueryUnescape(value); err == nil {
			s.add(minQuerySecret, plain)
		}
	}
}

// addCredentials adds a user's password, and the pair that a request is sent with.
func (s *secrets) addCredentials(user, password string) {
	if password != "" {
		s.add(minSecret, password, user+":"+password)
	}
}

// secretsOf returns the secrets of an action.
func secretsOf(a *job.Action) secrets {
	var s secrets
	s.add(minSecret, a.Secrets()...)
	if m := a.QueueMessage; m != nil {
		token, _ := sasParameters(m.SASToken) // without one there is no signature
		s.add(minSecret, token.Get("sig"))
	}
	return s
}

// withRequest adds what a web request proves its sender by, and long values of its query.
func (s secrets) withRequest(req *http.Request) secrets {
	authorization := req.Header.Get("Authorization")
	if _, credentials, ok := strings.Cut(authorization, " "); ok {
		authorization = credentials
	}
	s.add(minSecret, authorization)
	if user, password, ok := req.BasicAuth(); ok {
		s.addCredentials(user, password)
	}
	if password, ok := req.URL.User.Password(); ok {
		s.addCredentials(req.URL.User.Username(), password)
	}
	s.addQuery(req.URL.RawQuery)
	return s
}

// text makes a receiver's text safe to store and show: without secrets and control
// characters, and of at most limit bytes.
func (s secrets) text(text string, limit int) string { return cut(clean(s.hide(text)), limit) }

// sharedAccess matches the tokens that Almanac makes of a shared access key.
var sharedAccess = regexp.MustCompile(`SharedAccessSignature [^\s"'<>]+`)

// hide replaces secrets in a text with an ellipsis, also where they are encoded for
// JSON, HTML, an address, a form or in base64, or twice. It hides one at the end of
// the text of which only the beginning is there.
func (s secrets) hide(text string) string {
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
			b.WriteString("…")
		}
	}
	return b.String()
}

// mark marks the bytes of the original text that a view shows secrets in, and those
// of the views that decoding it gives.
func (s secrets) mark(v *view, depth int, hidden []bool) {
	for _, secret := range s {
		for at := 0; ; {
			n := strings.Index(v.text[at:], secret)
			if n < 0 {
				break
			}
			at += n + len(secret)
			v.mark(at-len(secret), at, hidden)
		}
		for n := min(len(secret)-1, len(v.text)); n >= minSecret; n-- {
			if strings.HasSuffix(v.text, secret[:n]) {
				v.mark(len(v.text)-n, len(v.text), hidden)
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
