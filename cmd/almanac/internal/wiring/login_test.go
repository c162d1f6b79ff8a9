package wiring

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/oauth2-proxy/mockoidc"
	"github.com/stretchr/testify/require"

	"almanac/access/token"
)

// browse returns a browser, which says where its requests come from, and what it gets for an address.
func browse(t *testing.T, base string) func(method, path, site string, form url.Values) (status int, body string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	client := &http.Client{Jar: jar}
	return func(method, path, site string, form url.Values) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(form.Encode()))
		require.NoError(t, err)
		if form != nil {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		r.Header.Set("Sec-Fetch-Site", site)
		r.Header.Set("Sec-Fetch-Mode", "navigate")
		resp, err := client.Do(r)
		require.NoError(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(body)
	}
}

// served serves the API with settings.
func served(t *testing.T, variables map[string]string, args ...string) (base string) {
	t.Helper()
	p := loaded(t, "api", variables, args...)
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	p.Authenticate(ctx)
	server := httptest.NewServer(p.Handler(ready{}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestWhoHasLoggedInAtAnIssuerMayDoWhatTheAssignmentsOfNowSay(t *testing.T) {
	t.Parallel()
	idp, err := mockoidc.Run()
	require.NoError(t, err)
	t.Cleanup(func() { _ = idp.Shutdown() })
	idp.QueueUser(&mockoidc.MockUser{Subject: "alice", Groups: []string{"ops"}})
	assigned := func(role string) string {
		return "assignments:\n- {principal: {group: ops}, role: " + role + ", scope: /jobCollections/c}\n"
	}
	policy := written(t, "access.yaml", assigned("reader"))
	base := served(t, map[string]string{"ALMANAC_OIDC_CLIENT_SECRET": idp.ClientSecret}, "--oidc-issuer", idp.Issuer(), "--oidc-audience", "api", "--access", policy,
		"--oidc-client-id", idp.ClientID, "--oidc-scopes", "groups", "--console=false")
	ask := browse(t, base)

	status, body := ask(http.MethodGet, "/docs", "none", nil)
	require.Equal(t, http.StatusOK, status, "the page itself needs no login")
	require.Contains(t, body, "docs/login.js")
	_, script := ask(http.MethodGet, "/docs/login.js", "same-origin", nil)
	require.Contains(t, script, "login/session")
	status, _ = ask(http.MethodGet, "/jobCollections/c/jobs", "same-origin", nil)
	require.Equal(t, http.StatusUnauthorized, status)

	status, body = ask(http.MethodGet, "/login/start", "same-origin", nil)
	require.Equal(t, http.StatusOK, status, body)
	require.Contains(t, body, "swagger-ui", "the issuer leads back, and the login on to the documentation")
	status, _ = ask(http.MethodGet, "/jobCollections/c/jobs", "same-origin", nil)
	require.Equal(t, http.StatusOK, status)
	status, body = ask(http.MethodDelete, "/jobCollections/c/jobs/j", "same-origin", nil)
	require.Equal(t, http.StatusForbidden, status)
	require.Contains(t, body, "The client 'alice' does not have authorization")
	status, body = ask(http.MethodDelete, "/jobCollections/c/jobs/j", "cross-site", nil)
	require.Equal(t, http.StatusForbidden, status)
	require.Contains(t, body, "CrossOriginRequestForbidden")

	require.NoError(t, os.WriteFile(policy, []byte("assignments: []\n"), 0o600))
	require.Eventually(t, func() bool {
		status, _ := ask(http.MethodGet, "/jobCollections/c/jobs", "same-origin", nil)
		return status == http.StatusNotFound
	}, time.Minute, 50*time.Millisecond, "the role is gone, without another login")

	status, body = ask(http.MethodPost, "/logout", "same-origin", url.Values{})
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "paste a token")
	status, _ = ask(http.MethodGet, "/jobCollections/c/jobs", "same-origin", nil)
	require.Equal(t, http.StatusUnauthorized, status)
}

func TestProcessesWithTheSameSessionKeyKnowEachOthersSessions(t *testing.T) {
	t.Parallel()
	secret := token.New()
	tokens := written(t, "tokens.yaml", fmt.Sprintf("- {name: ci, sha256: %x, role: reader, scope: /}", token.HashOf(secret)))
	key := map[string]string{"ALMANAC_SESSION_KEY": strings.Repeat("k", 32)}
	for name, variables := range map[string]map[string]string{"the same": key, "others": nil} {
		first, second := served(t, variables, "--token-file", tokens, "--console=false"), served(t, variables, "--token-file", tokens)
		ask := browse(t, "")
		status, _ := ask(http.MethodPost, first+"/login", "same-origin", url.Values{"token": {secret}})
		require.Equal(t, http.StatusOK, status)
		// cookies are the same for all ports
		status, body := ask(http.MethodGet, second+"/jobCollections/c/jobs", "same-origin", nil)
		if name == "the same" {
			require.Equal(t, http.StatusOK, status)
		} else {
			require.Equal(t, http.StatusUnauthorized, status)
			require.Contains(t, body, "The session has ended. Log in again.")
		}
	}
}

func TestWithoutALoginThereAreNoLoginPages(t *testing.T) {
	t.Parallel()
	ask := browse(t, served(t, nil))
	for _, path := range []string{"/login", "/login/session", "/logout"} {
		status, _ := ask(http.MethodGet, path, "none", nil)
		require.Equal(t, http.StatusNotFound, status)
	}
	_, script := ask(http.MethodGet, "/docs/login.js", "same-origin", nil)
	require.NotContains(t, script, "fetch")
}

func TestTheLoginPageAnswersToTheNamesOfTheServerOnlyAndIsAudited(t *testing.T) {
	t.Parallel()
	tokens, audit := written(t, "tokens.yaml", ""), written(t, "audit.log", "")
	base := served(t, nil, "--token-file", tokens, "--audit-log", audit)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/login", nil)
	require.NoError(t, err)
	r.Host = "evil.example"
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusMisdirectedRequest, resp.StatusCode)

	wrong := token.New()
	status, _ := browse(t, base)(http.MethodPost, "/login", "same-origin", url.Values{"token": {wrong}})
	require.Equal(t, http.StatusUnauthorized, status)
	text, err := os.ReadFile(audit)
	require.NoError(t, err)
	require.Contains(t, string(text), `"client":"127.0.0.1","method":"POST","path":"/login","action":"","status":401,"code":"AuthenticationFailed"`)
	require.NotContains(t, string(text), wrong[8:])
}
