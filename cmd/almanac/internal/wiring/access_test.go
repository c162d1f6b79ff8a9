package wiring

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/access/token"
	"almanac/api"
	"almanac/internal/telemetry"
)

// ready is a scheduler that is ready.
type ready struct{ going }

func (ready) Ready(context.Context) error { return nil }

func TestAChangeOfTheFilesIsInForceWithinTwoSecondsWithoutARestart(t *testing.T) {
	t.Parallel()
	secret := token.New()
	entry := fmt.Sprintf("- {name: ci, sha256: %x}\n", token.HashOf(secret))
	tokens, policy := written(t, "tokens.yaml", ""), written(t, "access.yaml", "")
	p := loaded(t, "api", nil, "--token-file", tokens, "--access", policy)
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		p.Telemetry = new(telemetry.Telemetry)
		o := api.Options{}
		p.Authenticate(ctx)
		p.protectAPI(&o)
		h := api.New(ready{}, o)
		status := func(path string) (int, string) {
			time.Sleep(2*time.Second - time.Millisecond) // not at the time when the files are read
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.Header.Set("Authorization", "Bearer "+secret)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w.Code, w.Body.String()
		}
		require.NoError(t, os.WriteFile(tokens, []byte(entry), 0o600))
		got, _ := status("/jobCollections/c/jobs")
		require.Equal(t, http.StatusNotFound, got, "the token is known and has no role")
		require.NoError(t, os.WriteFile(policy, []byte("assignments:\n- {principal: {token: ci}, role: reader, scope: /jobCollections/c}"), 0o600))
		got, _ = status("/metrics")
		require.Equal(t, http.StatusForbidden, got)
		got, _ = status("/jobCollections/c/jobs")
		require.Equal(t, http.StatusOK, got)
		require.NoError(t, os.WriteFile(policy, []byte("assignments: x"), 0o600))
		got, _ = status("/jobCollections/c/jobs")
		require.Equal(t, http.StatusOK, got, "a broken file changes nothing")
		_, body := status("/readyz")
		require.Contains(t, body, `"problem":"the file access.yaml cannot be used since `)
		require.NoError(t, os.WriteFile(tokens, nil, 0o600))
		got, _ = status("/jobCollections/c/jobs")
		require.Equal(t, http.StatusUnauthorized, got)
	})
}
