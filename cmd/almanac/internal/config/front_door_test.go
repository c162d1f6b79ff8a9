package config

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/internal/callers"
	"almanac/internal/emulators"
)

// newCertificate writes a certificate and its key, and returns the flags that name them.
func newCertificate(t *testing.T) (flags []string, cert, key string) {
	t.Helper()
	cert, key, err := emulators.WriteCertificate(t.TempDir(), "jobs.example.com")
	require.NoError(t, err)
	return []string{"--tls-cert", cert, "--tls-key", key}, cert, key
}

func TestACertificateAndItsKeyBelongTogether(t *testing.T) {
	t.Parallel()
	flags, cert, key := newCertificate(t)
	_, other, _ := newCertificate(t)
	for _, command := range []string{"dev", "api", "worker", "codec"} {
		c, err := loaded(t, command, nil, flags...)
		require.NoError(t, err)
		require.NotNil(t, c.APITLS())
		require.NotNil(t, c.ServerTLS())
		require.Equal(t, "https", c.Scheme())
		require.Empty(t, c.warnings)
		c, err = loaded(t, command, nil)
		require.NoError(t, err)
		require.Nil(t, c.APITLS())
		require.Nil(t, c.ServerTLS())
		require.Equal(t, "http", c.Scheme())

		_, err = loaded(t, command, map[string]string{"ALMANAC_TLS_CERT": cert})
		require.EqualError(t, err, "$ALMANAC_TLS_CERT: the certificate has no key; allowed: a certificate together with --tls-key, or neither")
		_, err = loaded(t, command, nil, "--tls-key", key)
		require.EqualError(t, err, "--tls-key: the key has no certificate; allowed: a key together with --tls-cert, or neither")
		_, err = loaded(t, command, nil, "--tls-key", key, "--tls-cert", other)
		require.ErrorContains(t, err, "private key does not match public key")
	}
	_, err := loaded(t, "api", nil, "--client-ca", cert)
	require.ErrorContains(t, err, "--client-ca: callers can show a certificate by TLS only")
	_, err = loaded(t, "api", nil, append(flags, "--client-ca", key)...)
	require.ErrorContains(t, err, "has no certificate in PEM")
	_, err = loaded(t, "api", nil, append(flags, "--client-ca", cert)...)
	require.NoError(t, err)

	require.NoError(t, os.Chmod(key, 0o644))
	c, err := loaded(t, "api", nil, flags...)
	require.NoError(t, err)
	require.Len(t, c.warnings, 1)
	require.Contains(t, c.warnings[0], "chmod 600")
}

func TestLinksAreHTTPSWithTLS(t *testing.T) {
	t.Parallel()
	flags, _, _ := newCertificate(t)
	c, err := loaded(t, "api", nil, flags...)
	require.NoError(t, err)
	c.Log = slog.New(slog.DiscardHandler)
	h := c.Handler(going{})
	r := httptest.NewRequest(http.MethodGet, "https://127.0.0.1:8443/jobCollections/c/jobs", nil)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	require.Contains(t, w.Body.String(), `"nextLink":"https://127.0.0.1:8443/jobCollections/c/jobs?`)
	w = httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "https://127.0.0.1:8443/jobCollections/c/disable", nil))
	require.Equal(t, "https://127.0.0.1:8443/jobCollections/c/operationResults/1", w.Header().Get("Location"))
}

func TestTheLogHasTheAddressOfTheCallerBehindATrustedProxy(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ args, want string }{
		"trusted":     {"--trusted-proxies=10.0.0.0/8", "203.0.113.5"},
		"not trusted": {"--trusted-proxies=172.16.0.1", "10.1.2.3"},
		"none":        {"--trusted-proxies=", "10.1.2.3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := loaded(t, "api", nil, tt.args)
			require.NoError(t, err)
			var text strings.Builder
			c.Log = slog.New(slog.NewTextHandler(&text, nil))
			r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8080/", nil)
			r.RemoteAddr = "10.1.2.3:4000"
			r.Header["X-Forwarded-For"] = []string{"127.0.0.1", "203.0.113.5"} // the first line was sent by the caller
			c.Handler(going{}).ServeHTTP(httptest.NewRecorder(), r)
			require.Contains(t, text.String(), " client="+tt.want+" ")
		})
	}
	_, err := loaded(t, "api", nil, "--trusted-proxies", "0.0.0.0/0")
	require.ErrorContains(t, err, `--trusted-proxies: "0.0.0.0/0" is every address`)
}

func TestTLSIsNoLogin(t *testing.T) {
	t.Parallel()
	flags, _, _ := newCertificate(t)
	for _, listener := range []string{"--listen", "--temporal-listen", "--ui-listen"} {
		args := append([]string{listener, "0.0.0.0:0"}, flags...)
		_, err := loaded(t, "dev", nil, args...)
		require.ErrorContains(t, err, listener+": 0.0.0.0:0 can be reached by other machines")
		_, err = loaded(t, "dev", nil, append(args, "--unauthenticated")...)
		require.NoError(t, err)
	}
}

func TestCallersHaveLimitsUnlessTheyAreTurnedOff(t *testing.T) {
	t.Parallel()
	c, err := loaded(t, "api", nil)
	require.NoError(t, err)
	require.Equal(t, callers.Limits{Rate: 1000, InFlight: 16}, c.perCaller)
	c, err = loaded(t, "api", nil, "--max-rate-per-caller", "0", "--max-in-flight-per-caller", "0")
	require.NoError(t, err)
	require.Nil(t, callers.NewLimiter(c.perCaller))
	_, err = loaded(t, "api", nil, "--max-rate-per-caller", "-1")
	require.ErrorContains(t, err, "--max-rate-per-caller: -1 is too low")
}

func TestTheAuditLogIsAFileOrStandardOutput(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	c, err := loaded(t, "api", nil, "--audit-log", file)
	require.NoError(t, err)
	c.Log = slog.New(slog.DiscardHandler)
	r := httptest.NewRequest(http.MethodGet, "http://evil.example/jobCollections", nil)
	c.Handler(going{}).ServeHTTP(httptest.NewRecorder(), r)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(text), `"path":"/jobCollections","action":"","status":421,"code":"MisdirectedRequest"`)

	c, err = loaded(t, "api", nil, "--audit-log", "stdout")
	require.NoError(t, err)
	require.NotNil(t, c.refusals)
	_, err = loaded(t, "api", nil, "--audit-log", t.TempDir())
	require.ErrorContains(t, err, "allowed: a file that Almanac may write, or stdout")
}
