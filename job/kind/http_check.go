package kind

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"almanac/internal/fields"
)

// uri returns what is wrong with a URI without placeholders, without its path; nil if nothing is.
func (c *Checker) uri(uri string) *fields.Error {
	if most := c.Limits.URIBytes; len(uri) > most {
		return &fields.Error{Code: fields.TooLong, Allowed: fmt.Sprintf("at most %d bytes", most)}
	}
	return checkURI(uri, c.Type)
}

// checkURI returns what is wrong with a URI, without its path; nil if nothing is.
func checkURI(uri string, kind Type) *fields.Error {
	bad := func(allowed string) *fields.Error {
		e := &fields.Error{Code: fields.Invalid, Allowed: allowed}
		if u, err := ParseURI(uri); err == nil && isHTTP(u) { // redaction is reliable only for a proper URL
			e.Value = RedactURI(uri)
		}
		return e
	}
	u, err := ParseURI(uri)
	if _, ok := errors.AsType[url.EscapeError](err); ok {
		return bad("%25 for a percent sign in the path, and escapes such as %2F")
	}
	switch {
	case err == nil:
	case strings.Contains(err.Error(), "invalid userinfo"): // of package url, which has no types for these
		return bad("a user and a password in front of the host whose characters outside ASCII, and those such as / " +
			"and |, are percent-encoded")
	case strings.Contains(err.Error(), "invalid port"):
		return bad(wantPort)
	}
	if err != nil || strings.ContainsFunc(uri, fields.IsBlankOrControl) {
		e := bad("an absolute http or https URL in which blanks and control characters are percent-encoded, such as %20")
		e.Value = nil // the redacted one has them percent-encoded
		return e
	}
	switch {
	case !isHTTP(u):
		return bad("an absolute http or https URL with a host")
	case u.Port() != "" && !isPort(u.Port()):
		return bad(wantPort)
	case badUser(u.User):
		return bad("a user without a colon, and a password, both without control characters, in front of the host")
	case u.Scheme != "https" && kind == HTTPS:
		return bad("an https URL, as the action is of type Https")
	}
	return nil
}

const wantPort = "an absolute http or https URL with a host, whose port is 1 to 65535"

// isPort reports whether a text is the number of a port at which a server may listen.
func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

// badUser reports whether the user info of a URI, which may be nil, cannot be sent by basic authentication.
func badUser(u *url.Userinfo) bool {
	password, _ := u.Password()
	return checkUser(u.Username()) != nil || strings.ContainsFunc(password, unicode.IsControl)
}

// checkUser returns what is wrong with the user name of basic authentication (RFC 7617), without its path; nil if
// nothing is.
func checkUser(name string) *fields.Error {
	switch {
	case strings.Contains(name, ":"):
		return wants("a user name without a colon: a receiver would read the rest as the beginning of the password")
	case strings.ContainsFunc(name, unicode.IsControl):
		return wants("a user name without control characters")
	}
	return nil
}

// wants returns the error of a value of which something else is allowed.
func wants(allowed string) *fields.Error {
	return &fields.Error{Code: fields.Invalid, Allowed: allowed}
}

func isHTTP(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

// connectionHeaders concern a single connection, so the HTTP client sets them.
var connectionHeaders = []string{
	"Connection", "Content-Length", "Keep-Alive", "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding", "Upgrade",
}

// checkHeader returns what is wrong with a header, without its path; nil if nothing is.
func checkHeader(h fields.Member) *fields.Error {
	belongsToConnection := slices.ContainsFunc(connectionHeaders, func(name string) bool {
		return fields.SameName(name, h.Name)
	})
	badInValue := func(r rune) bool { return r != '\t' && (r < ' ' || r == 0x7f) }
	switch {
	case !isToken(h.Name):
		return wants("the name of an HTTP header: letters, digits and hyphens")
	case belongsToConnection:
		return &fields.Error{Code: fields.Forbidden, Hint: "this header is set for each connection as it needs it"}
	case strings.ContainsFunc(h.Value, badInValue):
		return wants("a value without line breaks and control characters")
	case strings.ContainsFunc(h.Value, func(r rune) bool { return r > 0x7f }) && !strings.EqualFold(h.Name, "Host"):
		return wants("a value in ASCII, since HTTP has no encoding for other characters; percent-encode them, or send " +
			"them in the body")
	case strings.EqualFold(h.Name, "Host") && !isVirtualHost(h.Value):
		return wants("a host name such as www.example.com, with or without a port, but neither an address nor localhost")
	}
	return nil
}

var (
	virtualHost = regexp.MustCompile(`^([A-Za-z0-9_-]{1,63}\.)*[A-Za-z0-9_-]{1,63}\.?$`)
	// numericLabel matches a last label that makes some parsers take a name for an IPv4 address.
	numericLabel = regexp.MustCompile(`(?i)(^|\.)([0-9]+|0x[0-9a-f]*)\.?$`)
	localhost    = regexp.MustCompile(`(?i)(^|\.)localhost\.?$`)
)

// isVirtualHost reports whether a value is allowed in a Host header. Addresses and localhost are not:
// servers meant for their own machine or network rely on the Host header to detect requests from web pages
// of other sites.
func isVirtualHost(value string) bool {
	host := value
	if name, port, ok := strings.Cut(value, ":"); ok {
		if !isPort(port) {
			return false
		}
		host = name
	}
	return virtualHost.MatchString(host) && len(host) <= 253 &&
		!numericLabel.MatchString(host) && !localhost.MatchString(host)
}

// isToken reports whether s is an HTTP token.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		letterOrDigit := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letterOrDigit && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}
