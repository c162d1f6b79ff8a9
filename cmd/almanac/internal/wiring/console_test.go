package wiring

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/access/token"
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
