package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// written returns the name of a file with a text.
func written(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func TestSettingsOfWhoMayCallHaveToAgree(t *testing.T) {
	t.Parallel()
	tokens, broken := written(t, "tokens.yaml", ""), written(t, "broken.yaml", "- {name: a}")
	policy := written(t, "access.yaml", "assignments:\n- {principal: {group: g}, role: reader, scope: /}")
	for args, want := range map[string]string{
		"--token-file " + tokens:                            "",
		"--token-file " + tokens + " --listen 0.0.0.0:8080": "",
		"--oidc-issuer https://a.example --oidc-audience x --listen 0.0.0.0:8080 --access " + policy:           "",
		"--oidc-issuer https://a.example --oidc-issuer https://b.example --oidc-audience x":                    "",
		"--oidc-issuer https://a.example --oidc-issuer https://b.example --oidc-audience x --access " + policy: "several issuers, whose names may mean others",
		"--token-file " + tokens + " --access " + policy:                                                       "no --oidc-issuer is given",
		"--token-file nowhere.yaml":                              "--token-file: open nowhere.yaml: no such file or directory",
		"--token-file " + broken:                                 "--token-file: " + broken + ": line 1: [0].sha256: it is missing",
		"--token-file " + tokens + " --access nowhere.yaml":      "--access: open nowhere.yaml",
		"--access " + policy:                                     "--access: nothing tells who calls; allowed: it beside --token-file, --oidc-issuer or --client-ca",
		"--oidc-issuer https://a.example":                        "--oidc-issuer: no audience is given",
		"--oidc-audience x":                                      "--oidc-audience: no issuer is given",
		"--oidc-issuer http://a.example --oidc-audience x":       "--oidc-issuer: http is not safe",
		"--token-file " + tokens + " --allow-secret-retargeting": "--allow-secret-retargeting: it lets callers have secrets sent to a target of their own; allowed: it without --token-file",
	} {
		_, err := loaded(t, "api", nil, strings.Fields(args)...)
		if want == "" {
			require.NoError(t, err, args)
		} else {
			require.ErrorContains(t, err, want, args)
		}
	}
	_, err := loaded(t, "dev", nil, "--token-file", tokens, "--listen", "0.0.0.0:8080", "--ui-listen", "0.0.0.0:8233")
	require.NoError(t, err, "the Web UI asks for a login, too")
	_, err = loaded(t, "dev", nil, "--token-file", tokens, "--temporal-listen", "0.0.0.0:7233")
	require.ErrorContains(t, err, "--temporal-listen: 0.0.0.0:7233 can be reached by other machines, and asks for no login")
	c, err := loaded(t, "dev", nil, "--token-file", tokens, "--listen", "0.0.0.0:8080")
	require.NoError(t, err)
	require.Empty(t, c.EgressAllow, "callers of other machines write jobs, which must not call this one")
}

func TestAFileThatOthersMayWriteIsWarnedOf(t *testing.T) {
	t.Parallel()
	file := written(t, "tokens.yaml", "")
	require.NoError(t, os.Chmod(file, 0o666))
	c, err := loaded(t, "api", nil, "--token-file", file)
	require.NoError(t, err)
	require.Len(t, c.Warnings, 1)
	require.Contains(t, c.Warnings[0], "chmod 600")
}
