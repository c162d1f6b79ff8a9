package web_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/internal/web"
)

func TestEveryAnswerOfAServerHasSecurityHeaders(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]http.Handler{
		"an answer":       ok,
		"an error":        http.NotFoundHandler(),
		"a refused name":  (*web.Hosts)(nil).Check(ok),
		"an empty answer": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }),
	} {
		w := httptest.NewRecorder()
		web.NewServer(h).Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://jobs.example.com/", nil))
		for header, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cache-Control": "no-store",
			"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
		} {
			require.Equal(t, []string{want}, w.Header().Values(header), name)
		}
		require.Empty(t, w.Header().Values("Strict-Transport-Security"), "%s in clear", name)
	}
}

func TestBrowsersStayWithTLSButForLocalhost(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"jobs.example.com": "max-age=31536000", "jobs.example.com:8443": "max-age=31536000", "localhost": "", "LOCALHOST.:8443": "",
	} {
		r := httptest.NewRequest(http.MethodGet, "http://"+host+"/", nil)
		r.TLS = &tls.ConnectionState{}
		w := httptest.NewRecorder()
		web.NewServer(ok).Handler.ServeHTTP(w, r)
		require.Equal(t, want, w.Header().Get("Strict-Transport-Security"), host)
	}
}
