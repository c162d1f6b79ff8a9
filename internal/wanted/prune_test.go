package wanted_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/client"
	"almanac/internal/apitest"
	"almanac/internal/wanted"
)

const (
	mine   = "5f0a9d1e-6f2b-4c1e-9d3a-2b7c8e4f1a60"
	theirs = "0d6f2a52-7b1c-4f53-9a3e-66d2b9f6c111"
)

// soon is a time to come, for jobs that run once.
var soon = time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339)

func configOf(owner string, collections ...string) string {
	return "owner: " + owner + "\ncollections: [" + strings.Join(collections, ", ") + "]\n"
}

// pruning returns a plan that prunes.
func pruning(t *testing.T, c *client.Client, dir string, o wanted.Options) (*wanted.Plan, error) {
	t.Helper()
	d, err := wanted.Load(dir, strings.NewReader(""), "")
	require.NoError(t, err)
	o.Client, o.Previews, o.Prune = c, -1, true
	return wanted.New(t.Context(), o, d)
}

func TestOnlyJobsOfTheOwnerThatRepeatArePruned(t *testing.T) {
	t.Parallel()
	c, _ := serving(t, &apitest.Memory{})
	dir := files(t, map[string]string{
		"almanac.yaml": configOf(mine, "a", "b"), "a/stays.yaml": daily, "a/goes.yaml": daily, "a/once.yaml": "startTime: " + soon + "\n" + action, "b/other.yaml": daily,
	})
	other := files(t, map[string]string{"almanac.yaml": configOf(theirs, "a"), "a/theirs.yaml": daily})
	applied(t, planned(t, c, dir), &wanted.Secrets{})
	applied(t, planned(t, c, other), &wanted.Secrets{})
	_, err := c.PutJobBody(t.Context(), "a", "api", client.Job{Properties: client.JobProperties{
		Action: client.Action{Type: "Http", Request: &client.Request{URI: "http://example.com/", Method: "GET"}}, Recurrence: &client.Recurrence{Frequency: "day"},
	}})
	require.NoError(t, err)
	for _, name := range []string{"goes", "once"} {
		require.NoError(t, os.Remove(filepath.Join(dir, "a", name+".yaml")))
	}
	require.Equal(t, wanted.Summary{Unchanged: 2}, planned(t, c, dir).Summary(), "only with --prune")
	p, err := pruning(t, c, dir, wanted.Options{})
	require.NoError(t, err)
	require.Equal(t, wanted.Summary{Unchanged: 2, Prune: 1}, p.Summary())
	require.Equal(t, []string{"a/once"}, p.Once)
	var text strings.Builder
	require.NoError(t, p.Text(&text))
	require.Contains(t, text.String(), "- a/goes  (no file has it)\n    it is disabled, and deletes itself in 7 days")
	require.Contains(t, text.String(), "0 to create, 0 to change, 1 to prune, 2 unchanged.\n1 job of this owner, which the files do not have, stay, since they run once: a/once\n")
	require.Equal(t, map[string]string{"a/goes": "Pruned"}, applied(t, p, &wanted.Secrets{}))
	gone, err := c.Job(t.Context(), "a", "goes")
	require.NoError(t, err)
	require.False(t, gone.Properties.Status.PruneAt.IsZero())
	p, err = pruning(t, c, dir, wanted.Options{})
	require.NoError(t, err)
	require.False(t, p.Changed(), "it is pruned already")

	require.NoError(t, os.WriteFile(filepath.Join(dir, "a", "goes.yaml"), []byte(daily), 0o600))
	p = planned(t, c, dir)
	require.Equal(t, wanted.Summary{Update: 1, Unchanged: 2}, p.Summary())
	require.Equal(t, "status.pruneAt", p.Changes[0].Fields[0].Path)
	require.Equal(t, map[string]string{"a/goes": "Updated"}, applied(t, p, &wanted.Secrets{}))
	back, err := c.Job(t.Context(), "a", "goes")
	require.NoError(t, err)
	require.Equal(t, []any{client.JobEnabled, mine, true}, []any{back.Properties.State, back.Properties.Status.Owner, back.Properties.Status.PruneAt.IsZero()})
	require.False(t, planned(t, c, dir).Changed())
}

func TestNothingIsPrunedWithoutAllThatTheOwnerHas(t *testing.T) {
	t.Parallel()
	c, _ := serving(t, &apitest.Memory{})
	dir := files(t, map[string]string{"almanac.yaml": configOf(mine, "a", "b"), "a/one.yaml": daily, "b/two.yaml": daily})
	applied(t, planned(t, c, dir), &wanted.Secrets{})
	_, err := pruning(t, c, filepath.Join(dir, "a"), wanted.Options{})
	require.ErrorContains(t, err, "-f has to name the directory of almanac.yaml")
	_, err = pruning(t, c, filepath.Join(dir, "a", "one.yaml"), wanted.Options{})
	require.ErrorContains(t, err, "a part of the files")
	_, err = pruning(t, c, files(t, map[string]string{"almanac.yaml": "collections: [a]\n", "a/one.yaml": daily}), wanted.Options{})
	require.ErrorContains(t, err, "almanac.yaml has none")
	require.NoError(t, os.Remove(filepath.Join(dir, "a", "one.yaml")))
	_, err = pruning(t, c, dir, wanted.Options{})
	require.ErrorContains(t, err, "the files have no job of a, so all its jobs of this owner would be pruned")
	p, err := pruning(t, c, dir, wanted.Options{AllowEmpty: true})
	require.NoError(t, err)
	require.Equal(t, wanted.Summary{Unchanged: 1, Prune: 1}, p.Summary())
}

func TestAJobThatWasMadeByOtherMeansIsAdoptedIfThatIsAsked(t *testing.T) {
	t.Parallel()
	c, _ := serving(t, &apitest.Memory{})
	plain := files(t, map[string]string{"a/one.yaml": daily, "a/two.yaml": daily})
	applied(t, planned(t, c, plain), &wanted.Secrets{})
	dir := files(t, map[string]string{"almanac.yaml": configOf(mine, "a"), "a/one.yaml": daily, "a/two.yaml": daily})
	require.False(t, planned(t, c, dir).Changed())
	d, err := wanted.Load(dir, strings.NewReader(""), "")
	require.NoError(t, err)
	p, err := wanted.New(t.Context(), wanted.Options{Client: c, Previews: -1, Adopt: true}, d)
	require.NoError(t, err)
	require.Equal(t, wanted.Summary{Update: 2}, p.Summary())
	require.Equal(t, map[string]string{"a/one": "Updated", "a/two": "Updated"}, applied(t, p, &wanted.Secrets{}))
	j, err := c.Job(t.Context(), "a", "one")
	require.NoError(t, err)
	require.Equal(t, mine, j.Properties.Status.Owner)
	other := planned(t, c, files(t, map[string]string{"almanac.yaml": configOf(theirs, "a"), "a/one.yaml": daily}))
	require.Equal(t, mine, other.Changes[0].Owner, "a plan of another directory says so")
}

// A world is two repositories, an application that makes one-time jobs, and a person at the console, and what each job
// is to be by the rules.
type world struct {
	t    *testing.T
	r    *rand.Rand
	c    *client.Client
	m    *apitest.Memory
	dirs map[string]string // by owner

	by     map[string]string // who made a job that is there: an owner, or else
	pruned map[string]bool
	inFile map[string]map[string]bool
}

func (w *world) name() string {
	return []string{"a/", "b/"}[w.r.IntN(2)] + fmt.Sprint("j", w.r.IntN(5))
}

func (w *world) step() {
	name := w.name()
	collection, short, _ := strings.Cut(name, "/")
	body := client.Job{Properties: client.JobProperties{
		Action: client.Action{Type: "Http", Request: &client.Request{URI: "http://example.com/", Method: "GET"}},
	}}
	owner := []string{mine, theirs}[w.r.IntN(2)]
	file := filepath.Join(w.dirs[owner], collection, short+".yaml")
	ctx := w.t.Context()
	switch w.r.IntN(9) {
	case 0, 1: // a repository gets a file
		text := daily
		if w.r.IntN(5) == 0 {
			text = "startTime: " + soon + "\n" + action
		}
		require.NoError(w.t, os.WriteFile(file, []byte(text), 0o600))
		w.inFile[owner][name] = true
	case 2: // or loses one
		_ = os.Remove(file)
		delete(w.inFile[owner], name)
	case 3: // an application makes a job that runs once
		if w.by[name] == "" {
			body.Properties.StartTime = client.Time(soon)
			_, err := w.c.PutJobBody(ctx, collection, short, body)
			require.NoError(w.t, err)
			w.by[name] = "application"
		}
	case 4: // a person changes a job, or makes one
		body.Properties.Recurrence = &client.Recurrence{Frequency: "hour", Interval: w.r.IntN(3) + 1}
		_, err := w.c.PutJobBody(ctx, collection, short, body)
		require.NoError(w.t, err)
		if w.by[name] == "" {
			w.by[name] = "person"
		}
		delete(w.pruned, name)
	case 5:
		if w.pruned[name] {
			_, err := w.c.RestoreJob(ctx, collection, short)
			require.NoError(w.t, err)
			delete(w.pruned, name)
		}
	case 6: // a week passes
		for _, k := range w.m.Expire() {
			gone := k.Collection.Name + "/" + k.Name
			require.True(w.t, w.pruned[gone], "%s was not pruned", gone)
			delete(w.by, gone)
			delete(w.pruned, gone)
		}
	default:
		w.apply(owner)
	}
}

// apply applies a repository with --prune, as the rules say.
func (w *world) apply(owner string) {
	p, err := pruning(w.t, w.c, w.dirs[owner], wanted.Options{AllowEmpty: true})
	require.NoError(w.t, err)
	for name, outcome := range applied(w.t, p, &wanted.Secrets{}) {
		switch outcome {
		case "Pruned":
			require.Equal(w.t, owner, w.by[name], "%s is a stranger's", name)
			require.False(w.t, w.inFile[owner][name], "a file has %s", name)
			w.pruned[name] = true
		default:
			require.True(w.t, w.inFile[owner][name], name)
			require.Contains(w.t, []string{"Created", "Updated"}, outcome)
			if w.by[name] == "" {
				w.by[name] = owner
			}
			delete(w.pruned, name)
		}
	}
	for name := range w.inFile[owner] {
		require.NotEmpty(w.t, w.by[name], "%s is lost", name)
		require.False(w.t, w.pruned[name], "%s is in a file", name)
	}
}

// check compares the server with the model.
func (w *world) check() {
	for name := range w.by {
		collection, short, _ := strings.Cut(name, "/")
		j, err := w.c.Job(w.t.Context(), collection, short)
		require.NoError(w.t, err, "%s is lost", name)
		require.Equal(w.t, w.pruned[name], !pruneAt(j).IsZero(), name)
	}
}

func TestTwoRepositoriesAnApplicationAndAPersonLoseNoJob(t *testing.T) {
	t.Parallel()
	histories := 60
	if long := os.Getenv("ALMANAC_TEST_HISTORIES"); long != "" {
		_, err := fmt.Sscan(long, &histories)
		require.NoError(t, err)
	}
	for seed := range histories {
		w := &world{
			t: t, r: rand.New(rand.NewPCG(uint64(seed), 46)), m: &apitest.Memory{}, dirs: map[string]string{},
			by: map[string]string{}, pruned: map[string]bool{}, inFile: map[string]map[string]bool{mine: {}, theirs: {}},
		}
		w.c, _ = serving(t, w.m)
		for owner := range w.inFile {
			w.dirs[owner] = files(t, map[string]string{"almanac.yaml": configOf(owner, "a", "b"), "a/.keep": "", "b/.keep": ""})
		}
		for range 25 {
			w.step()
		}
		w.check()
		require.Subset(t, slices.Collect(maps.Keys(w.by)), slices.Collect(maps.Keys(w.pruned)), "seed %d", seed)
	}
}

func pruneAt(j client.Job) time.Time {
	if j.Properties.Status == nil {
		return time.Time{}
	}
	return j.Properties.Status.PruneAt
}
