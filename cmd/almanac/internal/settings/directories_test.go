package settings

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

func TestServerHasTheDefaultsOfAnOperator(t *testing.T) {
	t.Parallel()
	dev, err := loaded(t, "dev", nil)
	require.NoError(t, err)
	server, err := loaded(t, "server", nil, "--data", "data")
	require.NoError(t, err)
	require.Equal(t, []string{"text", "127.0.0.1:8233"}, []string{dev.LogFormat, dev.UIListen})
	require.NotEmpty(t, dev.EgressAllow)
	require.Equal(t, []string{"json", "", "info", "full", "private"}, []string{server.LogFormat, server.UIListen, server.LogLevel, server.Synchronous, server.EgressMode})
	require.Empty(t, server.EgressAllow)
	server, err = loaded(t, "server", map[string]string{"ALMANAC_UI_LISTEN": "127.0.0.1:8233"}, "--data", "data", "--egress-allow", "127.0.0.1", "--log-format", "text")
	require.NoError(t, err)
	require.Equal(t, []string{"127.0.0.1:8233", "127.0.0.1", "text"}, []string{server.UIListen, server.EgressAllow[0], server.LogFormat})

	_, err = loaded(t, "server", nil)
	require.EqualError(t, err, "--data: no directory is given; allowed: a directory for Almanac alone, such as /var/lib/almanac")
	_, err = loaded(t, "server", nil, "--data", "data", "--listen", "0.0.0.0:8080")
	require.ErrorContains(t, err, "--unauthenticated")
}

func TestServerTakesTheDirectoryOfItsService(t *testing.T) {
	t.Parallel()
	variables := map[string]string{"STATE_DIRECTORY": "/var/lib/almanac:/var/lib/other"}
	lookup := func(name string) (string, bool) {
		value, ok := variables[name]
		return value, ok
	}
	data := func(command string, args ...string) string {
		cmd := &cobra.Command{Use: command}
		c := For(cmd, lookup)
		require.NoError(t, cmd.ParseFlags(args))
		require.NoError(t, c.Load())
		return c.Data
	}
	require.Equal(t, "/var/lib/almanac", data("server"))
	require.Equal(t, "here", data("server", "--data", "here"))
	require.Equal(t, "./almanac-data", data("dev"))
}

func TestWithALoginThereIsNoWebUIUnlessItIsAskedFor(t *testing.T) {
	t.Parallel()
	file := written(t, "tokens.yaml", "")
	c, err := loaded(t, "dev", nil, "--token-file", file)
	require.NoError(t, err)
	require.Empty(t, c.UIListen)
	c, err = loaded(t, "dev", nil, "--token-file", file, "--ui-listen", "127.0.0.1:8233")
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:8233", c.UIListen)
	_, err = loaded(t, "api", nil, "--token-file", file)
	require.NoError(t, err)
}
