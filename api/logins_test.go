package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/access"
	"almanac/api"
	"almanac/api/guard"
	"almanac/internal/audit/refusals"
)

func TestFailedLoginsAreSlowedDownAndGoodOnesAreNot(t *testing.T) {
	t.Parallel()
	h := guarded(&fake{}, tokenHolders{"good": with(t, access.Reader, "/")})
	var statuses []int
	for range 12 {
		statuses = append(statuses, as(h, "guess", http.MethodGet, "/metrics", "").status)
	}
	require.Equal(t, http.StatusUnauthorized, statuses[0])
	require.Equal(t, http.StatusTooManyRequests, statuses[11])
	refused := as(h, "guess", http.MethodGet, "/metrics", "")
	require.NotEmpty(t, refused.header.Get("Retry-After"))
	require.Contains(t, refused.body, "has failed to log in too often")
	require.NotEqual(t, http.StatusTooManyRequests, as(h, "good", http.MethodGet, "/metrics", "").status)
	require.Equal(t, http.StatusUnauthorized, as(h, "", http.MethodGet, "/metrics", "").status, "a request without a credential guesses nothing")
}

// ended is about callers with sessions that have ended.
type ended struct{}

func (ended) Authenticate(*http.Request) (*access.Principal, error) {
	return nil, &access.CredentialError{Problem: "The session has ended."}
}

func TestASessionThatHasEndedIsNoFailedLogin(t *testing.T) {
	t.Parallel()
	h := api.New(&fake{}, api.Options{Access: &guard.Access{Authenticators: []access.Authenticator{ended{}}}})
	for range 20 {
		got := as(h, "", http.MethodGet, "/metrics", "")
		require.Equal(t, http.StatusUnauthorized, got.status)
		require.Contains(t, got.body, "The session has ended.")
	}
}

func TestWhatACallerIsRefusedIsInTheAuditLog(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	f := &fake{}
	h := api.New(f, api.Options{Refusals: refusals.New(&text), Access: &guard.Access{Authenticators: []access.Authenticator{
		tokenHolders{"reader": with(t, access.Reader, "/jobCollections/c")},
	}}})
	as(h, "reader", http.MethodDelete, "/jobCollections/c/jobs/j", "")
	as(h, "reader", http.MethodGet, "/jobCollections/hidden/jobs/j", "")
	as(h, "guess", http.MethodGet, "/jobCollections/c", "")
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	require.Len(t, lines, 3)
	require.Contains(t, lines[0], `"path":"/jobCollections/c/jobs/j","action":"Microsoft.Scheduler/jobCollections/jobs/delete","status":403,"code":"AuthorizationFailed"`)
	require.Contains(t, lines[1], `"action":"Microsoft.Scheduler/jobCollections/jobs/read","status":404`)
	require.Contains(t, lines[2], `"status":401,"code":"AuthenticationFailed"`)
	require.NotContains(t, text.String(), "guess")
}
