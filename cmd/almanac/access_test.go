package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/access/token"
	"almanac/cmd/almanac/internal/settings"
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
	set, err := token.Parse([]byte(line), settings.AccessDefaults)
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

func TestSixtyCreationsAndRevocationsAtOnceLoseNothing(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	for i := range 60 {
		_, err := almanac(t, "", nil, "token", "create", "--name", fmt.Sprint("old", i), "--token-file", file)
		require.NoError(t, err)
	}
	var all sync.WaitGroup
	secrets := make([]string, 60)
	for i := range 60 {
		all.Go(func() {
			out, err := almanac(t, "", nil, "token", "create", "--name", fmt.Sprint("new", i), "--role", "reader", "--token-file", file)
			if err != nil {
				t.Error(err)
			}
			secrets[i] = strings.TrimSpace(out)
		})
		all.Go(func() {
			out, err := almanac(t, "", nil, "token", "revoke", fmt.Sprint("old", i), "--token-file", file)
			if err != nil || !strings.Contains(out, fmt.Sprintf("The token old%d is no longer in %s.", i, file)) {
				t.Error(out, err)
			}
		})
	}
	all.Wait()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	set, err := token.Parse(text, settings.AccessDefaults)
	require.NoError(t, err)
	require.Len(t, set.Entries(), 60)
	for _, secret := range secrets {
		require.NotNil(t, set.Find(token.HashOf(secret)))
	}
}

func TestAFileOfTokensThatCannotBeChangedIsUntouchedAndNothingIsSaidToBeInForce(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	for text, want := range map[string]string{
		"null\n":                             "the layout of the file has no place for a further token",
		"- {name: a}\n":                      "line 1: [0].sha256: it is missing",
		"- name: a\n  sha256: 00\n  role: x": "the file ends in the middle of a line",
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		out, err := almanac(t, "", nil, "token", "create", "--name", "b", "--token-file", file)
		require.ErrorContains(t, err, "--token-file: "+file+": ")
		require.ErrorContains(t, err, want)
		require.Empty(t, out)
		if text != "null\n" {
			out, err = almanac(t, "", nil, "token", "revoke", "a", "--token-file", file)
			require.ErrorContains(t, err, want)
			require.Empty(t, out)
		}
		after, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, text, string(after))
	}
}
