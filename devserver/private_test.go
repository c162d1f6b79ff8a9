//go:build unix

package devserver_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnlyTheUserOfTheServerMayReadItsData(t *testing.T) {
	t.Parallel()
	o := options(t.TempDir())
	require.NoError(t, os.Chmod(o.DataDir, 0o755))
	private := func(want int) {
		info, err := os.Stat(o.DataDir)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o700), info.Mode().Perm())
		files, err := os.ReadDir(o.DataDir)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(files), want)
		for _, f := range files {
			info, err := f.Info()
			require.NoError(t, err)
			require.Equal(t, fs.FileMode(0o600), info.Mode().Perm(), f.Name())
		}
	}
	s := start(t, o)
	private(4) // the database, its log, the index of that, and the lock
	s.Stop()

	require.NoError(t, os.Chmod(o.DataDir, 0o755))
	for _, name := range []string{"temporal.db", "temporal.db-wal"} {
		path := filepath.Join(o.DataDir, name)
		if _, err := os.Stat(path); err == nil {
			require.NoError(t, os.Chmod(path, 0o644))
		}
	}
	start(t, o)
	private(4)
}
