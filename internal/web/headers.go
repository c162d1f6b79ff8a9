package web

import (
	"net"
	"net/http"
)

// transportSecurity has browsers use https for a year.
const transportSecurity = "max-age=31536000"

// secured returns a handler that sets security headers on every answer, which h may replace: answers are not cached,
// load nothing, appear in no frame, and are of the type that they say. Web pages of the same server see where a request
// comes from, and other sites do not.
func secured(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "same-origin")
		header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		header.Set("Cache-Control", "no-store")
		if r.TLS != nil && !isLocal(r.Host) {
			header.Set("Strict-Transport-Security", transportSecurity)
		}
		h.ServeHTTP(w, r)
	})
}

// isLocal reports whether a Host is localhost. Browsers apply Strict-Transport-Security to all ports of a
// name, so it would affect the other servers of the machine.
func isLocal(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return normal(host) == "localhost"
}
