package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/client"
	"almanac/internal/wanted"
)

// inFiles returns a client with a job collection "c" of the test's own.
func inFiles(t *testing.T, group string) *client.Client {
	t.Helper()
	c, err := client.New(use(t).url, client.Options{})
	require.NoError(t, err)
	c = c.In("files", group)
	_, err = c.PutCollection(t.Context(), "c", client.Collection{Properties: client.CollectionProperties{SKU: client.SKU{Name: "P20Premium"}}})
	require.NoError(t, err)
	return c
}

// jobFiles writes files into a directory, which it returns.
func jobFiles(t *testing.T, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

func planOf(t *testing.T, c *client.Client, dir string) *wanted.Plan {
	t.Helper()
	d, err := wanted.Load(dir, nil, "")
	require.NoError(t, err)
	p, err := wanted.New(t.Context(), wanted.Options{Client: c}, d)
	require.NoError(t, err)
	return p
}

func outcomes(t *testing.T, p *wanted.Plan, s *wanted.Secrets) map[string]int {
	t.Helper()
	results, err := p.Apply(t.Context(), wanted.Apply{Secrets: s})
	require.NoError(t, err)
	count := map[string]int{}
	for _, r := range results {
		count[strings.TrimSpace(r.Outcome+" "+r.Error)]++
	}
	return count
}

func TestAPlanSaysWhichRunsMove(t *testing.T) {
	t.Parallel()
	c := inFiles(t, "plan")
	const action = "action: {type: Http, request: {uri: 'https://example.com/'}}\n"
	at := func(hour int) string {
		return fmt.Sprintf("startTime: 2026-01-01T00:00:00Z\nrecurrence: {frequency: day, schedule: {hours: [%d], minutes: [17]}}\n", hour) + action
	}
	dir := jobFiles(t, map[string]string{"c/a.yaml": at(3), "c/b.yaml": at(5)})
	require.Equal(t, map[string]int{wanted.Created: 2}, outcomes(t, planOf(t, c, dir), &wanted.Secrets{}))

	require.NoError(t, os.WriteFile(filepath.Join(dir, "c", "a.yaml"), []byte(at(5)), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "c", "d.yaml"), []byte(at(5)), 0o600))
	p := planOf(t, c, dir)
	require.Equal(t, wanted.Summary{Create: 1, Update: 1, Unchanged: 1}, p.Summary())
	moved := p.Changes[0].Runs
	require.GreaterOrEqual(t, moved.Moved, 9, "%+v", moved)
	require.Equal(t, 5, moved.Runs[1].WillBe.Hour())
	require.Equal(t, 2*time.Hour, moved.Runs[1].WillBe.Sub(moved.Runs[1].Was))
	require.GreaterOrEqual(t, moved.Runs[1].Others, 2, "b and, when the plan is done, d are due as well")
	added := p.Changes[2].Runs
	require.Equal(t, 10, added.Added)
	require.GreaterOrEqual(t, added.Runs[1].Others, 2, "b, and a when the plan is done")
	var text strings.Builder
	require.NoError(t, p.Text(&text))
	require.Contains(t, text.String(), "recurrence.schedule.hours: [3] → [5]")
	require.Equal(t, map[string]int{wanted.Created: 1, wanted.Updated: 1}, outcomes(t, p, &wanted.Secrets{}))
	require.False(t, planOf(t, c, dir).Changed())
}

// bodies are the bodies of jobs that the repository has: the examples, recordings of Azure Scheduler, and what was found
// in the wild.
func bodies(t *testing.T) map[string]json.RawMessage {
	t.Helper()
	all := map[string]json.RawMessage{}
	for _, pattern := range []string{"../../examples/*.json", "../../job/input/testdata/wild/*.json"} {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, paths)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			var wild struct {
				Kind    string
				Request json.RawMessage
			}
			require.NoError(t, json.Unmarshal(text, &wild))
			if wild.Kind == "job" {
				text = wild.Request
			}
			if wild.Kind != "collection" {
				all[strings.TrimSuffix(filepath.Base(path), ".json")] = text
			}
		}
	}
	text, err := os.ReadFile("../../job/input/testdata/recorded.json")
	require.NoError(t, err)
	var sessions map[string][]struct {
		Method, URI string
		Request     json.RawMessage
	}
	require.NoError(t, json.Unmarshal(text, &sessions))
	for name, session := range sessions {
		for i, e := range session {
			if e.Method == "PUT" && strings.Contains(e.URI, "/jobs/") {
				all[fmt.Sprintf("recorded %s %d", strings.ReplaceAll(name, "/", " "), i)] = e.Request
			}
		}
	}
	return all
}

func TestWhatIsExportedAndAppliedIsExportedAgainByteForByte(t *testing.T) {
	t.Parallel()
	c := inFiles(t, "export")
	_, err := c.DisableCollection(t.Context(), "c") // no job ends meanwhile
	require.NoError(t, err)
	stored := 0
	for name, body := range bodies(t) {
		if _, err := c.PutJobBody(t.Context(), "c", name, body); err == nil { // others are refused on purpose
			stored++
		}
	}
	require.Greater(t, stored, 40)
	tags := func() map[string]string {
		all := map[string]string{}
		for page, err := range c.Jobs(t.Context(), "c", client.List{}) {
			require.NoError(t, err)
			_, name := page.Names()
			_, etag, err := c.JobBody(t.Context(), "c", name)
			require.NoError(t, err)
			all[name], _, _ = strings.Cut(etag, "-")
		}
		return all
	}
	before := tags()
	export := func(dir string) map[string]string {
		all, err := wanted.Exported(t.Context(), c, []string{"c"})
		require.NoError(t, err)
		_, err = wanted.Export(dir, all)
		require.NoError(t, err)
		return filesIn(t, dir)
	}
	dir := t.TempDir()
	first := export(dir)
	require.Len(t, first, stored)
	p := planOf(t, c, dir)
	for _, change := range p.Changes {
		require.Equal(t, wanted.Keep, change.Action, "%s: %+v", change.Name, change.Fields)
	}
	require.Empty(t, outcomes(t, p, &wanted.Secrets{}))
	require.Equal(t, first, export(dir))
	require.Equal(t, first, export(t.TempDir()))
	require.Equal(t, before, tags(), "no generation is another one")
}

func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		texts[strings.TrimPrefix(path, dir)] = string(text)
		return err
	}))
	return texts
}

// soon returns the start of a job that does not run in a test.
func soon() string {
	return "startTime: " + time.Now().AddDate(0, 6, 0).UTC().Format(time.DateOnly) + "\n"
}

func TestASecretIsSentAgainAndChangesNothingUnlessItIsAnother(t *testing.T) {
	t.Parallel()
	c := inFiles(t, "secrets")
	dir := jobFiles(t, map[string]string{"c/a.yaml": "recurrence: {frequency: day}\n" + soon() + "action: {type: Https, request: " +
		"{uri: 'https://example.com/', authentication: {type: Basic, username: elf, password: {$env: PASSWORD}}}}\n"})
	secrets := func(value string) *wanted.Secrets {
		return &wanted.Secrets{Getenv: func(string) (string, bool) { return value, true }}
	}
	require.Equal(t, map[string]int{wanted.Created: 1}, outcomes(t, planOf(t, c, dir), secrets("first")))
	p := planOf(t, c, dir)
	require.Equal(t, wanted.Summary{Unchanged: 1, Secrets: 1}, p.Summary())
	require.Equal(t, map[string]int{wanted.Unchanged: 1}, outcomes(t, p, secrets("first")))
	require.Equal(t, map[string]int{wanted.Updated: 1}, outcomes(t, planOf(t, c, dir), secrets("second")))
	require.Equal(t, map[string]int{wanted.Unchanged: 1}, outcomes(t, planOf(t, c, dir), secrets("second")))
}

func TestTwoAppliesAtTheSameTimeMakeWhatTheFilesSay(t *testing.T) {
	t.Parallel()
	c := inFiles(t, "concurrent")
	texts := map[string]string{}
	const n = 110
	for i := range n {
		texts[fmt.Sprintf("c/j%02d.yaml", i)] = soon() + "action: {type: Https, request: {uri: 'https://example.com/'}}\n"
	}
	dir := jobFiles(t, texts)
	plans := []*wanted.Plan{planOf(t, c, dir), planOf(t, c, dir)}
	found := make([]map[string]int, 2)
	var both sync.WaitGroup
	for i, p := range plans {
		both.Go(func() { found[i] = outcomes(t, p, &wanted.Secrets{}) })
	}
	both.Wait()
	require.Equal(t, n, found[0][wanted.Created]+found[1][wanted.Created], "%v", found)
	require.Equal(t, n, found[0][wanted.Unchanged]+found[1][wanted.Unchanged], "%v", found)
	digests := map[string]int{}
	for d, err := range c.Digests(t.Context(), "c") {
		require.NoError(t, err)
		digests[d.Digest]++
	}
	require.Len(t, digests, 1, "the jobs are the same but for their names")
	require.NotContains(t, digests, "")
	require.False(t, planOf(t, c, dir).Changed())
}

// The program is killed again and again while it applies. It leaves nothing behind, and the last apply has the rest to do.
func TestAnApplyThatIsKilledGoesOn(t *testing.T) {
	t.Parallel()
	c := inFiles(t, "killed")
	texts := map[string]string{"almanac.yaml": "subscription: files\nresourceGroup: killed\ncollections: [c]\n"}
	const n = 60
	for i := range n {
		texts[fmt.Sprintf("c/j%02d.yaml", i)] = soon() + "action: {type: Https, request: {uri: 'https://example.com/'}}\n"
	}
	dir := jobFiles(t, texts)
	url, binary := use(t).url, program(t)
	apply := func(lines int) {
		cmd := exec.CommandContext(t.Context(), binary, "apply", "--url", url, "-f", dir, "--yes", "--others", "0", "--parallel", "2")
		cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+t.TempDir())
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		created := 0
		for s := bufio.NewScanner(out); s.Scan(); {
			if strings.HasSuffix(s.Text(), " created") {
				if created++; created == lines {
					require.NoError(t, cmd.Process.Kill())
				}
			}
		}
		if err := cmd.Wait(); lines == 0 {
			require.NoError(t, err)
		}
	}
	for killed := range 10 {
		apply(killed%4 + 1)
	}
	left := planOf(t, c, dir).Summary()
	require.Positive(t, left.Create)
	require.Zero(t, left.Update)
	apply(0)
	require.Equal(t, wanted.Summary{Unchanged: n}, planOf(t, c, dir).Summary())
}
