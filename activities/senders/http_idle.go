package senders

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptrace"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"almanac/job"
)

const (
	// Servers and load balancers close connections that were idle for a minute or more. A request written at
	// that moment is lost, and many jobs run each minute.
	maxIdle = 45 * time.Second

	// maxIdleOnce is for a request that has a body and is not retried.
	maxIdleOnce = time.Second

	// idleMargin is how long before a host may close a connection it is used no more.
	idleMargin = time.Second
)

// errIdle ends the use of a connection that the host may be closing. Nothing was written to it.
var errIdle = errors.New("the connection was idle for too long")

// The transports have connections of their own, for requests with a certificate or without one.
type transports struct {
	usual onceTransport
	once  onceTransport // for requests that have a body and are not retried
}

func newTransports(o Options, certificate *tls.Certificate) transports {
	return transports{newTransport(o, certificate, maxIdle), newTransport(o, certificate, maxIdleOnce)}
}

// of returns the transport for the request of an action, with or without a body.
func (t transports) of(a *job.Action, body bool) http.RoundTripper {
	if body && a.RetryPolicy.Attempts() == 1 {
		return t.once
	}
	return t.usual
}

// An idleConn records how long its host keeps it open while it is idle, and what was written to it.
type idleConn struct {
	net.Conn
	keep  atomic.Int64 // a time.Duration
	wrote atomic.Int64 // bytes
	ended atomic.Bool  // the host has closed it, and all that it sent was read
}

// Read implements [net.Conn].
func (c *idleConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if errors.Is(err, io.EOF) {
		c.ended.Store(true)
	}
	return n, err
}

// Write implements [net.Conn].
func (c *idleConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.wrote.Add(int64(n))
	return n, err
}

// A connUse is the use of a connection for a request.
type connUse struct {
	conn   *idleConn // nil if it is not known
	before int64     // bytes that were written to it before
	secure bool      // TLS may end before the connection below it
}

func useOf(c net.Conn) *connUse {
	_, secure := c.(*tls.Conn)
	u := &connUse{conn: idleConnOf(c), secure: secure}
	if u.conn != nil {
		u.before = u.conn.wrote.Load()
	}
	return u
}

// wroteNothing reports whether no byte has left over the connection since its use began. It is exact without TLS, whose
// own farewell counts as well.
func (u *connUse) wroteNothing() bool {
	return u != nil && u.conn != nil && u.conn.wrote.Load() == u.before
}

// mayHaveEnded reports whether the host may have closed the connection. It is exact without TLS.
func (u *connUse) mayHaveEnded() bool {
	return u != nil && u.conn != nil && (u.secure || u.conn.ended.Load())
}

// watched returns a function that connects as dial does, to an [idleConn].
func watched(dial func(ctx context.Context, network, address string) (net.Conn, error)) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		watched := &idleConn{Conn: c}
		watched.keep.Store(math.MaxInt64)
		return watched, nil
	}
}

// idleConnOf returns the connection below TLS; nil if it is not known.
func idleConnOf(c net.Conn) *idleConn {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	idle, _ := c.(*idleConn)
	return idle
}

// tooIdle reports whether the host may be closing a connection, or has closed it already. What it closes after the
// request was written is not known: then it may have read the request.
func tooIdle(info httptrace.GotConnInfo) bool {
	c := idleConnOf(info.Conn)
	return info.WasIdle && c != nil && (info.IdleTime >= time.Duration(c.keep.Load()) || isClosing(c.Conn))
}

var keepAliveTimeout = regexp.MustCompile(`(?i)(?:^|[,;\s])timeout\s*=\s*"?([0-9]+)`)

// keepFor notes for how long a host says, with an answer, that it keeps the connection open.
func (c *idleConn) keepFor(h http.Header) {
	if c == nil {
		return
	}
	least := int64(math.MaxInt64)
	for _, m := range keepAliveTimeout.FindAllStringSubmatch(strings.Join(h.Values("Keep-Alive"), ","), -1) {
		if seconds, err := strconv.ParseInt(m[1], 10, 32); err == nil { // or it is longer than any connection is kept
			least = min(least, int64(time.Duration(seconds)*time.Second-idleMargin))
		}
	}
	if least < math.MaxInt64 {
		c.keep.Store(least)
	}
}
