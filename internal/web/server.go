// Package web is how Almanac listens for HTTP: by which names a server may be
// called, how long a request may take, and how many connections there may be.
package web

import (
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
)

// Limits of a server. The API itself answers within 30 s.
const (
	headerTimeout = 10 * time.Second
	// readTimeout is for a request with its body; what is not answered by then is
	// cancelled, too.
	readTimeout = time.Minute
	// writeTimeout is for all of that and for the answer: as much again as a request
	// may take, for a caller that reads slowly.
	writeTimeout = 2 * time.Minute
	idleTimeout  = 2 * time.Minute

	maxHeader      = 64 << 10 // bytes
	maxConnections = 4096     // each takes some ten kilobytes, and a file descriptor
)

// NewServer returns a server of h that no caller can keep busy for long. Which hosts it
// answers to is for h to say; see [Hosts.Check].
func NewServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
	}
}

// Limit bounds how many connections of a listener are open at a time. Others
// wait until the system's own queue is full.
func Limit(l net.Listener) net.Listener { return limit(l, maxConnections) }

func limit(l net.Listener, connections int) net.Listener {
	return netutil.LimitListener(l, connections)
}
