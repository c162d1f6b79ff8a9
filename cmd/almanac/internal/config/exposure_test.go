package config

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/internal/settings"
	"almanac/job"
	"almanac/job/listing"
)

// loaded returns the configuration of a command with variables and arguments, and the error of loading it.
func loaded(t *testing.T, command string, variables map[string]string, args ...string) (*Config, error) {
	t.Helper()
	c, cmd := new(Config), &cobra.Command{Use: command}
	c.settings = settings.Declare(cmd, c.table(), func(name string) (string, bool) {
		value, ok := variables[name]
		return value, ok
	})
	require.NoError(t, cmd.ParseFlags(args))
	return c, c.load()
}

func TestServersWithoutALoginListenOnLoopbackAddressesUnlessAllowed(t *testing.T) {
	t.Parallel()
	check := func(variables map[string]string, args ...string) error {
		_, err := loaded(t, "dev", variables, args...)
		return err
	}
	for _, local := range []string{"127.0.0.1:0", "127.0.0.2:80", "[::1]:80", "localhost:80"} {
		require.NoError(t, check(nil, "--listen", local, "--ui-listen", ""))
	}
	for _, reached := range []string{"0.0.0.0:80", ":80", "[::]:80", "10.1.2.3:80", "almanac.internal:80"} {
		want := reached + " can be reached by other machines, and asks for no login; allowed: a loopback address such as 127.0.0.1, " +
			"or any with --unauthenticated if a proxy or a firewall keeps strangers out; with --token-file, --oidc-issuer or --client-ca it asks for a login"
		require.EqualError(t, check(nil, "--listen", reached), "--listen: "+want)
		require.EqualError(t, check(nil, "--ui-listen", reached), "--ui-listen: "+want)
		require.NoError(t, check(nil, "--listen", reached, "--unauthenticated"))
		require.NoError(t, check(map[string]string{"ALMANAC_UNAUTHENTICATED": "true"}, "--listen", reached))
		require.Error(t, check(map[string]string{"ALMANAC_UNAUTHENTICATED": "true"}, "--listen", reached, "--unauthenticated=false"))
	}
	require.EqualError(t, check(map[string]string{"ALMANAC_UNAUTHENTICATED": "perhaps"}), `$ALMANAC_UNAUTHENTICATED: "perhaps" is neither true nor false; allowed: true or false`)
}

// Everyone who reaches the API may write jobs, which must not reach services of this machine.
func TestJobsMayNotCallThisMachineByDefaultWhereOthersReachTheAPI(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		exposed   bool
		variables map[string]string
		args      []string
		allowed   bool
	}{
		{"for this machine alone", false, nil, nil, true},
		{"for others as well", true, nil, nil, false},
		{"for others, and allowed by flag", true, nil, []string{"--egress-allow", "127.0.0.1"}, true},
		{"for others, and allowed by variable", true, map[string]string{"ALMANAC_EGRESS_ALLOW": "127.0.0.0/8"}, nil, true},
		{"for this machine alone, and not allowed", false, nil, []string{"--egress-allow", ""}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			args := tt.args
			if tt.exposed {
				args = append(args, "--listen", "0.0.0.0:8080", "--unauthenticated")
			}
			c, err := loaded(t, "dev", tt.variables, args...)
			require.NoError(t, err)
			err = c.Senders.Check(&job.Action{Type: job.ActionHTTP, Request: &job.Request{URI: "http://127.0.0.1:9000/"}})
			if tt.allowed {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, "loopback addresses are refused")
			}
		})
	}
}

func TestPublicURLs(t *testing.T) {
	t.Parallel()
	read := func(text string) (*url.URL, error) {
		c, err := loaded(t, "api", map[string]string{"ALMANAC_PUBLIC_URL": text})
		return c.publicURL, err
	}
	for _, good := range []string{"https://jobs.example.com", "http://10.1.2.3:8080", "https://example.com/almanac/", "https://[::1]"} {
		public, err := read(good)
		require.NoError(t, err)
		require.Equal(t, good, public.String())
	}
	none, err := read("")
	require.NoError(t, err)
	require.Nil(t, none)
	for _, bad := range []string{
		"jobs.example.com", "/almanac", "ftp://example.com", "https://", "https:///x", "https://example.com?", "https://example.com/?a=b", "https://example.com/#a",
		"https://example.com#", "https://me:topsecret@example.com", "https://example.com:port", "://",
	} {
		_, err := read(bad)
		require.ErrorContains(t, err, "allowed: an http or https URL without a user, a query and a fragment, such as https://jobs.example.com", bad)
		require.NotContains(t, err.Error(), "topsecret")
	}
}

// A going Scheduler has a list with further pages, and operations that continue.
type going struct{ api.Scheduler }

func (going) Jobs(context.Context, job.CollectionKey, listing.Page) ([]job.Job, string, error) {
	return nil, "more", nil
}

func (going) DisableCollection(context.Context, job.CollectionKey) (*job.Operation, error) {
	return &job.Operation{ID: "1"}, nil
}

func TestLinksBeginWithThePublicURL(t *testing.T) {
	t.Parallel()
	for flag, base := range map[string]string{
		"":                              "http://127.0.0.1:8080",
		"https://jobs.example.com":      "https://jobs.example.com",
		"https://example.com:444/jobs/": "https://example.com:444/jobs",
	} {
		c, err := loaded(t, "api", nil, "--public-url", flag)
		require.NoError(t, err)
		c.Log = slog.New(slog.DiscardHandler)
		h := c.Handler(going{})
		send := func(method, path string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(method, "http://127.0.0.1:8080"+path, nil))
			return w
		}
		require.Contains(t, send(http.MethodGet, "/jobCollections/c/jobs").Body.String(), `"nextLink":"`+base+`/jobCollections/c/jobs?`)
		accepted := send(http.MethodPost, "/jobCollections/c/disable")
		require.Equal(t, http.StatusAccepted, accepted.Code)
		require.Equal(t, base+"/jobCollections/c/operationResults/1", accepted.Header().Get("Location"))
		require.Equal(t, []string{base + "/jobCollections/c/operations/1"}, map[string][]string(accepted.Header())["Azure-AsyncOperation"])
	}
}
