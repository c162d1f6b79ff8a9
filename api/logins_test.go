package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/access"
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
