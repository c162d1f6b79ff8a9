package senders

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"almanac/internal/egress"
	"almanac/internal/redact"
)

// Limits of a message, in bytes.
const (
	maxHeaders     = 4096 // all headers of a response
	maxHeaderValue = 1024
)

// reasonName returns the name of a status in .NET's HttpStatusCode, or the number if it has none.
func reasonName(status int) string {
	switch status {
	case http.StatusProxyAuthRequired:
		return "ProxyAuthenticationRequired"
	case http.StatusRequestURITooLong:
		return "RequestUriTooLong"
	case http.StatusHTTPVersionNotSupported:
		return "HttpVersionNotSupported"
	case http.StatusTeapot:
		return "418"
	}
	name := strings.NewReplacer(" ", "", "-", "").Replace(http.StatusText(status))
	if name == "" {
		return strconv.Itoa(status)
	}
	return name
}

// headerText lists headers sorted by name, each on a line.
func headerText(h http.Header, s redact.Secrets) string {
	var b strings.Builder
	read := 0 // bytes of names and values read; redacted ones take little room in b
	for _, name := range slices.Sorted(maps.Keys(h)) {
		values := headerValues(name, h[name])
		read += min(len(name), maxHeaderValue) + min(len(values), maxHeaderValue)
		line := s.Text(name, maxHeaderValue) + ": " + s.Text(values, maxHeaderValue) + "\r\n"
		if read > maxHeaders || b.Len()+len(line) > maxHeaders {
			b.WriteString("…\r\n")
			break
		}
		b.WriteString(line)
	}
	return b.String()
}

// secretPart matches the user info, query and fragment of an address.
var secretPart = regexp.MustCompile(`(//)[^/?#@\s]*@|([?#])[^\s,;<>"']*`)

// headerValues joins the values of a header without the parts that may be secret.
func headerValues(name string, values []string) string {
	shown := slices.Clone(values)
	for i, v := range shown {
		switch name {
		case "Set-Cookie":
			shown[i] = "…"
			if cookie, _, ok := strings.Cut(v, "="); ok {
				shown[i] = cookie + "=…"
			}
		case "Location", "Content-Location", "Refresh", "Link":
			shown[i] = secretPart.ReplaceAllString(v, "$1$2…")
		}
	}
	return strings.Join(shown, ", ")
}

// reason says why there was no complete response, without the address, whose query may hold keys.
func reason(ctx context.Context, err error) string {
	if ctx.Err() != nil {
		return context.Cause(ctx).Error()
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	text := cmp.Or(egress.Reason(err), protocolReason(err))
	if code := http2Ended.FindStringSubmatch(err.Error()); code != nil {
		text = fmt.Sprintf("the host ended the request without an answer (%s)", code[1])
	}
	lost := egress.IsLoss(err) || text == egress.ErrConnectionLost.Error() || http2Ended.MatchString(err.Error())
	if unanswered, ok := errors.AsType[*unansweredError](err); ok && lost {
		if unanswered.sent {
			text += "; it may have read the request"
		} else {
			text = "the host closed the connection before any of the request was sent"
		}
	}
	return redact.Cut(redact.Clean(text), egress.MaxReason)
}

// quoted matches text quoted by %q.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// http2Ended matches the errors of a stream that the host reset, and of a connection that it ended (GOAWAY), with the
// code. What the host said of it is left out.
var http2Ended = regexp.MustCompile(`(?:^stream error: stream ID \d+; |GOAWAY.*? ErrCode[=:])([A-Z0-9_]+)`)

// cutOff matches the error about a status line that ends too early. net/http says nothing else if the connection was
// closed there.
var cutOff = regexp.MustCompile(`malformed HTTP (?:response "(?:H|HT|HTT|HTTP|HTTP/[0-9.]*)"|status code "[0-9]{0,2}")$`)

// protocolReason describes errors for which net/http has no types. Quoted text comes from the response,
// in which the host may echo secrets, and is left out.
func protocolReason(err error) string {
	text := err.Error()
	switch {
	case strings.Contains(text, "server closed idle connection"):
		return egress.ErrConnectionLost.Error()
	case strings.Contains(text, "TLS handshake timeout"):
		return fmt.Sprintf("TLS: the handshake was not done within %g s", egress.ConnectTimeout.Seconds())
	case strings.Contains(text, "response headers exceeded"):
		return fmt.Sprintf("the headers of the answer are longer than %d KiB", maxHeader>>10)
	case strings.Contains(text, "http2: client connection lost"):
		return fmt.Sprintf("the connection was lost: nothing came from the host for %g s, not even an answer to a ping", (pingAfter + pingTimeout).Seconds())
	case strings.Contains(text, "malformed"), strings.Contains(text, "transport connection broken"), strings.Contains(text, "http2: frame too large"),
		// of a chunk
		strings.Contains(text, "suspiciously long trailer"), strings.Contains(text, "header line too long"):
		return "the answer is not valid HTTP"
	case strings.HasPrefix(text, "net/http: invalid header"): // of the request; it quotes the header's name
		return strings.TrimPrefix(text, "net/http: ")
	}
	return quoted.ReplaceAllString(strings.TrimPrefix(text, "net/http: "), "…")
}
