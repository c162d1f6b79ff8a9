// Package web has what all HTTP servers of Almanac have: TLS, limits of the duration of requests and of the number of
// connections, host names that they answer to, security headers, and the addresses of callers behind proxies.
package web

import (
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
)

// Limits of a server. The API itself answers within 30 s.
const (
	headerTimeout = 10 * time.Second
	// readTimeout is the time limit for reading a request with its body. A request that is
	// not answered by then is cancelled.
	readTimeout = time.Minute
	// writeTimeout is the time limit for reading the request and writing the answer: as much
	// again as readTimeout, for callers that read slowly.
	writeTimeout = 2 * time.Minute
	idleTimeout  = 2 * time.Minute

	maxHeader      = 64 << 10 // bytes
	maxConnections = 4096     // each takes some ten kilobytes, and a file descriptor
)

// NewServer returns a server of h with time limits for every part of a request, and with security headers, which h may
// replace. It answers to every host name, unless h checks them; see [Hosts.Check].
func NewServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           secured(h),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
	}
}

// Serve answers requests on l, with TLS unless config is nil, until the server is shut down or fails. It limits the
// connections as [Limit] does. What net/http reports of single connections, such as handshakes that fail, is logged at
// level debug.
func Serve(server *http.Server, l net.Listener, config *tls.Config, log *slog.Logger) error {
	server.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug)
	if config == nil {
		return server.Serve(Limit(l))
	}
	server.TLSConfig = config
	return server.ServeTLS(Limit(l), "", "")
}

// Limit limits the number of open connections of a listener to 4096. Further connections
// wait in the system's queue.
func Limit(l net.Listener) net.Listener { return limit(l, maxConnections) }

func limit(l net.Listener, connections int) net.Listener {
	return netutil.LimitListener(l, connections)
}
