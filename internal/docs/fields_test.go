package docs_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/internal/docs"
)

var update = flag.Bool("update", false, "write docs/fields.md anew")

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
