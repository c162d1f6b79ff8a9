package wiring

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/access"
	"almanac/access/token"
	"almanac/api"
	"almanac/api/guard"
	"almanac/client"
	"almanac/internal/audit/refusals"
)

func TestTheConsoleIsClosedAsTheAPIIs(t *testing.T) {
	t.Parallel()
	secret := token.New()
	tokens := written(t, "tokens.yaml", fmt.Sprintf("- {name: ci, sha256: %x, role: reader, scope: /}", token.HashOf(secret)))
	ask := browse(t, served(t, nil, "--token-file", tokens))
	status, body := ask(http.MethodGet, "/", "none", nil)
	require.Equal(t, http.StatusOK, status)
	require.NotContains(t, body, "paste a token", "a program that names no type of page gets the index")
	status, body = ask(http.MethodGet, "/console/about", "none", nil)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "Paste a token", "a stranger is sent to the login page")
	status, body = ask(http.MethodPost, "/login", "same-origin", url.Values{"token": {secret}, "return": {"/console/about"}})
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "<h1>About</h1>", "and back after the login")
	require.Contains(t, body, "see jobs and their history</dd>", "a reader may do nothing else")
	require.Contains(t, body, "ci</summary>")
}

func TestWithoutTheConsoleItsPathsAreNotThere(t *testing.T) {
	t.Parallel()
	ask := browse(t, served(t, nil, "--console=false"))
	status, body := ask(http.MethodGet, "/console/about", "none", nil)
	require.Equal(t, http.StatusNotFound, status)
	require.Contains(t, body, "There is nothing at this path.")
}

// asked returns the status and the headers that a request to the console with a credential gets. Redirects are not followed.
func asked(t *testing.T, h http.Handler, credential string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "http://localhost/console/about", nil)
	if credential != "" {
		r.Header.Set("Authorization", credential)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestTheConsoleSlowsDownWhoGuessesTokensAndAuditsIt(t *testing.T) {
	t.Parallel()
	secret := token.New()
	tokens := written(t, "tokens.yaml", fmt.Sprintf("- {name: ci, sha256: %x, role: reader, scope: /}", token.HashOf(secret)))
	p := loaded(t, "api", nil, "--token-file", tokens)
	var audited strings.Builder
	p.Refusals = refusals.New(&audited)
	p.Authenticate(t.Context())
	h := p.Handler(ready{})
	require.Equal(t, http.StatusSeeOther, asked(t, h, "").Code, "a browser without a session is sent to the login page")
	require.Empty(t, audited.String())
	for range 10 {
		require.Equal(t, http.StatusUnauthorized, asked(t, h, "Bearer "+token.New()).Code)
	}
	require.Regexp(t, `"path":"/console/about".*"status":401,"code":"AuthenticationFailed"`, audited.String())
	slowed := asked(t, h, "Bearer "+token.New())
	require.Equal(t, http.StatusTooManyRequests, slowed.Code)
	require.NotEmpty(t, slowed.Header().Get("Retry-After"))
	good := asked(t, h, "Bearer "+secret)
	require.Equal(t, http.StatusOK, good.Code, "a good one may share the address")
	require.NotContains(t, good.Body.String(), "Sign out", "there is no session to end")
}

func TestTheConsoleSaysThatAnIssuerDoesNotAnswer(t *testing.T) {
	t.Parallel()
	o := api.Options{Access: &guard.Access{Authenticators: []access.Authenticator{silent{}}}}
	p := loaded(t, "api", nil)
	_, err := p.whoAsks(&o)(httptest.NewRequest(http.MethodGet, "/console/", nil))
	require.Equal(t, http.StatusServiceUnavailable, client.StatusOf(err))
}

// silent is an authenticator whose issuer does not answer.
type silent struct{}

func (silent) Authenticate(*http.Request) (*access.Principal, error) { return nil, errors.New("dial") }
