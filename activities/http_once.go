package activities

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// errLeaseOver ends a request before it is written; nobody is shown it.
var errLeaseOver = errors.New("the time within which the request might be sent was over")

var errConnectionLost = errors.New("the host closed the connection before its answer was complete")

// onceTransport writes a request at most once.
//
// By itself an [http.Transport] writes a GET, or whatever has an
// Idempotency-Key, again when a connection that was used before breaks ahead of
// the answer's first byte. The receiver may have acted on the first copy, and
// it is the job's retry policy that says whether it is to get another.
type onceTransport struct{ *http.Transport }

// RoundTrip implements [http.RoundTripper].
func (t onceTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context()) // ends with its parent, which lives as long as the body
	var written atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteHeaders: func() {
			if !errors.Is(context.Cause(ctx), errLeaseOver) { // else the connection is closed
				written.Store(true)
				begun(ctx)
			}
		},
		GotConn: func(info httptrace.GotConnInfo) {
			switch {
			case !written.Load() && !mayBegin(ctx):
				cancel(errLeaseOver)
				if isHTTP2(info.Conn) { // others use it too, and a request that is cancelled is not written
					return
				}
			case !written.Load() || isHTTP2(info.Conn): // over HTTP/2 only what the server said it did not process is repeated
				return
			default:
				cancel(errConnectionLost)
			}
			info.Conn.Close() // so that writing fails, which may come before the context is looked at
		},
	})
	resp, err := t.Transport.RoundTrip(req.WithContext(ctx))
	if err != nil && errors.Is(context.Cause(ctx), errConnectionLost) {
		return nil, errConnectionLost
	}
	return resp, err
}

func isHTTP2(c net.Conn) bool {
	secure, ok := c.(*tls.Conn)
	return ok && secure.ConnectionState().NegotiatedProtocol == "h2"
}
