package client

import (
	"context"
	"net/http"
)

type callerKey struct{}

// WithCaller returns a context in which calls by the transport of [ServedBy] are made as whoever sent a request to this
// process: from the same address and connection, to the same host, with the same credentials. A server uses it to have a
// handler of its own decide what that caller may do. It has no effect on other transports.
func WithCaller(ctx context.Context, r *http.Request) context.Context {
	return context.WithValue(ctx, callerKey{}, r)
}

// passedOn are the headers that say who sent a request, and from which page.
var passedOn = []string{
	"Authorization", "Cookie", "Origin", "Referer", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest", "User-Agent",
	"X-Ms-Correlation-Request-Id", "Traceparent", "Tracestate",
}

// actFor makes a request one of the caller who sent another.
func actFor(r, of *http.Request) {
	r.RemoteAddr, r.TLS, r.Host = of.RemoteAddr, of.TLS, of.Host
	for _, name := range passedOn {
		if values := of.Header.Values(name); len(values) > 0 {
			r.Header[name] = values
		}
	}
	if navigates(of) {
		r.Header.Del("Origin")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("Sec-Fetch-Mode", "cors")
	}
}

// navigates reports whether a request opens a page to read it. The page then asks for itself, also where a link of
// another site led to it. One that another site embeds does not, and a form that is posted asks for who posted it.
func navigates(r *http.Request) bool {
	mode := r.Header.Get("Sec-Fetch-Mode")
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && (mode == "" || mode == "navigate")
}
