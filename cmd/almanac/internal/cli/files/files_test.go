package files_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/client"
	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/cli/files"
	"almanac/internal/apitest"
)

// serve returns the URL of an API with the job collection reports.
func serve(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(api.New(&apitest.Memory{}, api.Options{}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, client.Options{})
	require.NoError(t, err)
	_, err = c.PutCollection(t.Context(), "reports", client.Collection{Properties: client.CollectionProperties{SKU: client.SKU{Name: "P20Premium"}}})
	require.NoError(t, err)
	return server.URL
}

// run runs a command line, with a home of its own, and returns what it prints and its status.
func run(t *testing.T, stdin string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	home := t.TempDir()
	getenv := func(name string) (string, bool) {
		value, ok := map[string]string{"HOME": home, "XDG_CONFIG_HOME": home, "PASSWORD": "correct-horse"}[name]
		return value, ok
	}
	root := &cobra.Command{Use: "almanac", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(files.Commands(getenv)...)
	var out, problems strings.Builder
	root.SetArgs(args)
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&out)
	root.SetErr(&problems)
	err := root.ExecuteContext(context.WithoutCancel(t.Context()))
	if err == nil {
		return out.String(), problems.String(), 0
	}
	return out.String(), problems.String() + err.Error(), exit.CodeOf(err)
}

const nightly = "startTime: 2026-01-01T06:00:00Z\nrecurrence: {frequency: day}\n" +
	"action: {type: Http, request: {uri: 'http://example.com/', authentication: {type: Basic, username: u, password: {$env: PASSWORD}}}}\n"

func TestJobFilesFromTheFirstToAnExport(t *testing.T) {
	t.Parallel()
	at := "--url=" + serve(t)
	dir := filepath.Join(t.TempDir(), "jobs")
	_, _, status := run(t, "", "init", dir, "--collections", "reports")
	require.Zero(t, status)
	config, err := os.ReadFile(filepath.Join(dir, "almanac.yaml"))
	require.NoError(t, err)
	require.Regexp(t, `(?m)^collections:\n  - reports\nowner: [0-9a-f-]{36}$`, string(config))
	require.FileExists(t, filepath.Join(dir, ".almanac", "job.schema.json"))
	_, stderr, status := run(t, "", "init", dir)
	require.NotZero(t, status)
	require.Contains(t, stderr, "almanac.yaml is there already")

	require.NoError(t, os.Mkdir(filepath.Join(dir, "reports"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "reports", "nightly.yaml"), []byte(nightly), 0o600))
	stdout, _, status := run(t, "", "plan", at, "-f", dir, "--others=0")
	require.Equal(t, 2, status)
	require.Contains(t, stdout, "+ reports/nightly")
	require.Contains(t, stdout, "action.request.authentication.password: secret: not compared")
	require.Contains(t, stdout, "1 to create, 0 to change, 0 unchanged.")

	stdout, stderr, status = run(t, "", "apply", at, "-f", dir, "--others=0")
	require.Equal(t, exit.Usage, status, "without a terminal nothing is asked")
	require.Contains(t, stderr, "--yes")
	require.Contains(t, stdout, "+ reports/nightly", "the plan is shown")
	stdout, _, status = run(t, "", "plan", at, "-f", dir, "--others=0", "-o", "json")
	require.Equal(t, 2, status, "and nothing was done")
	require.True(t, json.Valid([]byte(stdout)))

	stdout, _, status = run(t, "", "apply", at, "-f", dir, "--others=0", "--yes")
	require.Zero(t, status)
	require.Contains(t, stdout, "reports/nightly created\n1 created, 0 changed, 0 unchanged, 0 failed, 0 not done.\n")
	require.NotContains(t, stdout, "correct-horse")
	stdout, _, status = run(t, "", "plan", at, "-f", dir)
	require.Zero(t, status)
	require.Equal(t, "No changes: 1 job as the files say (1 job with secrets, which were not compared).\n", stdout)

	stdout, _, status = run(t, "", "apply", at, "-f", dir)
	require.Zero(t, status, "the server says that the secrets are the same")
	require.Contains(t, stdout, "0 created, 0 changed, 1 unchanged")
	stdout, _, status = run(t, "", "plan", at, "-f", dir, "--resolve-secrets")
	require.Zero(t, status)
	require.Equal(t, "No changes: 1 job as the files say.\n", stdout)

	stdout, _, status = run(t, "", "export", at, "reports")
	require.Zero(t, status)
	require.Contains(t, stdout, "collection: reports\nname: nightly\n")
	_, stderr, status = run(t, "", "export", at, "-f", dir)
	require.Zero(t, status)
	require.Contains(t, stderr, "1 jobs, 0 files written", "the file that is there says the same")
	from, _, status := run(t, stdout, "plan", at, "-f", "-")
	require.Zero(t, status, from)
}

func TestAPlanThatCannotBeMadeEndsWithOne(t *testing.T) {
	t.Parallel()
	at := "--url=" + serve(t)
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	require.NoError(t, os.WriteFile(bad, []byte("collection: reports\nrecurrence: {frequency: dayly}\n"+"action: {type: Http, request: {uri: 'http://h/'}}\n"), 0o600))
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{at, "-f", bad}, "bad.yaml:2:25: properties.recurrence.frequency: \"dayly\" is not supported"},
		{[]string{at, "-f", "/nowhere"}, "no such file"},
		{[]string{at, "-f", bad, "--take", "0"}, "--take"},
		{[]string{at, "-o", "xml"}, "--output"},
		{[]string{at, "something"}, "unknown command"},
	} {
		_, stderr, status := run(t, "", append([]string{"plan"}, tt.args...)...)
		require.Equal(t, 1, status, stderr)
		require.Contains(t, stderr, tt.want)
	}
	missing := filepath.Join(t.TempDir(), "secret.yaml")
	require.NoError(t, os.WriteFile(missing, []byte("collection: reports\n"+strings.ReplaceAll(nightly, "PASSWORD", "OTHER")), 0o600))
	_, _, status := run(t, "", "plan", at, "-f", missing, "--others=0")
	require.Equal(t, 2, status)
	_, stderr, status := run(t, "", "plan", at, "-f", missing, "--others=0", "--resolve-secrets")
	require.Equal(t, 1, status)
	require.Contains(t, stderr, "{$env: OTHER}: the variable is not set")
	_, stderr, status = run(t, "", "apply", at, "-f", missing, "--others=0", "--yes")
	require.Equal(t, 1, status)
	require.Contains(t, stderr, "{$env: OTHER}: the variable is not set")
	_, stderr, status = run(t, "", "plan", "--url=http://127.0.0.1:1", "-f", missing)
	require.Equal(t, exit.Unreachable, status, stderr)
}

// written writes a file into a directory of its own, and returns its path.
func written(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestAnApplyEndsWithTheStatusOfWhatIsWrong(t *testing.T) {
	t.Parallel()
	at := "--url=" + serve(t)
	const action = "action: {type: Http, request: {uri: 'http://h/'}}\n"
	for _, tt := range []struct {
		text string
		want int
	}{
		{"collection: none\n" + action, exit.NotFound},
		{"collection: reports\nactoin: {}\n" + action, exit.Usage},
		{"a: [", exit.Usage},
		{"# nothing\n", exit.Usage},
	} {
		_, stderr, status := run(t, "", "apply", at, "--yes", "-f", written(t, "j.yaml", tt.text))
		require.Equal(t, tt.want, status, stderr)
		_, stderr, status = run(t, "", "plan", at, "-f", written(t, "j.yaml", tt.text))
		require.Equal(t, 1, status, stderr)
	}
	for _, command := range []string{"plan", "apply"} {
		_, stderr, status := run(t, "", command, at, "-f", "-")
		require.NotZero(t, status)
		require.Contains(t, stderr, "there is no job in standard input")
		_, stderr, status = run(t, "", command, at, "-f", t.TempDir())
		require.NotZero(t, status)
		require.Contains(t, stderr, "there is no job in /")
	}
}

func TestAGivenFlagWinsOverAlmanacYAML(t *testing.T) {
	t.Parallel()
	at := "--url=" + serve(t)
	config := written(t, "almanac.yaml", "collections: [reports]\nsubscription: 11111111-1111-1111-1111-111111111111\nresourceGroup: other\n")
	dir := filepath.Dir(config)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "j.yaml"), []byte("action: {type: Http, request: {uri: 'http://h/'}}\n"), 0o600))
	_, stderr, status := run(t, "", "apply", at, "-f", dir, "--yes")
	require.Equal(t, exit.NotFound, status, stderr)
	given := []string{at, "-f", dir, "-g", client.DefaultResourceGroup, "--subscription", client.DefaultSubscription}
	_, stderr, status = run(t, "", append([]string{"apply", "--yes"}, given...)...)
	require.Zero(t, status, stderr)
	_, stderr, status = run(t, "", append([]string{"export"}, given...)...)
	require.Zero(t, status, stderr)
	_, stderr, status = run(t, "", append([]string{"export", "-c", "elsewhere"}, given...)...)
	require.Equal(t, exit.NotFound, status, stderr)
}

func TestAPlanForProgramsHasNoCharactersThatATerminalObeys(t *testing.T) {
	t.Parallel()
	at := "--url=" + serve(t)
	path := written(t, "j.yaml", "collection: reports\naction: {type: Http, request: {uri: 'http://h/', method: POST, body: a}}\n")
	_, stderr, status := run(t, "", "apply", at, "--yes", "-f", path)
	require.Zero(t, status, stderr)
	require.NoError(t, os.WriteFile(path, []byte("collection: reports\naction: {type: Http, request: {uri: 'http://h/', method: POST, body: \"\\x9b31m\"}}\n"), 0o600))
	stdout, stderr, status := run(t, "", "plan", at, "-f", path, "-o", "json")
	require.Equal(t, 2, status, stderr)
	require.Contains(t, stdout, `\u009b31m`)
}
