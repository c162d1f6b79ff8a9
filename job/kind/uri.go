package kind

import (
	"cmp"
	"net/url"
	"regexp"
	"strings"

	"almanac/internal/fields"
)

// uriParts splits a URI reference (RFC 3986, appendix B) into its scheme with the authority, its path, its query and
// its fragment.
var uriParts = regexp.MustCompile(`^((?:[^:/?#]+:)?(?://[^/?#]*)?)([^?#]*)(\?[^#]*)?(#.*)?$`)

// SentURI returns a URI, or a reference to one, as it is sent: what may not be in a request target (RFC 3986, RFC 9112)
// is percent-encoded in its path and query, as is a percent sign in the query that begins no escape. Nothing else
// changes; escapes stay as they are written. The fragment, which is never sent, is left out.
func SentURI(uri string) string {
	parts := uriParts.FindStringSubmatch(uri)
	if parts == nil { // it has a line break
		return uri
	}
	return parts[1] + encodeTarget(parts[2], "%") + encodeTarget(parts[3], "")
}

// ParseURI parses a URI, or a reference to one, in the form of [SentURI]. A percent sign in the path that begins no
// escape is an error. The error quotes the URI, which may hold secrets.
func ParseURI(uri string) (*url.URL, error) { return url.Parse(SentURI(uri)) }

const hexDigits = "0123456789ABCDEF"

// encodeTarget percent-encodes the bytes of a path or a query that RFC 3986 does not allow there, except those in
// unless.
func encodeTarget(text, unless string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		if allowed := inTarget(c) && (c != '%' || isEscape(text[i:])); allowed || strings.IndexByte(unless, c) >= 0 {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
		}
	}
	return b.String()
}

// inTarget reports whether a byte may be in a path or a query, the percent sign of an escape included.
func inTarget(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		strings.IndexByte("-._~!$&'()*+,;=:@/?%", c) >= 0
}

// isEscape reports whether a text begins with a percent-encoded byte.
func isEscape(text string) bool {
	return len(text) >= len("%41") && isHexDigit(text[1]) && isHexDigit(text[2])
}

func isHexDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// placeholders restores the braces of an escaped path.
var placeholders = strings.NewReplacer("%7B%7B", "{{", "%7D%7D", "}}")

// RedactURI returns an absolute URI without its user info, query and fragment, which may hold secrets.
func RedactURI(uri string) string {
	u, err := ParseURI(uri)
	if err != nil {
		return "(a URI that cannot be read)"
	}
	text := u.Scheme + "://" + u.Host + placeholders.Replace(u.EscapedPath())
	if u.RawQuery != "" {
		text += "?…"
	}
	return text
}

// origin returns the scheme, host and port of a URI, normalized for comparison.
func origin(uri string) string {
	u, err := ParseURI(uri)
	if err != nil {
		return uri
	}
	return u.Scheme + "://" + fields.Normalize(u.Hostname()) + ":" + cmp.Or(u.Port(), ports[u.Scheme])
}

// ports are those of a URI without one, by its scheme.
var ports = map[string]string{"http": "80", "https": "443"}
