package senders

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"almanac/activities/lease"
	"almanac/internal/egress"
)

// onceTransport writes a request at most once.
//
// An [http.Transport] by itself writes a GET, or any request with an Idempotency-Key, again if a reused connection
// breaks before the first byte of the response. The receiver may have processed the first copy, and whether it gets
// another is up to the job's retry policy. Only if nothing was written the request is written to another connection: it
// was in a buffer, or the host had closed the connection before.
type onceTransport struct{ *http.Transport }

// RoundTrip implements [http.RoundTripper].
func (t onceTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	for {
		resp, err := t.roundTrip(req)
		if !errors.Is(err, errIdle) {
			return resp, err
		}
		if req.GetBody != nil { // nothing of it was sent
			body, err := req.GetBody()
			if err != nil {
				return nil, err
			}
			req = req.Clone(req.Context())
			req.Body = body
		}
	}
}

// roundTrip uses one connection. The error is errIdle if that was idle for too long, so that nothing was written to it.
func (t onceTransport) roundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context()) // ends with its parent, which lives as long as the body
	var written atomic.Bool
	var used atomic.Pointer[connUse]
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteHeaders: func() {
			if cause := context.Cause(ctx); !errors.Is(cause, lease.ErrOver) && !errors.Is(cause, errIdle) {
				// otherwise the connection is closed
				written.Store(true)
				lease.Begun(ctx)
			}
		},
		GotConn: func(info httptrace.GotConnInfo) {
			if before := used.Swap(useOf(info.Conn)); before.wroteNothing() && !isHTTP2(info.Conn) && lease.MayRepeat(ctx) {
				written.Store(false) // it was in a buffer
			}
			switch {
			case !written.Load() && !isHTTP2(info.Conn) && tooIdle(info):
				cancel(errIdle)
			case !written.Load() && !lease.MayBegin(ctx):
				cancel(lease.ErrOver)
				if isHTTP2(info.Conn) { // the connection is shared, and a cancelled request is not written
					return
				}
			case !written.Load():
				return
			case isHTTP2(info.Conn):
				// only requests that the server reports as unprocessed are written again, up to half a minute later
				if !lease.MayRepeat(ctx) {
					cancel(lease.ErrRefused)
				}
				return
			default:
				cancel(egress.ErrConnectionLost)
			}
			info.Conn.Close() // makes the write fail, which may happen before the context is checked
		},
	})
	resp, err := t.Transport.RoundTrip(req.WithContext(ctx))
	if err != nil {
		sent := written.Load() && !used.Load().wroteNothing()
		switch cause := context.Cause(ctx); {
		case errors.Is(cause, egress.ErrConnectionLost): // of a connection before the one in use
			err, sent = cause, true
		case errors.Is(cause, errIdle), errors.Is(cause, lease.ErrRefused):
			err = cause
		}
		if used.Load().mayHaveEnded() && cutOff.MatchString(err.Error()) {
			err = egress.ErrConnectionLost
		}
		return nil, &unansweredError{err, sent}
	}
	if u := used.Load(); u != nil {
		u.conn.keepFor(resp.Header)
	}
	if resp.StatusCode == http.StatusSwitchingProtocols { // its body is the connection, which ignores the context
		resp.Body.Close()
		resp.Body = http.NoBody
	}
	return resp, err
}

// An unansweredError is why no answer to a request began. Sent is whether any of the request may have left.
type unansweredError struct {
	error
	sent bool
}

// Unwrap returns the error of the connection.
func (e *unansweredError) Unwrap() error { return e.error }

func isHTTP2(c net.Conn) bool {
	secure, ok := c.(*tls.Conn)
	return ok && secure.ConnectionState().NegotiatedProtocol == "h2"
}
