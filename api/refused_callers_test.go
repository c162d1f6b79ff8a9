package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/access"
	"almanac/api"
	"almanac/internal/audit/refusals"
)

func TestWhatACallerIsRefusedIsInTheAuditLog(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	f := &fake{}
	h := api.New(f, api.Options{Refusals: refusals.New(&text), Access: &api.Access{Authenticators: []access.Authenticator{
		directory{"reader": with(t, access.Reader, "/jobCollections/c")},
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
