package wanted_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/internal/apitest"
	"almanac/internal/wanted"
)

func TestADirectoryBelowThatOfAlmanacYAMLIsAPartOfIt(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{"almanac.yaml": "collections: [b, c]", "c/more/j.yaml": daily, "c/more/deep/k.yaml": daily, "b/other.yaml": daily})
	for _, below := range []string{"c", "c/more"} {
		d, err := wanted.Load(filepath.Join(dir, filepath.FromSlash(below)), nil, "")
		require.NoError(t, err)
		require.Len(t, d.Jobs, 2)
		for _, j := range d.Jobs {
			require.Equal(t, "c", j.Collection)
		}
		require.Equal(t, dir, d.Path)
		_, err = wanted.Export(filepath.Join(dir, filepath.FromSlash(below)), nil)
		require.ErrorContains(t, err, "export into that one")
	}
}

func TestAGivenCollectionIsThatOfJobsWithoutOne(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{"j.yaml": daily, "b/k.yaml": daily})
	d, err := wanted.LoadIn(dir, nil, "a")
	require.NoError(t, err)
	require.Equal(t, []string{"b", "a"}, []string{d.Jobs[0].Collection, d.Jobs[1].Collection})
	_, err = wanted.LoadIn(files(t, map[string]string{"almanac.yaml": "collections: [b]", "j.yaml": daily}), nil, "a")
	require.ErrorContains(t, err, "almanac.yaml names no job collection a")
}

func TestATextThatIsTooLongIsRefused(t *testing.T) {
	t.Parallel()
	_, err := wanted.Load("-", io.MultiReader(strings.NewReader(daily), strings.NewReader(strings.Repeat("#\n", 9<<20))), "a")
	require.ErrorContains(t, err, "standard input has more than 16777216 bytes")
}

func TestALinkToADirectoryIsReported(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{"a/j.yaml": daily})
	require.NoError(t, os.Symlink(filepath.Join(dir, "a"), filepath.Join(dir, "b")))
	_, err := wanted.Load(dir, nil, "")
	require.ErrorContains(t, err, "is a link to a directory")
	require.NoError(t, os.Rename(filepath.Join(dir, "b"), filepath.Join(dir, ".b")))
	_, err = wanted.Load(dir, nil, "")
	require.NoError(t, err)
}

func TestAnExportOverwritesNoOtherFile(t *testing.T) {
	t.Parallel()
	c, _ := serving(t, &apitest.Memory{})
	applied(t, planned(t, c, files(t, map[string]string{"a/one.yaml": daily})), &wanted.Secrets{})
	all, err := wanted.Exported(t.Context(), c, []string{"a"})
	require.NoError(t, err)
	for _, text := range []string{"name: other\n" + daily, "# nothing\n"} {
		dir := files(t, map[string]string{"a/one.yaml": text})
		_, err := wanted.Export(dir, all)
		require.ErrorContains(t, err, "one.yaml is there, and is not of job one")
		require.Equal(t, map[string]string{"a/one.yaml": text}, contents(t, dir))
	}
	both := files(t, map[string]string{"a/one.yaml": "name: one\ndisableAfter: 3\n" + daily + "---\nname: two\n" + daily})
	_, err = wanted.Export(both, all)
	require.NoError(t, err)
	require.Contains(t, contents(t, both)["a/one.yaml"], "name: two", "another job of the file stays")
}

func TestALongTextIsShownFromWhereItDiffers(t *testing.T) {
	t.Parallel()
	c, _ := serving(t, &apitest.Memory{})
	text := func(end string) string {
		return "action: {type: Http, request: {uri: 'http://example.com/', method: POST, body: '" + strings.Repeat("a", 500) + end + "'}}\n"
	}
	applied(t, planned(t, c, files(t, map[string]string{"a/j.yaml": text("before")})), &wanted.Secrets{})
	lines := planned(t, c, files(t, map[string]string{"a/j.yaml": text("after")})).Changes[0].Lines()
	lead := "…" + strings.Repeat("a", 40)
	require.Equal(t, []string{"action.request.body: " + lead + `before" → ` + lead + `after"`}, lines)
}
