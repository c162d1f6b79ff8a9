package senders

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"net/http"
	"time"

	"almanac/activities"
	"almanac/internal/egress"
	"almanac/job/kind"
)

// A host that vanishes closes no connection, and all requests to it share one of HTTP/2. So one on which nothing
// arrives is closed if a ping is not answered either: early enough for a retry, and rarely enough for servers that
// count pings.
const (
	pingAfter   = 15 * time.Second
	pingTimeout = 10 * time.Second
)

// newTransport returns a transport with its own connections. It presents the certificate, unless nil, to
// hosts that ask for one.
func newTransport(o Options, certificate *tls.Certificate, idle time.Duration) onceTransport {
	secure := &tls.Config{RootCAs: o.RootCAs}
	if certificate != nil {
		// Presented even if the host names other authorities: it decides what it accepts.
		secure.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate, nil }
		// Some servers, IIS among them, ask only once they know the path.
		secure.Renegotiation = tls.RenegotiateOnceAsClient
	}
	transport := &http.Transport{
		DialContext:            watched(o.dial()),
		TLSClientConfig:        secure,
		TLSHandshakeTimeout:    egress.ConnectTimeout,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // the history shows a body as it was sent
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConnsPerHost:    4096, // for herds of jobs due in the same second
		IdleConnTimeout:        idle,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
	}
	return onceTransport{transport}
}

// Client certificates are kept open, with their connections, until maxCertificates others were used or
// certificateIdle has passed. Connections are not shared between certificates, since a connection is
// authenticated by one.
const (
	maxCertificates = 64
	certificateIdle = time.Hour
)

// A certificateClient presents one client certificate.
type certificateClient struct{ transports }

func (c certificateClient) Alive() bool { return true }

func (c certificateClient) Close() {
	c.usual.CloseIdleConnections()
	c.once.CloseIdleConnections()
}

// withCertificate returns the client for an action's client certificate, and releases it when done is called.
func (h *HTTP) withCertificate(ctx context.Context, a *kind.Authentication) (client transports, done func(), err error) {
	found, err := h.certificates.Acquire(ctx, digest(a.Pfx, a.Password), func(context.Context) (certificateClient, error) {
		certificate, err := a.Certificate()
		if err != nil {
			return certificateClient{}, &activities.PermanentError{Err: err}
		}
		return certificateClient{newTransports(h.options, &certificate)}, nil
	})
	if err != nil {
		return transports{}, nil, err
	}
	return found.Value.transports, found.Release, nil
}

// digest returns a key that differs for different texts and reveals none.
func digest(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		fmt.Fprintf(h, "%d:%s", len(t), t)
	}
	return string(h.Sum(nil))
}
