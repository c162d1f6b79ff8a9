package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/internal/callers"
	"almanac/internal/codec"
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
		require.NotNil(t, c.apiTLS())
		require.NotNil(t, c.serverTLS())
		require.Equal(t, "https", c.scheme())
		require.Empty(t, c.warnings)
		c, err = loaded(t, command, nil)
		require.NoError(t, err)
		require.Nil(t, c.apiTLS())
		require.Nil(t, c.serverTLS())
		require.Equal(t, "http", c.scheme())

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

// started runs a command that prints the URL of its server, and returns that.
func started(t *testing.T, variables map[string]string, args ...string) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	lines, out := io.Pipe()
	failed := make(chan error, 1)
	go func() {
		lookup := func(name string) (string, bool) { v, ok := variables[name]; return v, ok }
		failed <- run(ctx, args, lookup, strings.NewReader(""), out, io.Discard)
		_ = out.Close()
	}()
	read := bufio.NewScanner(lines)
	require.True(t, read.Scan())
	url := regexp.MustCompile(`https?://\S+`).FindString(read.Text())
	require.NotEmpty(t, url, read.Text())
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-failed)
	})
	return url
}

// trusting returns a client that takes any certificate.
func trusting() *http.Client {
	return &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
}

func TestTheAPISpeaksTLSAndTheHealthCheckAsksByIt(t *testing.T) {
	t.Parallel()
	flags, cert, _ := newCertificate(t)
	url := started(t, map[string]string{"TEMPORAL_ADDRESS": "127.0.0.1:1"}, append([]string{"api", "--listen", "127.0.0.1:0", "--log-level", "error"}, flags...)...)
	require.Regexp(t, `^https://127\.0\.0\.1:\d+$`, url)
	resp, err := trusting().Get(url + "/healthz")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, 2, resp.ProtoMajor)

	listen := strings.TrimPrefix(url, "https://")
	out, err := almanac(t, "", map[string]string{"ALMANAC_TLS_CERT": cert}, "healthcheck", "--live", "--listen", listen)
	require.NoError(t, err)
	require.Equal(t, "alive\n", out)
	_, err = almanac(t, "", nil, "healthcheck", "--live", "--listen", listen)
	require.ErrorContains(t, err, "answers 400 Bad Request, and not as Almanac does")
}

func TestLinksAreHTTPSWithTLS(t *testing.T) {
	t.Parallel()
	flags, _, _ := newCertificate(t)
	c, err := loaded(t, "api", nil, flags...)
	require.NoError(t, err)
	c.log = slog.New(slog.DiscardHandler)
	h := handler(going{}, c)
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
			c.log = slog.New(slog.NewTextHandler(&text, nil))
			r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8080/", nil)
			r.RemoteAddr = "10.1.2.3:4000"
			r.Header["X-Forwarded-For"] = []string{"127.0.0.1", "203.0.113.5"} // the first line was sent by the caller
			handler(going{}, c).ServeHTTP(httptest.NewRecorder(), r)
			require.Contains(t, text.String(), " client="+tt.want+" ")
		})
	}
	_, err := loaded(t, "api", nil, "--trusted-proxies", "0.0.0.0/0")
	require.ErrorContains(t, err, `--trusted-proxies: "0.0.0.0/0" is every address`)
}

func TestEveryListenerAnswersToItsOwnNamesWithSecurityHeaders(t *testing.T) {
	t.Parallel()
	flags, _, _ := newCertificate(t)
	flags = append(flags, "--listen", "127.0.0.1:0")
	api := started(t, map[string]string{"TEMPORAL_ADDRESS": "127.0.0.1:1"}, append([]string{"api", "--log-level", "error"}, flags...)...)
	codecServer := started(t, map[string]string{"ALMANAC_ENCRYPTION_KEYS": "k:" + codec.GenerateKey()}, append([]string{"codec"}, flags...)...)
	client := trusting()
	for _, tt := range []struct {
		method, url string
		status      int
		policy      string
	}{
		{http.MethodGet, api + "/healthz", http.StatusOK, "default-src 'none'; frame-ancestors 'none'"},
		{http.MethodGet, api + "/metrics", http.StatusOK, "default-src 'none'; frame-ancestors 'none'"},
		{http.MethodGet, api + "/nowhere", http.StatusNotFound, "default-src 'none'; frame-ancestors 'none'"},
		{http.MethodGet, api + "/docs", http.StatusOK, "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
		{http.MethodPost, codecServer + "/decode", http.StatusOK, "default-src 'none'; frame-ancestors 'none'"},
	} {
		for host, want := range map[string]int{"": tt.status, "evil.example": http.StatusMisdirectedRequest, "localhost.evil.example": http.StatusMisdirectedRequest} {
			r, err := http.NewRequestWithContext(t.Context(), tt.method, tt.url, strings.NewReader(`{"payloads":[]}`))
			require.NoError(t, err)
			r.Host = host
			r.Header.Set("Content-Type", "application/json")
			resp, err := client.Do(r)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, want, resp.StatusCode, "%s as %q", tt.url, host)
			require.Equal(t, "nosniff", resp.Header.Get("X-Content-Type-Options"), tt.url)
			require.Equal(t, "same-origin", resp.Header.Get("Referrer-Policy"), tt.url)
			require.NotEmpty(t, resp.Header.Get("Strict-Transport-Security"), tt.url)
			require.NotEmpty(t, resp.Header.Get("Cache-Control"), tt.url)
			if host == "" {
				require.Equal(t, tt.policy, resp.Header.Get("Content-Security-Policy"), tt.url)
			}
		}
	}
}

func TestAPageOfAnotherSiteIsRefusedByEveryListenerOverTLS(t *testing.T) {
	t.Parallel()
	flags, _, _ := newCertificate(t)
	flags = append(flags, "--listen", "127.0.0.1:0")
	api := started(t, map[string]string{"TEMPORAL_ADDRESS": "127.0.0.1:1"}, append([]string{"api", "--log-level", "error"}, flags...)...)
	codecServer := started(t, map[string]string{"ALMANAC_ENCRYPTION_KEYS": "k:" + codec.GenerateKey()}, append([]string{"codec"}, flags...)...)
	for _, tt := range []struct{ method, url string }{
		{http.MethodPut, api + "/jobCollections/c/jobs/j"}, {http.MethodPost, api + "/jobCollections/c/jobs/j/run"}, {http.MethodDelete, api + "/jobCollections/c"},
		{http.MethodPost, codecServer + "/decode"},
	} {
		for _, origin := range []string{"https://evil.example", "http://" + strings.TrimPrefix(api, "https://"), "null"} {
			r, err := http.NewRequestWithContext(t.Context(), tt.method, tt.url, strings.NewReader("{}"))
			require.NoError(t, err)
			r.Header.Set("Origin", origin)
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			resp, err := trusting().Do(r)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, http.StatusForbidden, resp.StatusCode, "%s %s from %s", tt.method, tt.url, origin)
			require.Empty(t, resp.Header.Get("Access-Control-Allow-Origin"))
		}
	}
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
	c.log = slog.New(slog.DiscardHandler)
	r := httptest.NewRequest(http.MethodGet, "http://evil.example/jobCollections", nil)
	handler(going{}, c).ServeHTTP(httptest.NewRecorder(), r)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(text), `"path":"/jobCollections","action":"","status":421,"code":"MisdirectedRequest"`)

	c, err = loaded(t, "api", nil, "--audit-log", "stdout")
	require.NoError(t, err)
	require.NotNil(t, c.refusals)
	_, err = loaded(t, "api", nil, "--audit-log", t.TempDir())
	require.ErrorContains(t, err, "allowed: a file that Almanac may write, or stdout")
}
