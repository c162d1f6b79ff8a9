package activities

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"almanac/internal/redact"
)

// Limits of a message, in bytes.
const (
	maxHeaders     = 4096 // all headers of a response
	maxHeaderValue = 1024
	maxReason      = 300
)

// responseMessage describes a response in Azure Scheduler's format, which its clients parse. Secrets
// that the host echoes are left out.
func responseMessage(req *http.Request, resp *http.Response, body []byte, s redact.Secrets) string {
	return fmt.Sprintf("Http Action - Response from host '%s': '%s' Response Headers: %s Body: %s",
		req.URL.Host, reasonName(resp.StatusCode), headerText(resp.Header, s), s.Beginning(body, maxBody))
}

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
	read := 0 // bytes of values read; redacted ones take little room in b
	for _, name := range slices.Sorted(maps.Keys(h)) {
		values := headerValues(name, h[name])
		read += min(len(values), maxHeaderValue)
		line := redact.Clean(name) + ": " + s.Text(values, maxHeaderValue) + "\r\n"
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
	for _, known := range []func(error) string{dnsReason, tlsReason, connectionReason} {
		if text := known(err); text != "" {
			return redact.Cut(redact.Clean(text), maxReason)
		}
	}
	return redact.Cut(redact.Clean(protocolReason(err)), maxReason)
}

func dnsReason(err error) string {
	dns, ok := errors.AsType[*net.DNSError](err)
	switch {
	case !ok:
		return ""
	case dns.IsNotFound:
		return fmt.Sprintf("the name '%s' is not known to DNS", dns.Name)
	case dns.IsTimeout:
		return fmt.Sprintf("DNS did not answer for '%s' in time", dns.Name)
	}
	return fmt.Sprintf("DNS could not answer for '%s'", dns.Name)
}

func tlsReason(err error) string {
	if bad, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		if _, ok := errors.AsType[x509.UnknownAuthorityError](bad); ok {
			return "TLS: the certificate is signed by an authority that is not trusted here"
		}
		return "TLS: the certificate is not accepted: " + strings.TrimPrefix(bad.Err.Error(), "x509: ")
	}
	if alert, ok := errors.AsType[*net.OpError](err); ok && alert.Op == "remote error" {
		return "TLS: the host ended the handshake: " + strings.TrimPrefix(alert.Err.Error(), "tls: ")
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok || errors.Is(err, http.ErrSchemeMismatch) {
		return "TLS: the host does not speak TLS at this port; is the uri to begin with http?"
	}
	return ""
}

func connectionReason(err error) string {
	operation, _ := errors.AsType[*net.OpError](err)
	timeout, timedOut := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused: nothing listens at this port"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "there is no route to the host"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the host reset the connection"
	case timedOut && timeout.Timeout() && operation != nil && operation.Op == "dial":
		return fmt.Sprintf("the host did not accept a connection within %g s", connectTimeout.Seconds())
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, errConnectionLost),
		errors.Is(err, net.ErrClosed): // the reader noticed first, while the request was being written
		return errConnectionLost.Error()
	}
	return ""
}

// quoted matches text quoted by %q.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// protocolReason describes errors for which net/http has no types. Quoted text comes from the response,
// in which the host may echo secrets, and is left out.
func protocolReason(err error) string {
	text := err.Error()
	switch {
	case strings.Contains(text, "server closed idle connection"):
		return errConnectionLost.Error()
	case strings.Contains(text, "TLS handshake timeout"):
		return fmt.Sprintf("TLS: the handshake was not done within %g s", connectTimeout.Seconds())
	case strings.Contains(text, "response headers exceeded"):
		return fmt.Sprintf("the headers of the answer are longer than %d KiB", maxHeader>>10)
	case strings.Contains(text, "malformed"), strings.Contains(text, "transport connection broken"):
		return "the answer is not valid HTTP"
	case strings.Contains(text, "Location header"):
		return "the answer's Location header cannot be read"
	case strings.HasPrefix(text, "net/http: invalid header"): // of the request; it quotes the header's name
		return strings.TrimPrefix(text, "net/http: ")
	}
	return quoted.ReplaceAllString(strings.TrimPrefix(text, "net/http: "), "…")
}
