package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/access/token"
	"almanac/api"
	"almanac/internal/telemetry"
)

func TestATokenIsCreatedListedAndRevoked(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	created, err := almanac(t, "", nil, "token", "create", "--name", "ci", "--role", "operator", "--scope", "/jobCollections/payroll", "--token-file", file)
	require.NoError(t, err)
	require.Regexp(t, "^"+token.Pattern+"\n$", created)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Regexp(t, `^- \{name: ci, sha256: [0-9a-f]{64}, role: operator, scope: '/jobCollections/payroll', expires: 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ\}\n$`, string(text))
	require.NotContains(t, string(text), strings.TrimSpace(created)[4:])

	_, err = almanac(t, "", map[string]string{"ALMANAC_TOKEN_FILE": file}, "token", "create", "--name", "forever", "--expires", "")
	require.NoError(t, err)
	list, err := almanac(t, "", nil, "token", "list", "--token-file", file)
	require.NoError(t, err)
	require.Regexp(t, `^NAME +ROLE +SCOPE +EXPIRES\nci +operator +/subscriptions/\S+/jobCollections/payroll +20\S+Z\nforever +none +- +never\n$`, list)

	_, err = almanac(t, "", nil, "token", "create", "--name", "ci", "--token-file", file)
	require.EqualError(t, err, "--name: "+file+" has a token named ci; allowed: another name, or this one after almanac token revoke ci")
	_, err = almanac(t, "", nil, "token", "revoke", "ci", "--token-file", file)
	require.NoError(t, err)
	_, err = almanac(t, "", nil, "token", "revoke", "ci", "--token-file", file)
	require.ErrorContains(t, err, "the file has no token of that name")
	list, err = almanac(t, "", nil, "token", "list", "--token-file", file)
	require.NoError(t, err)
	require.NotContains(t, list, "ci ")
}

func TestATokenIsPrintedWithItsLineWhereThereIsNoFile(t *testing.T) {
	t.Parallel()
	out, err := almanac(t, "", nil, "token", "create", "--name", "ci", "--role", "reader", "--expires", "1h")
	require.NoError(t, err)
	secret, line, _ := strings.Cut(out, "\n")
	set, err := token.Parse([]byte(line), accessDefaults)
	require.NoError(t, err)
	require.NotNil(t, set.Find(token.HashOf(secret)))
}

func TestMistakesAboutATokenAreReported(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"create":                             `--name: "" cannot be the name of a token; allowed: 1 to 64 letters`,
		"create --name a/b":                  `--name: "a/b" cannot be the name of a token`,
		"create --name a --role root":        `--role: unknown value "root"; allowed: reader, operator, contributor, owner`,
		"create --name a --scope payroll":    `--scope: "payroll" is not the path of a resource; allowed: /, /jobCollections/NAME`,
		"create --name a --expires 1s":       "--expires: 1s is too short; allowed: 1m to 3650d",
		"list":                               "--token-file: no file is given",
		"revoke a":                           "--token-file: no file is given",
		"list --token-file nowhere.yaml":     "--token-file: open nowhere.yaml",
		"revoke":                             `Run "almanac token revoke --help"`,
		"bogus":                              `unknown command "bogus" for "almanac token"`,
		"create --name a --token-file /dev/": "--token-file: ",
	} {
		_, err := almanac(t, "", nil, append([]string{"token"}, strings.Fields(args)...)...)
		require.ErrorContains(t, err, want, args)
	}
}

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
	require.Empty(t, c.egressAllow, "callers of other machines write jobs, which must not call this one")
}

func TestAFileThatOthersMayWriteIsWarnedOf(t *testing.T) {
	t.Parallel()
	file := written(t, "tokens.yaml", "")
	require.NoError(t, os.Chmod(file, 0o666))
	c, err := loaded(t, "api", nil, "--token-file", file)
	require.NoError(t, err)
	require.Len(t, c.warnings, 1)
	require.Contains(t, c.warnings[0], "chmod 600")
}

// ready is a scheduler that is ready.
type ready struct{ going }

func (ready) Ready(context.Context) error { return nil }

func TestAChangeOfTheFilesIsInForceWithinTwoSecondsWithoutARestart(t *testing.T) {
	t.Parallel()
	secret := token.New()
	entry := fmt.Sprintf("- {name: ci, sha256: %x}\n", token.HashOf(secret))
	tokens, policy := written(t, "tokens.yaml", ""), written(t, "access.yaml", "")
	c, err := loaded(t, "api", nil, "--token-file", tokens, "--access", policy)
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		c.log = slog.New(slog.DiscardHandler)
		c.telemetry = new(telemetry.Telemetry)
		o := api.Options{}
		c.openDoor(ctx)
		c.protectAPI(&o)
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
