package senders

import (
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"almanac/internal/netreason"
	"almanac/job"
)

// newClient returns a client with its own connections. It presents the certificate, unless nil, to
// hosts that ask for one.
func newClient(o Options, certificate *tls.Certificate) *http.Client {
	secure := &tls.Config{RootCAs: o.RootCAs}
	if certificate != nil {
		// Presented even if the host names other authorities: it decides what it accepts.
		secure.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate, nil }
		// Some servers, IIS among them, ask only once they know the path.
		secure.Renegotiation = tls.RenegotiateOnceAsClient
	}
	transport := &http.Transport{
		DialContext:            o.dial(),
		TLSClientConfig:        secure,
		TLSHandshakeTimeout:    netreason.ConnectTimeout,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // the history shows a body as it was sent
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConnsPerHost:    4096, // for herds of jobs due in the same second
		// Servers and load balancers close connections that were idle for a minute or more. A request
		// written at that moment is lost, and many jobs run each minute.
		IdleConnTimeout: 45 * time.Second,
	}
	return &http.Client{Transport: onceTransport{transport}, CheckRedirect: checkRedirect}
}

// maxCertificates is how many client certificates are cached, with their connections.
const maxCertificates = 64

// certificates caches a client per client certificate, the most recently used ones. Connections are not
// shared between certificates, since a connection is authenticated by one.
type certificates struct {
	options Options

	mu   sync.Mutex
	used []*certificate // most recently used last
}

// A certificate is a PFX file with its password.
type certificate struct {
	key    string
	client func() (*http.Client, error) // opens the file once
}

func (c *certificates) client(a *job.Authentication) (*http.Client, error) {
	found, evicted := c.use(a)
	if evicted != nil {
		if old, err := evicted.client(); err == nil {
			old.CloseIdleConnections() // connections in use are closed when they become idle
		}
	}
	return found.client()
}

// use returns the entry for a client certificate, and the entry evicted for it, if any.
func (c *certificates) use(a *job.Authentication) (found, evicted *certificate) {
	key := digest(a.Pfx, a.Password)
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.IndexFunc(c.used, func(u *certificate) bool { return u.key == key }); i >= 0 {
		found = c.used[i]
		c.used = slices.Delete(c.used, i, i+1)
	} else {
		found = &certificate{key, sync.OnceValues(func() (*http.Client, error) { return c.open(a) })}
	}
	c.used = append(c.used, found)
	if len(c.used) > maxCertificates {
		evicted = c.used[0]
		c.used = slices.Delete(c.used, 0, 1)
	}
	return found, evicted
}

func (c *certificates) open(a *job.Authentication) (*http.Client, error) {
	opened, err := a.Certificate()
	if err != nil {
		return nil, err
	}
	return newClient(c.options, &opened), nil
}

// digest returns a key that differs for different texts and reveals none.
func digest(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		fmt.Fprintf(h, "%d:%s", len(t), t)
	}
	return string(h.Sum(nil))
}
