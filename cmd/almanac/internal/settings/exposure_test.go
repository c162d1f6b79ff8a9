package settings

import (
	"net/url"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// loaded returns the configuration of a command with variables and arguments, and the error of loading it.
func loaded(t *testing.T, command string, variables map[string]string, args ...string) (*Config, error) {
	t.Helper()
	cmd := &cobra.Command{Use: command}
	c := For(cmd, func(name string) (string, bool) {
		value, ok := variables[name]
		return value, ok
	})
	require.NoError(t, cmd.ParseFlags(args))
	return c, c.Load()
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

func TestPublicURLs(t *testing.T) {
	t.Parallel()
	read := func(text string) (*url.URL, error) {
		c, err := loaded(t, "api", map[string]string{"ALMANAC_PUBLIC_URL": text})
		return c.PublicURL, err
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
