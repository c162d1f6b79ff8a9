package docs_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/internal/docs"
)

func TestTheSchemaOfJobFilesIsThatOfTheAPI(t *testing.T) {
	t.Parallel()
	want, err := docs.JobFileSchema(api.OpenAPI())
	require.NoError(t, err)
	path := filepath.Join(root, "job", "jobfile", "schema.json")
	if *update {
		require.NoError(t, os.WriteFile(path, want, 0o600))
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "run `task fields`: api/openapi.yaml changed")
}
