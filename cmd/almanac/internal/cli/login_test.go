package cli_test

import (
	"context"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/access"
	"almanac/access/issuer"
	"almanac/access/login"
	"almanac/api"
	"almanac/api/guard"
	"almanac/client"
	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/internal/apitest"
	"almanac/internal/issuertest"
)

// newMember returns a user whose context prod is an API that takes tokens of an issuer for an audience. What the user's
// commands have printed must not have a secret.
func newMember(t *testing.T, audience string, with ...string) (*user, *issuertest.Issuer) {
	t.Helper()
	idp := issuertest.New(t, "jobs")
	policy, err := access.ParsePolicy([]byte("assignments:\n- {principal: {subject: alice}, role: owner, scope: /}\n"),
		access.FileOptions{Issuers: []string{idp.URL}, Defaults: access.Defaults{Subscription: client.DefaultSubscription, ResourceGroup: client.DefaultResourceGroup}})
	require.NoError(t, err)
	m := &apitest.Memory{}
	known := issuer.New(issuer.Options{Issuers: []string{idp.URL}, Audiences: []string{audience}, Client: http.DefaultClient, Log: slog.New(slog.DiscardHandler)})
	handler := api.New(m, api.Options{Access: &guard.Access{Authenticators: []access.Authenticator{known}, Policy: func() *access.Policy { return policy }}})
	pages := login.New(login.Options{
		CommandLine: &login.CommandLine{Issuer: idp.URL, ClientID: "almanac-cli", Scopes: []string{"offline_access"}}, Log: slog.New(slog.DiscardHandler),
	})
	server := httptest.NewServer(pages.Before(handler, func(h http.Handler) http.Handler { return h }))
	t.Cleanup(server.Close)
	home := t.TempDir()
	u := &user{home, map[string]string{"HOME": home, "XDG_CONFIG_HOME": home}}
	u.must(t, append([]string{"context", "add", "prod", "--url", server.URL}, with...)...)
	return u, idp
}

func (u *user) login() string { return filepath.Join(u.home, "almanac", "logins", "prod.json") }

func TestAUserLogsInAtTheIssuerOfTheAPIAndOut(t *testing.T) {
	t.Parallel()
	u, idp := newMember(t, "jobs")
	_, problems, status := u.types(t, "collection", "list")
	require.Equal(t, exit.Refused, status)
	require.Contains(t, problems, `"almanac login"`)

	idp.Answer("authorization_pending", "")
	out, problems, status := u.types(t, "login", "-o", "json")
	require.Equal(t, exit.OK, status, problems)
	require.JSONEq(t, `{"name":"prod","status":"logged in"}`, out)
	require.Contains(t, problems, "Open "+idp.URL+"/activate in a browser, on any machine, and enter the code\n\n  WDJB-MJHT\n")
	require.Contains(t, problems, "or open "+idp.URL+"/activate?user_code=WDJB-MJHT\nWaiting for you until ")
	require.NotContains(t, problems, "canary")
	require.Equal(t, map[string]string{"path": "/device", "client_id": "almanac-cli", "scope": "openid offline_access"}, idp.Sent()[0])
	require.Len(t, idp.Sent(), 3, "the code, and two polls")
	info, err := os.Stat(u.login())
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	u.must(t, "collection", "create", "default")
	require.Equal(t, "default\n", u.must(t, "collection", "list", "-o", "name"))
	require.NotContains(t, u.must(t, "context", "list", "-o", "json"), "canary")

	require.Equal(t, "context prod logged out\n", u.must(t, "logout"))
	require.NoFileExists(t, u.login())
	sent := idp.Sent()
	require.Equal(t, "/revoke", sent[len(sent)-1]["path"])
	_, _, status = u.types(t, "collection", "list")
	require.Equal(t, exit.Refused, status)
	require.Equal(t, "context prod not logged in\n", u.must(t, "logout", "prod"))
}

// Issuers take a refresh token once, so a second process that sends it would end the login.
func TestParallelCommandsRenewALoginOnce(t *testing.T) {
	t.Parallel()
	u, idp := newMember(t, "jobs")
	idp.Lasting(time.Second) // less than is waited for before a token is renewed
	u.must(t, "login")
	idp.Lasting(time.Hour)
	before := len(idp.Sent())
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			_, problems, status := u.types(t, "collection", "list")
			require.Equal(t, exit.OK, status, problems)
		})
	}
	all.Wait()
	require.Len(t, idp.Sent(), before+1)
	u.must(t, "collection", "list")
	require.Len(t, idp.Sent(), before+1)
}

func TestALoginThatTheIssuerHasEndedIsRefusedInWords(t *testing.T) {
	t.Parallel()
	u, idp := newMember(t, "jobs")
	idp.Lasting(time.Second)
	u.must(t, "login")
	idp.Forget()
	_, problems, status := u.types(t, "collection", "list")
	require.Equal(t, exit.Refused, status)
	require.Equal(t, "the login has ended: the issuer "+idp.URL+" has refused: invalid_grant: the refresh token was used\n\"almanac login prod\" begins a new one", problems)
}

func TestALoginThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]struct {
		text   string
		status int
	}{
		"access_denied":   {"the login was refused at the issuer", exit.Refused},
		"expired_token":   {"the code has expired, and nobody has logged in with it: begin again", exit.Failed},
		"invalid_client":  {"has refused: invalid_client", exit.Refused},
		"for another API": {"The token is for another audience (aud).", exit.Refused},
	} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			audience := "jobs"
			if answer == "for another API" {
				audience, answer = "others", ""
			}
			u, idp := newMember(t, audience)
			idp.Answer(answer)
			_, problems, status := u.types(t, "login")
			require.Equal(t, want.status, status)
			require.Contains(t, problems, want.text)
			require.NotContains(t, problems, "canary")
			require.NoFileExists(t, u.login())
		})
	}
}

func TestAnIDTokenIsSentIfAnAccessTokenIsNoJSONWebToken(t *testing.T) {
	t.Parallel()
	u, idp := newMember(t, "jobs")
	idp.Opaque()
	u.must(t, "login")
	u.must(t, "collection", "list")
}

func TestALoginIsForTheAPIOfItsContextAlone(t *testing.T) {
	t.Parallel()
	u, _ := newMember(t, "jobs")
	u.must(t, "login")
	var r recorder
	other := r.serve(t, "other")
	u.must(t, "collection", "list", "-o", "name", "--url", other)
	u.must(t, "context", "add", "prod", "--url", other)
	u.must(t, "collection", "list", "-o", "name")
	u.must(t, "collection", "list", "-o", "name", "--context", "prod")
	for _, asked := range r.asked {
		require.True(t, strings.HasPrefix(asked, "other"), asked)
		require.NotContains(t, asked, "ey", "a token")
	}
	require.Len(t, r.asked, 3)
	u.must(t, "context", "remove", "prod")
	require.NoFileExists(t, u.login())
}

func TestAContextMaySayWhereToLogIn(t *testing.T) {
	t.Parallel()
	idp := issuertest.New(t, "jobs")
	var r recorder
	home := t.TempDir()
	u := &user{home, map[string]string{"HOME": home, "XDG_CONFIG_HOME": home}}
	at := r.serve(t, "api")
	u.must(t, "context", "add", "prod", "--url", at)
	_, problems, status := u.types(t, "login")
	require.Equal(t, exit.Refused, status)
	require.Contains(t, problems, "does not say where to log in: it needs --oidc-cli-client-id, or the context --oidc-issuer and --oidc-client-id")
	_, problems, status = u.types(t, "context", "add", "prod", "--url", at, "--oidc-issuer", idp.URL)
	require.Equal(t, exit.Usage, status)
	require.Contains(t, problems, "--oidc-issuer and --oidc-client-id need each other")
	u.must(t, "context", "add", "prod", "--url", at, "--oidc-issuer", idp.URL, "--oidc-client-id", "mine", "--oidc-scopes", "api://jobs/.default")
	u.must(t, "login")
	require.Equal(t, "openid api://jobs/.default", idp.Sent()[0]["scope"])
	_, problems, status = u.types(t, "login", "prd")
	require.Equal(t, exit.NotFound, status)
	require.Contains(t, problems, "did you mean prod?")
}

func TestAnInterruptedLoginEnds(t *testing.T) {
	t.Parallel()
	u, idp := newMember(t, "jobs")
	idp.Answer("authorization_pending")
	ctx, stop := context.WithTimeout(t.Context(), 1500*time.Millisecond) // after the first poll
	defer stop()
	_, _, status := u.typesFor(ctx, t, "login")
	require.Equal(t, exit.Failed, status)
	require.NoFileExists(t, u.login())
}
