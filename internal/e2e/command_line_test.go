package e2e_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A shell runs the program as a script does: without a terminal.
type shell struct {
	path string
	env  []string
}

// newShell returns a shell whose commands work in a collection.
func newShell(t *testing.T, url, collection string) shell {
	t.Helper()
	home := t.TempDir()
	return shell{program(t), []string{
		"HOME=" + home, "XDG_CONFIG_HOME=" + home, "ALMANAC_URL=" + url, "ALMANAC_COLLECTION=" + collection, "PATH=" + os.Getenv("PATH"),
	}}
}

// run returns what a command printed as JSON, what it told people, and its exit status.
func (s shell) run(t *testing.T, line ...string) (printed any, told string, status int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), s.path, append(line, "-o", "json")...)
	cmd.Env = s.env
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	_ = cmd.Run() // the status says it
	if out.Len() > 0 {
		require.NoError(t, json.Unmarshal(out.Bytes(), &printed), "%v: %s", line, out.String())
	}
	return printed, problems.String(), cmd.ProcessState.ExitCode()
}

// fine returns what a command printed that succeeded.
func (s shell) fine(t *testing.T, line ...string) any {
	t.Helper()
	printed, told, status := s.run(t, line...)
	require.Zero(t, status, "%v: %s", line, told)
	return printed
}

// statuses returns what became of each job.
func statuses(t *testing.T, printed any) map[string]any {
	t.Helper()
	all := map[string]any{}
	list, ok := printed.([]any)
	require.True(t, ok, "%v", printed)
	for _, one := range list {
		of, ok := one.(map[string]any)
		require.True(t, ok)
		name, _ := of["name"].(string)
		all[path.Base(name)] = of["status"]
	}
	return all
}

func TestScriptsGetAlongWithExitStatusesAndJSON(t *testing.T) {
	t.Parallel()
	s := use(t)
	var broken atomic.Bool
	target := newSink(t, func(w http.ResponseWriter, _ *http.Request) {
		if broken.Load() {
			w.WriteHeader(http.StatusTeapot) // which is not retried
		}
	})
	collection := path.Base(s.collection(t))
	sh := newShell(t, s.url, collection)
	start := time.Now().Add(48 * time.Hour).UTC().Format("2006-01-02T15:04:05Z")

	for _, name := range []string{"a", "b", "c"} {
		made := sh.fine(t, "job", "create", name, target.URL+"/"+name, "--every", "day", "--start", start, "--retries", "0")
		require.Equal(t, collection+"/"+name, made.(map[string]any)["name"])
	}
	_, told, status := sh.run(t, "job", "create", "a", target.URL)
	require.Equal(t, 4, status, told)
	require.Len(t, sh.fine(t, "job", "list"), 3)

	run := sh.fine(t, "job", "run", "a", "--wait").(map[string]any)
	require.Equal(t, "Completed", run["outcome"])
	broken.Store(true)
	printed, told, status := sh.run(t, "job", "run", "a", "--wait")
	require.Equal(t, 1, status, told)
	require.Equal(t, "Failed", printed.(map[string]any)["outcome"])
	require.Contains(t, told, "attempt 1  Failed")
	require.Len(t, sh.fine(t, "job", "history", "a", "--failed"), 1)
	broken.Store(false)

	_, told, status = sh.run(t, "job", "disable", "a", "b")
	require.Equal(t, 2, status, told)
	require.Contains(t, told, "Disable 2 jobs? There is no terminal to ask at: --yes says so")
	require.Len(t, sh.fine(t, "job", "list", "--filter", "state eq enabled"), 3, "nothing was done")
	printed, told, status = sh.run(t, "job", "disable", "a", "b", "nowhere", "--yes")
	require.Equal(t, 3, status, told)
	require.Equal(t, map[string]any{"a": "Done", "b": "Done", "nowhere": "Missing"}, statuses(t, printed))
	eventually(t, "the list has it", func() bool {
		found, _, _ := sh.run(t, "job", "list", "--filter", "state eq disabled")
		return len(found.([]any)) == 2
	})
	require.Equal(t, map[string]any{"a": "Done", "b": "Done"},
		statuses(t, sh.fine(t, "job", "enable", "--filter", "state eq disabled", "--yes")))

	require.Len(t, sh.fine(t, "job", "next", "c", "--take", "3"), 3)
	sh.fine(t, "job", "skip", "c")
	sh.fine(t, "job", "edit", "c", "--hours", "7", "--minutes", "30")
	changed := sh.fine(t, "job", "get", "c").(map[string]any)["properties"].(map[string]any)
	require.Equal(t, target.URL+"/c", changed["action"].(map[string]any)["request"].(map[string]any)["uri"])
	require.Equal(t, []any{7.0}, changed["recurrence"].(map[string]any)["schedule"].(map[string]any)["hours"])
	why := sh.fine(t, "job", "why", "c", start).(map[string]any)
	require.NotEmpty(t, why["properties"].(map[string]any)["sentence"])
	require.NotEmpty(t, sh.fine(t, "activity", "--collection", collection))
	sh.fine(t, "forecast", "--collection", collection)

	_, told, status = sh.run(t, "job", "get", "nowhere/a")
	require.Equal(t, 3, status, told)
	sh.fine(t, "job", "delete", "a", "--yes")
	require.Equal(t, map[string]any{"b": "Done", "c": "Done"}, statuses(t, sh.fine(t, "job", "delete", "b", "c", "--yes")))
	require.Empty(t, sh.fine(t, "job", "list"))
	sh.fine(t, "collection", "delete", collection, "--yes")
	_, _, status = sh.run(t, "collection", "get", collection)
	require.Equal(t, 3, status)
}

func TestAWrongFileIsRefusedWithItsLine(t *testing.T) {
	t.Parallel()
	s := use(t)
	target := newSink(t, nil)
	c := s.collection(t)
	sh := newShell(t, s.url, path.Base(c))
	start := time.Now().Add(48 * time.Hour).UTC().Format("2006-01-02T15:04:05Z")
	sh.fine(t, "job", "create", "a", target.URL, "--every", "day", "--start", start)
	file := filepath.Join(t.TempDir(), "a.yaml")
	get := exec.CommandContext(t.Context(), sh.path, "job", "get", "a", "-o", "yaml")
	get.Env = sh.env
	text, err := get.Output()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(text), "interval: 1", "intervall: 1", 1)), 0o600))
	_, told, status := sh.run(t, "job", "edit", "a", "-f", file)
	require.Equal(t, 4, status, told)
	require.Regexp(t, `a\.yaml:\d+:5: properties\.recurrence\.intervall: unknown field; did you mean "interval"\?`, told)
}
