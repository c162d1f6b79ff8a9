package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
			body := ""
			if tt.method == http.MethodPost {
				body = `{"payloads":[]}`
			}
			r, err := http.NewRequestWithContext(t.Context(), tt.method, tt.url, strings.NewReader(body))
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
