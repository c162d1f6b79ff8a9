package wanted_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/client"
	"almanac/internal/apitest"
	"almanac/internal/wanted"
	"almanac/job"
)

// A counter is a transport that counts the requests by their method.
type counter struct {
	http.RoundTripper
	gets, puts, posts atomic.Int64
	before            func(*http.Request) // nil: nothing
}

func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.before != nil {
		c.before(r)
	}
	switch r.Method {
	case http.MethodPut:
		c.puts.Add(1)
	case http.MethodPost:
		c.posts.Add(1)
	default:
		c.gets.Add(1)
	}
	return c.RoundTripper.RoundTrip(r)
}

// serving returns a client of an API in this process with the collections a and b.
func serving(t *testing.T, m *apitest.Memory) (*client.Client, *counter) {
	t.Helper()
	counts := &counter{RoundTripper: client.ServedBy(api.New(m, api.Options{}))}
	c, err := client.New("http://localhost", client.Options{Transport: counts})
	require.NoError(t, err)
	for _, name := range []string{"a", "b"} {
		_, err = c.PutCollection(t.Context(), name, client.Collection{Properties: client.CollectionProperties{SKU: client.SKU{Name: "P20Premium"}}})
		require.NoError(t, err)
	}
	counts.puts.Store(0)
	return c, counts
}

// files writes files into a directory, which it returns.
func files(t *testing.T, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

const daily = "startTime: 2026-01-01T06:00:00Z\nrecurrence: {frequency: day}\n" + action

const action = "action: {type: Http, request: {uri: 'http://example.com/'}}\n"

func planned(t *testing.T, c *client.Client, dir string) *wanted.Plan {
	t.Helper()
	p, err := planOf(t, c, dir)
	require.NoError(t, err)
	return p
}

func planOf(t *testing.T, c *client.Client, dir string) (*wanted.Plan, error) {
	t.Helper()
	d, err := wanted.Load(dir, strings.NewReader(""), "")
	require.NoError(t, err)
	return wanted.New(t.Context(), wanted.Options{Client: c, Previews: -1}, d)
}

func applied(t *testing.T, p *wanted.Plan, s *wanted.Secrets) map[string]string {
	t.Helper()
	results, err := p.Apply(t.Context(), wanted.Apply{Secrets: s})
	require.NoError(t, err)
	outcomes := map[string]string{}
	for _, r := range results {
		outcomes[r.Collection+"/"+r.Name] = strings.TrimSpace(r.Outcome + " " + r.Error)
	}
	return outcomes
}

func TestAnApplyMakesTheServerHaveWhatTheFilesSay(t *testing.T) {
	t.Parallel()
	c, counts := serving(t, &apitest.Memory{})
	dir := files(t, map[string]string{
		"a/one.yaml": daily, "a/more/two.yaml": daily, "b/three.yml": "name: 3\n" + daily + "---\nname: 4\nstate: disabled\n" + daily,
		"other.json":     `{"collection":"b","name":"five","properties":{"action":{"type":"Http","request":{"uri":"http://example.com/"}}}}`,
		".git/x.yaml":    "nothing",
		"b/readme.md":    "nothing",
		"a/.hidden.yaml": "nothing",
	})
	p := planned(t, c, dir)
	require.Equal(t, wanted.Summary{Create: 5}, p.Summary())
	require.Equal(t, map[string]string{"a/one": "Created", "a/two": "Created", "b/3": "Created", "b/4": "Created", "b/five": "Created"},
		applied(t, p, &wanted.Secrets{}))

	counts.puts.Store(0)
	p = planned(t, c, dir)
	require.Equal(t, wanted.Summary{Unchanged: 5}, p.Summary())
	require.Empty(t, applied(t, p, &wanted.Secrets{}))
	require.Zero(t, counts.puts.Load(), "what is there already is not sent")

	require.NoError(t, os.WriteFile(filepath.Join(dir, "a", "one.yaml"), []byte(strings.Replace(daily, "day}", "day, interval: 2}", 1)), 0o600))
	p = planned(t, c, dir)
	require.Equal(t, wanted.Summary{Update: 1, Unchanged: 4}, p.Summary())
	require.Equal(t, []wanted.Field{{Path: "recurrence.interval", From: json.RawMessage("1"), To: json.RawMessage("2")}}, p.Changes[0].Fields)
	require.Equal(t, map[string]string{"a/one": "Updated"}, applied(t, p, &wanted.Secrets{}))
	require.False(t, planned(t, c, dir).Changed())
}

func TestSpellingsAndDefaultsAreNoChange(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, first, second string }{
		{"a time", "startTime: 2026-07-01T08:00:00+02:00\n" + action, "startTime: 2026-07-01T06:00:00Z\n" + action},
		{"a local time", "startTime: 2026-07-01T08:00:00\nrecurrence: {frequency: day, timeZone: Europe/Stockholm}\n" + action,
			"startTime: 2026-07-01T06:00:00Z\nrecurrence: {frequency: day, timeZone: Europe/Stockholm}\n" + action},
		{"defaults", "recurrence: {frequency: day}\n" + action, "state: enabled\nrecurrence: {frequency: Day, interval: 1}\n" + action},
		{"within properties", daily, "properties:\n  " + strings.ReplaceAll(strings.TrimSpace(daily), "\n", "\n  ")},
		{"no authentication", action, "action: {type: Http, request: {uri: 'http://example.com/', method: GET, authentication: {type: NotSpecified}}}"},
		{"headers in another order", "action: {type: Http, request: {uri: 'http://example.com/', headers: {A: b, C: d}}}",
			"action: {type: Http, request: {uri: 'http://example.com/', headers: {C: d, A: b}}}"},
		{"members in another case and nulls", daily, strings.NewReplacer("action:", "Action:", "uri", "URI").Replace(daily) + "notifications: null\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, order := range [][]string{{tt.first, tt.second}, {tt.second, tt.first}} {
				c, _ := serving(t, &apitest.Memory{})
				require.Equal(t, map[string]string{"a/j": "Created"}, applied(t, planned(t, c, files(t, map[string]string{"a/j.yaml": order[0]})), &wanted.Secrets{}))
				p := planned(t, c, files(t, map[string]string{"a/j.yaml": order[1]}))
				require.Empty(t, p.Changes[0].Fields)
				require.Equal(t, wanted.Keep, p.Changes[0].Action)
			}
		})
	}
}

func TestAFileWithoutAStateLeavesItAsItIs(t *testing.T) {
	t.Parallel()
	m := &apitest.Memory{}
	c, _ := serving(t, m)
	dir := files(t, map[string]string{"a/j.yaml": daily})
	applied(t, planned(t, c, dir), &wanted.Secrets{})
	_, err := c.DisableJob(t.Context(), "a", "j")
	require.NoError(t, err)
	require.False(t, planned(t, c, dir).Changed())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a", "j.yaml"), []byte(daily+"disableAfter: 3\n"), 0o600))
	applied(t, planned(t, c, dir), &wanted.Secrets{})
	j, err := c.Job(t.Context(), "a", "j")
	require.NoError(t, err)
	require.Equal(t, client.JobDisabled, j.Properties.State, "another change enables nothing")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a", "j.yaml"), []byte(daily+"disableAfter: 3\nstate: enabled\n"), 0o600))
	p := planned(t, c, dir)
	require.Equal(t, "state", p.Changes[0].Fields[0].Path)
	applied(t, p, &wanted.Secrets{})
	j, err = c.Job(t.Context(), "a", "j")
	require.NoError(t, err)
	require.Equal(t, client.JobEnabled, j.Properties.State)
}

func TestWhatIsWrongIsSaidBeforeAnythingIsDone(t *testing.T) {
	t.Parallel()
	c, counts := serving(t, &apitest.Memory{})
	dir := files(t, map[string]string{
		"a/bad.yaml": "recurrence: {frequency: day, intervall: 2}\n" + action, "a/good.yaml": daily, "none/x.yaml": daily,
	})
	_, err := planOf(t, c, dir)
	require.ErrorContains(t, err, `bad.yaml:1:41: properties.recurrence.intervall: unknown field; did you mean "interval"?`)
	require.ErrorContains(t, err, "job collection none does not exist, or may not be seen: create it first")
	require.Zero(t, counts.puts.Load())

	for _, tt := range []struct {
		files map[string]string
		want  string
	}{
		{map[string]string{"j.yaml": daily}, "j.yaml:1:1: job j has no job collection"},
		{map[string]string{"a/j.yaml": daily, "a/k.yaml": "name: J\n" + daily}, "k.yaml:1:1: job a/J is in "},
		{map[string]string{"almanac.yaml": "collections: [b]", "a/j.yaml": daily}, "almanac.yaml names no job collection a"},
		{map[string]string{"almanac.yaml": "collection: [b]"}, "field collection not found"},
		{map[string]string{"almanac.yaml": "owner: x"}, "collections is missing"},
	} {
		_, err := wanted.Load(files(t, tt.files), nil, "")
		require.ErrorContains(t, err, tt.want)
	}
	d, err := wanted.Load(files(t, map[string]string{"almanac.yaml": "collections: [b]", "j.yaml": daily}), nil, "")
	require.NoError(t, err)
	require.Equal(t, "b", d.Jobs[0].Collection)
	dir = files(t, map[string]string{"j.yaml": daily, "jobs/almanac.yaml": "collections: [b, c]", "jobs/c/more/j.yaml": daily})
	d, err = wanted.Load(filepath.Join(dir, "jobs", "c", "more", "j.yaml"), nil, "other")
	require.NoError(t, err)
	require.Equal(t, "c", d.Jobs[0].Collection, "the directory is that of almanac.yaml")
	require.Equal(t, filepath.Join(dir, "jobs"), d.Path)
	d, err = wanted.Load(filepath.Join(dir, "j.yaml"), nil, "other")
	require.NoError(t, err)
	require.Equal(t, "other", d.Jobs[0].Collection)
}

func TestSecretsAreReferencesThatAreResolvedOnlyToBeSent(t *testing.T) {
	t.Parallel()
	const canary = "correct-horse"
	c, counts := serving(t, &apitest.Memory{})
	auth := func(reference string) string {
		return "action: {type: Http, request: {uri: 'http://example.com/', authentication: {type: Basic, username: u, password: " + reference + "}}}\n"
	}
	dir := files(t, map[string]string{
		"a/env.yaml": auth("{$env: PASSWORD}"), "a/file.yaml": auth("{$file: secrets/p}"), "a/exec.yaml": auth("{$exec: [printf, '" + canary + "']}"),
		"secrets/p": canary + "\r\n",
	})
	unset := func(string) (string, bool) { return "", false }
	var sent atomic.Int64
	counts.before = func(r *http.Request) {
		if r.Body != nil {
			body, err := r.GetBody()
			require.NoError(t, err)
			text := make([]byte, 4096)
			n, _ := body.Read(text)
			if strings.Contains(string(text[:n]), `"password":"`+canary+`"`) {
				sent.Add(1)
			}
		}
	}
	p := planned(t, c, dir)
	_, err := p.Apply(t.Context(), wanted.Apply{Secrets: &wanted.Secrets{Getenv: unset, Files: filepath.Join(dir, "a")}})
	require.ErrorContains(t, err, "nothing was changed, because secrets are missing")
	require.ErrorContains(t, err, "env.yaml:1:113: properties.action.request.authentication.password: {$env: PASSWORD}: the variable is not set")
	require.ErrorContains(t, err, "no such file")
	require.ErrorContains(t, err, "programs are run with --allow-exec only")
	require.Zero(t, counts.puts.Load())
	require.Zero(t, sent.Load(), "a plan resolves nothing")

	s := &wanted.Secrets{Getenv: func(name string) (string, bool) { return canary, name == "PASSWORD" }, Files: dir, Exec: true}
	require.Equal(t, map[string]string{"a/env": "Created", "a/file": "Created", "a/exec": "Created"}, applied(t, p, s))
	require.EqualValues(t, 3, sent.Load())
	p = planned(t, c, dir)
	require.Equal(t, wanted.Summary{Unchanged: 3, Secrets: 3}, p.Summary())
	for _, write := range []func(*strings.Builder) error{
		func(b *strings.Builder) error { return p.Text(b) }, func(b *strings.Builder) error { return p.JSON(b) },
		func(b *strings.Builder) error { return p.Markdown(b) },
	} {
		var b strings.Builder
		require.NoError(t, write(&b))
		require.NotContains(t, b.String(), canary)
	}
	literal := files(t, map[string]string{"a/l.yaml": auth(canary)})
	_, err = planOf(t, c, literal)
	require.ErrorContains(t, err, "a secret is not written into a file")
	require.NotContains(t, err.Error(), canary)
}

func TestAFileOfASecretIsBelowItsDirectory(t *testing.T) {
	t.Parallel()
	outside := files(t, map[string]string{"p": "hush"})
	dir := files(t, map[string]string{"inside/p": "hush"})
	require.NoError(t, os.Symlink(filepath.Join(outside, "p"), filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "dir")))
	require.NoError(t, os.Symlink("inside/p", filepath.Join(dir, "fine")))
	c, _ := serving(t, &apitest.Memory{})
	for path, ok := range map[string]bool{
		"link": false, "dir/p": false, "../" + filepath.Base(outside) + "/p": false, filepath.Join(outside, "p"): false, "inside": false,
		"fine": true, "inside/p": true, "inside/../inside/p": true, filepath.Join(dir, "inside", "p"): true,
	} {
		job := "action: {type: Http, request: {uri: 'http://example.com/', authentication: {type: Basic, username: u, password: {$file: '" + path + "'}}}}"
		p := planned(t, c, files(t, map[string]string{"a/j.yaml": job}))
		err := p.Resolve(t.Context(), &wanted.Secrets{Files: dir})
		if ok {
			require.NoError(t, err, path)
		} else {
			require.Error(t, err, path)
		}
	}
}

// A second person changes the job after the plan, or creates it.
func TestAChangeMeanwhileIsNoticedAndPlannedAgain(t *testing.T) {
	t.Parallel()
	c, _ := serving(t, &apitest.Memory{})
	dir := files(t, map[string]string{"a/j.yaml": daily, "a/same.yaml": daily})
	p := planned(t, c, dir)
	applied(t, planned(t, c, files(t, map[string]string{"a/j.yaml": daily + "disableAfter: 7\n", "a/same.yaml": daily})), &wanted.Secrets{})
	var seen []*wanted.Change
	answer := false
	apply := func() map[string]string {
		results, err := p.Apply(t.Context(), wanted.Apply{Secrets: &wanted.Secrets{}, Changed: func(c *wanted.Change) bool {
			seen = append(seen, c)
			return answer
		}})
		require.NoError(t, err)
		outcomes := map[string]string{}
		for _, r := range results {
			outcomes[r.Name] = r.Outcome
		}
		return outcomes
	}
	require.Equal(t, map[string]string{"j": wanted.NotDone, "same": wanted.Unchanged}, apply())
	require.Len(t, seen, 1)
	require.Equal(t, "disableAfter", seen[0].Fields[0].Path, "what the other one wrote is shown")
	j, err := c.Job(t.Context(), "a", "j")
	require.NoError(t, err)
	require.Equal(t, 7, j.Properties.DisableAfter, "and is there still")
	answer = true
	p = planned(t, c, dir)
	_, err = c.PatchJob(t.Context(), "a", "j", map[string]any{"properties": map[string]any{"disableAfter": 9}})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"j": wanted.Updated}, apply())
	require.False(t, planned(t, c, dir).Changed())
}

func TestAnApplyThatIsInterruptedGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	m := &apitest.Memory{}
	c, counts := serving(t, m)
	texts := map[string]string{}
	for i := range 60 {
		texts[fmt.Sprintf("a/j%02d.yaml", i)] = daily
	}
	dir := files(t, texts)
	ctx, cancel := context.WithCancel(t.Context())
	counts.before = func(r *http.Request) {
		if r.Method == http.MethodPut && counts.puts.Load() == 20 {
			cancel()
		}
	}
	results, err := planned(t, c, dir).Apply(ctx, wanted.Apply{Secrets: &wanted.Secrets{}})
	require.NoError(t, err)
	require.Len(t, results, 60)
	counts.before = nil
	counts.puts.Store(0)
	p := planned(t, c, dir)
	left := p.Summary().Create
	require.Positive(t, left)
	require.Less(t, left, 60)
	for _, outcome := range applied(t, p, &wanted.Secrets{}) {
		require.Equal(t, "Created", outcome)
	}
	require.EqualValues(t, left, counts.puts.Load())
	require.False(t, planned(t, c, dir).Changed())
}

func TestManyJobsThatStayAsTheyAreCostFewCalls(t *testing.T) {
	t.Parallel()
	c, counts := serving(t, &apitest.Memory{})
	texts := map[string]string{}
	const n = 300
	for i := range n {
		texts[fmt.Sprintf("a/j%04d.yaml", i)] = strings.Replace(daily, "06:00", fmt.Sprintf("06:%02d", i%60), 1)
	}
	dir := files(t, texts)
	applied(t, planned(t, c, dir), &wanted.Secrets{})
	_, err := c.DisableJob(t.Context(), "a", "j0007")
	require.NoError(t, err)
	counts.gets.Store(0)
	counts.posts.Store(0)
	p := planned(t, c, dir)
	require.Equal(t, wanted.Summary{Unchanged: n}, p.Summary())
	require.Empty(t, applied(t, p, &wanted.Secrets{}))
	require.EqualValues(t, 1, counts.gets.Load()+counts.posts.Load(), "a page of digests")

	require.NoError(t, os.WriteFile(filepath.Join(dir, "a", "j0007.yaml"), []byte("state: enabled\n"+texts["a/j0007.yaml"]), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a", "j0008.yaml"), []byte(texts["a/j0008.yaml"]+"disableAfter: 3\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a", "new.yaml"), []byte(daily), 0o600))
	p = planned(t, c, dir)
	require.Equal(t, wanted.Summary{Create: 1, Update: 2, Unchanged: n - 2}, p.Summary())
	require.Equal(t, map[string]string{"a/j0007": "Updated", "a/j0008": "Updated", "a/new": "Created"}, applied(t, p, &wanted.Secrets{}))
	require.False(t, planned(t, c, dir).Changed())
}

// An API that is busy refuses some calls, and says after how long to make them again.
func TestCallsThatTheAPIHasNoTimeForAreMadeAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		memory, calls := &apitest.Memory{}, 0
		h := api.New(memory, api.Options{})
		busy := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if calls++; calls%3 == 1 {
				w.Header().Set("Retry-After", "7")
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusTooManyRequests)
				_, _ = w.Write([]byte(`{"error":{"code":"TooManyRequests","message":"later"}}`))
				return
			}
			h.ServeHTTP(w, r)
		})
		c, err := client.New("http://localhost", client.Options{Transport: client.ServedBy(h)})
		require.NoError(t, err)
		_, err = c.PutCollection(t.Context(), "a", client.Collection{Properties: client.CollectionProperties{SKU: client.SKU{Name: "P20Premium"}}})
		require.NoError(t, err)
		c, err = client.New("http://localhost", client.Options{Transport: client.ServedBy(busy)})
		require.NoError(t, err)
		d, err := wanted.Load(files(t, map[string]string{"a/one.yaml": action, "a/two.yaml": action}), nil, "")
		require.NoError(t, err)
		for _, want := range []int{2, 0} {
			p, err := wanted.New(t.Context(), wanted.Options{Client: c, Previews: -1, Parallel: 1}, d)
			require.NoError(t, err)
			require.Equal(t, want, p.Summary().Create)
			for _, outcome := range applied(t, p, &wanted.Secrets{}) {
				require.Equal(t, "Created", outcome)
			}
		}
	})
}

func TestAPlanIsWrittenForPeopleAndPrograms(t *testing.T) {
	t.Parallel()
	c, _ := serving(t, &apitest.Memory{})
	dir := files(t, map[string]string{"a/j.yaml": daily})
	d, err := wanted.Load(dir, nil, "")
	require.NoError(t, err)
	now := func() time.Time { return time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC) }
	p, err := wanted.New(t.Context(), wanted.Options{Client: c, Previews: -1, Take: 2, Now: now}, d)
	require.NoError(t, err)
	var text, markdown strings.Builder
	require.NoError(t, p.Text(&text))
	require.Equal(t, "+ a/j  ("+filepath.ToSlash(dir)+"/a/j.yaml:1)\n"+
		"    runs: 2 added (every day at 06:00, from 2026-01-01 06:00); how many others are due was not asked\n"+
		"      + Sat 2026-11-28T06:00:00Z\n      + Sun 2026-11-29T06:00:00Z\n\n"+
		"1 to create, 0 to change, 0 unchanged.\n", text.String())
	require.NoError(t, p.Markdown(&markdown))
	require.Contains(t, markdown.String(), "<details><summary>+ <code>a/j</code>: create</summary>")
	var asJSON strings.Builder
	require.NoError(t, p.JSON(&asJSON))
	var got struct {
		Summary wanted.Summary
		Changes []wanted.Change
	}
	require.NoError(t, json.Unmarshal([]byte(asJSON.String()), &got))
	require.Equal(t, wanted.Summary{Create: 1}, got.Summary)
	require.Equal(t, now().Add(18*time.Hour), got.Changes[0].Runs.Runs[0].WillBe)
}

func TestWhatIsExportedIsNoChangeAndStaysAsItIs(t *testing.T) {
	t.Parallel()
	c, _ := serving(t, &apitest.Memory{})
	examples, err := filepath.Glob("../../examples/*.json")
	require.NoError(t, err)
	for _, path := range examples {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		_, err = c.PutJobBody(t.Context(), "a", name, json.RawMessage(text))
		require.NoError(t, err, path)
	}
	export := func(dir string) map[string]string {
		all, err := wanted.Exported(t.Context(), c, []string{"a"})
		require.NoError(t, err)
		_, err = wanted.Export(dir, all)
		require.NoError(t, err)
		return contents(t, dir)
	}
	first := filepath.Join(t.TempDir(), "jobs")
	texts := export(first)
	require.Len(t, texts, len(examples))
	p := planned(t, c, first)
	require.Equal(t, wanted.Summary{Unchanged: len(examples)}, p.Summary())
	require.Empty(t, applied(t, p, &wanted.Secrets{}))
	require.Equal(t, texts, export(first))
	require.Equal(t, texts, export(t.TempDir()))
	require.Contains(t, texts["a/storage-queue.yaml"], "# action.queueMessage.sasToken is a secret, which is not exported: an apply keeps the one that is stored\n")
}

func TestAnExportChangesWhatDiffersInFilesAndNothingElse(t *testing.T) {
	t.Parallel()
	c, _ := serving(t, &apitest.Memory{})
	const before = `# All of reports.
name: one # first
recurrence:
    # every morning
    frequency: day
    schedule: {hours: [6], minutes: [0]}
startTime: 2026-01-01
action:
    type: Http
    request:
        authentication: {type: Basic, username: u, password: {$env: PASSWORD}}
        uri: http://example.com/
---
name: two
recurrence: {frequency: day} # often enough
disableAfter: 3
startTime: 2026-01-01
action: {type: Http, request: {uri: 'http://example.com/'}}
`
	dir := files(t, map[string]string{"a/jobs.yaml": before})
	s := &wanted.Secrets{Getenv: func(string) (string, bool) { return "hush", true }}
	applied(t, planned(t, c, dir), s)
	export := func() []string {
		all, err := wanted.Exported(t.Context(), c, []string{"a"})
		require.NoError(t, err)
		written, err := wanted.Export(dir, all)
		require.NoError(t, err)
		return written
	}
	require.Empty(t, export())
	require.Equal(t, before, contents(t, dir)["a/jobs.yaml"])
	for name, patch := range map[string]map[string]any{
		"one": {"recurrence": map[string]any{"schedule": map[string]any{"hours": []int{7, 19}}}, "disableAfter": 5},
		"two": {"disableAfter": nil, "recurrence": map[string]any{"interval": 2}},
	} {
		_, err := c.PatchJob(t.Context(), "a", name, map[string]any{"properties": patch})
		require.NoError(t, err)
	}
	require.Equal(t, []string{filepath.Join(dir, "a", "jobs.yaml")}, export())
	after := strings.NewReplacer("hours: [6]", "hours: [7, 19]", "        uri: http://example.com/\n", "        uri: http://example.com/\ndisableAfter: 5\n",
		"disableAfter: 3\n", "", "{frequency: day} # often", "{frequency: day, interval: 2} # often").Replace(before)
	require.Equal(t, after, contents(t, dir)["a/jobs.yaml"])
	require.False(t, planned(t, c, dir).Changed())
	require.Empty(t, export())
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			below, err := filepath.Rel(dir, path)
			require.NoError(t, err)
			texts[filepath.ToSlash(below)] = string(text)
		}
		return err
	}))
	return texts
}

func TestAJobThatHasEndedIsExportedAsDisabled(t *testing.T) {
	t.Parallel()
	m := &apitest.Memory{}
	c, _ := serving(t, m)
	_, err := c.PutJobBody(t.Context(), "a", ".over", json.RawMessage(`{"state":"enabled",`+`"action":{"type":"Http","request":{"uri":"http://example.com/"}}}`))
	require.NoError(t, err)
	k := job.CollectionKey{Subscription: job.NilSubscription, ResourceGroup: "default", Name: "a"}.Job(".over")
	_, err = m.PatchJob(t.Context(), k, func(j *job.Job) (job.Definition, error) {
		j.Definition.State = job.StateCompleted
		return j.Definition, nil
	})
	require.NoError(t, err)
	all, err := wanted.Exported(t.Context(), c, []string{"a"})
	require.NoError(t, err)
	dir := t.TempDir()
	_, err = wanted.Export(dir, all)
	require.NoError(t, err)
	require.Contains(t, contents(t, dir)["a/%2Eover.yaml"], "name: .over\n")
	require.Contains(t, contents(t, dir)["a/%2Eover.yaml"], "state: disabled\n", "another server does not run it again")
	require.False(t, planned(t, c, dir).Changed(), "and here it stays as it is")
}
