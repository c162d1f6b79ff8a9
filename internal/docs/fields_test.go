package docs_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/internal/docs"
	"almanac/job/template"
)

var update = flag.Bool("update", false, "write docs/fields.md and the placeholders of docs/actions.md anew")

func TestTheFieldReferenceIsThatOfTheAPI(t *testing.T) {
	t.Parallel()
	want, err := docs.Fields(api.OpenAPI())
	require.NoError(t, err)
	path := filepath.Join(root, "docs", "fields.md")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o600))
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, want, string(got), "run `task fields`: api/openapi.yaml changed")
}

func TestThePlaceholdersAreThoseOfTheTemplates(t *testing.T) {
	t.Parallel()
	path := filepath.Join(root, "docs", "actions.md")
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	table := regexp.MustCompile(`(?m)^\| placeholder \| is \|\n(\|.*\n)+`)
	if *update {
		page = table.ReplaceAllLiteral(page, []byte(template.Reference()))
		require.NoError(t, os.WriteFile(path, page, 0o600))
	}
	require.Equal(t, template.Reference(), string(table.Find(page)), "run `task fields`: the table of placeholders changed")
}
