package egress

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// ConnectTimeout is the time limit for making a connection, and again for its TLS.
	ConnectTimeout = 10 * time.Second

	// MaxReason is the size limit of a reason in the history, in bytes.
	MaxReason = 300
)

// ErrConnectionLost is a connection that the host closed too soon.
var ErrConnectionLost = errors.New("the host closed the connection before its answer was complete")

// Reason returns in words the reason of an error of DNS, TLS or a connection; "" for any other.
func Reason(err error) string {
	for _, known := range []func(error) string{dnsReason, tlsReason, connectionReason} {
		if text := known(err); text != "" {
			return text
		}
	}
	return ""
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
		if unknown, ok := errors.AsType[x509.UnknownAuthorityError](bad); ok {
			return unknownAuthority(unknown)
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

// rejected matches why an authority of a known name was not accepted, and its name, both quoted by %q.
var rejected = regexp.MustCompile(`\(possibly because of ("(?:[^"\\]|\\.)*") while trying to verify candidate authority certificate ("(?:[^"\\]|\\.)*")\)$`)

// unknownAuthority describes an error that package x509 has also for a certificate whose authority is known but whose
// signature it does not accept. Only the text of the error differs.
func unknownAuthority(err x509.UnknownAuthorityError) string {
	parts := rejected.FindStringSubmatch(err.Error())
	if parts == nil {
		return "TLS: the certificate is signed by an authority that is not trusted here"
	}
	why, _ := strconv.Unquote(parts[1])
	name, _ := strconv.Unquote(parts[2])
	return fmt.Sprintf("TLS: the certificate is not accepted: %s (signed by '%s')", strings.TrimPrefix(why, "x509: "), name)
}

func connectionReason(err error) string {
	operation, _ := errors.AsType[*net.OpError](err)
	timeout, timedOut := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused: nothing listens at this port"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "there is no route to the host"
	case isReset(err):
		return "the host reset the connection"
	case timedOut && timeout.Timeout() && operation != nil && operation.Op == "dial":
		return fmt.Sprintf("the host did not accept a connection within %g s", ConnectTimeout.Seconds())
	case isClosed(err):
		return ErrConnectionLost.Error()
	}
	return ""
}

// IsLoss reports whether an error is that of a connection that the host reset or closed.
func IsLoss(err error) bool { return isReset(err) || isClosed(err) }

func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

func isClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, ErrConnectionLost) ||
		errors.Is(err, net.ErrClosed) // the reading side noticed first, while the request was being written
}
