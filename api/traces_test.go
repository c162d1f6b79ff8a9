package api_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/access"
	"almanac/api"
	"almanac/api/guard"
)

func TestARequestIsTracedOnceItIsKnownWhoSentIt(t *testing.T) {
	t.Parallel()
	var traced []string
	o := api.Options{Trace: func(r *http.Request, route string, known bool) (context.Context, func(int)) {
		return r.Context(), func(status int) {
			traced = append(traced, map[bool]string{true: "known", false: "stranger"}[known]+" "+route+" "+http.StatusText(status))
		}
	}}
	open := api.New(&fake{}, o)
	_ = as(open, "", http.MethodGet, "/", "")
	o.Access = &guard.Access{Authenticators: []access.Authenticator{tokenHolders{"reader": with(t, access.Reader, "/")}}}
	guarded := api.New(&fake{}, o)
	_ = as(guarded, "", http.MethodGet, "/", "")
	_ = as(guarded, "guess", http.MethodGet, "/metrics", "")
	_ = as(guarded, "reader", http.MethodDelete, "/jobCollections/c", "")
	require.Equal(t, []string{"known / OK", "stranger / OK", "known /jobCollections/{collection} Forbidden"}, traced)
}
