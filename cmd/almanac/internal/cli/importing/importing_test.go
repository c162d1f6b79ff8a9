package importing_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/cli/importing"
)

// run runs the command, and returns what it prints.
func run(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	cmd := importing.Command(func(string) (string, bool) { return "", false })
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetIn(strings.NewReader(stdin))
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	name = filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

const crontab = "CRON_TZ=UTC\n0 9 * * * curl -fs -u me:hunter2 https://a.example/x\n"

func TestFilesAndReport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source, out := write(t, dir, "my.cron", crontab), filepath.Join(dir, "jobs")
	printed, err := run(t, "", "crontab", source, "--out", out, "--now", "2026-11-27T12:00:00Z")
	require.NoError(t, err)
	require.Contains(t, printed, "default/a.example  same\n")
	require.Contains(t, printed, "runs: the next 100 are equal; next 2026-11-28T09:00:00Z")
	require.Contains(t, printed, "A_EXAMPLE_PASSWORD")
	require.NotContains(t, printed, "hunter2")
	text, err := os.ReadFile(filepath.Join(out, "default", "a.example.yaml"))
	require.NoError(t, err)
	require.Contains(t, string(text), "password: {$env: A_EXAMPLE_PASSWORD}")

	_, err = run(t, "", "crontab", source, "--out", out)
	require.NoError(t, err, "the same files may be there")
	write(t, out, "default/a.example.yaml", "mine")
	_, err = run(t, "", "crontab", source, "--out", out)
	require.ErrorContains(t, err, "--overwrite")
	_, err = run(t, "", "crontab", source, "--out", out, "--overwrite")
	require.NoError(t, err)
}

func TestCronLeavesOutFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"app", "app.rpmsave", "app~", "app.dpkg-old"} {
		write(t, dir, "cron.d/"+name, "CRON_TZ=UTC\n0 9 * * * root curl -fs https://a.example/"+name+"\n")
	}
	printed, err := run(t, "", "crontab", filepath.Join(dir, "cron.d"), "--dry-run", "--now", "2026-11-27T12:00:00Z")
	require.NoError(t, err)
	require.Contains(t, printed, "\n1 job, 1 same\n")
	require.Equal(t, 3, strings.Count(printed, "it is left out, as cron leaves out"))
	printed, err = run(t, "", "crontab", filepath.Join(dir, "cron.d", "app.rpmsave"), "--dry-run")
	require.NoError(t, err)
	require.Contains(t, printed, "\n1 job, 1 same\n")
}

func TestForPrograms(t *testing.T) {
	t.Parallel()
	printed, err := run(t, crontab, "crontab", "-", "--dry-run", "-o", "json", "-c", "mine")
	require.NoError(t, err)
	var report struct {
		Jobs []struct {
			Collection, Verdict, File string
			Line                      int
			Runs                      struct{ Equal bool }
		}
		Count map[string]int
	}
	require.NoError(t, json.Unmarshal([]byte(printed), &report))
	require.Equal(t, 1, report.Count["same"])
	require.Equal(t, "mine", report.Jobs[0].Collection)
	require.Equal(t, 2, report.Jobs[0].Line)
	require.True(t, report.Jobs[0].Runs.Equal)

	printed, err = run(t, crontab, "crontab", "-", "--dry-run", "--markdown")
	require.NoError(t, err)
	require.Contains(t, printed, "| default/a.example | same |")
}

func TestStatuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	empty, reboot := write(t, dir, "empty", "# none\n"), write(t, dir, "reboot", "@reboot curl -f https://a.example\n")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"crontab"}, exit.Usage, "name the files"},
		{[]string{"crontab", filepath.Join(dir, "none")}, exit.Usage, "no such file"},
		{[]string{"crontab", "--time-zone", "Mars/Phobos", empty}, exit.Usage, "Mars/Phobos"},
		{[]string{"crontab", "--dry-run", empty}, exit.Failed, "no job was found"},
		{[]string{"crontab", "--dry-run", reboot}, exit.Failed, "jobs that were not written: 1 of 1"},
		{[]string{"azure", "--dry-run", empty}, exit.Failed, "no job was found"},
		{[]string{"kubernetes", "--dry-run", empty}, exit.Failed, "no job was found"},
	} {
		_, err := run(t, "", c.args...)
		require.ErrorContains(t, err, c.says, "%v", c.args)
		require.Equal(t, c.code, exit.CodeOf(err), "%v", c.args)
	}
}

// A link that leads out of the directory of a source is not followed, and no file is written outside the output.
func TestNothingOutsideIsReadOrWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "secret.txt", "CANARY")
	source := write(t, dir, "in/main.tf", `resource "azurerm_scheduler_job" "j" {
  name                = "../../escape"
  job_collection_name = "../up"
  action_web {
    url    = "https://a.example"
    method = "post"
    body   = file("link")
  }
  start_time = "2027-01-01T00:00:00Z"
}
`)
	require.NoError(t, os.Symlink("../secret.txt", filepath.Join(dir, "in", "link")))
	out := filepath.Join(dir, "in", "jobs")
	printed, err := run(t, "", "azure", source, "--out", out, "--now", "2026-11-27T12:00:00Z")
	require.NoError(t, err)
	require.NotContains(t, printed, "CANARY")
	require.Contains(t, printed, "needs 1 value")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2)
	found, err := filepath.Glob(filepath.Join(out, "*", "*.yaml"))
	require.NoError(t, err)
	require.Len(t, found, 1)
}
