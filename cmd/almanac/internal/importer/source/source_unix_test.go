//go:build unix

package source_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/cmd/almanac/internal/importer/source"
)

// To open a named pipe waits for somebody who writes it.
func TestANamedPipeIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	_, err = source.Read(root.FS(), "pipe")
	require.ErrorContains(t, err, "no regular file")
}
