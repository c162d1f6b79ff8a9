package conformance_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheNodeClient runs the tests of the client for Node, which are in node/.
func TestTheNodeClient(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("npm"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("CI needs Node 20 or later, with npm: the tests of the Node client have to run there")
		}
		t.Skip("npm is not installed: the tests of the Node client do not run; they need Node 20 or later")
	}
	l := newLocked(t)
	login, err := json.Marshal(map[string]any{
		"url": l.url, "issuer": l.plain, "entra": l.URL, "tenant": tenant, "secret": secret, "subscriptions": l.subscriptions,
	})
	require.NoError(t, err)
	npm := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "npm", args...)
		cmd.Env = append(os.Environ(), "ALMANAC_URL="+almanac, "ALMANAC_LOGIN="+string(login), "NODE_EXTRA_CA_CERTS="+l.roots)
		out, err := cmd.CombinedOutput()
		t.Logf("npm %v\n%s", args, out)
		require.NoError(t, err)
	}
	npm("ci", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund")
	npm("test")
}
