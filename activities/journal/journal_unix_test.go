//go:build unix

package journal

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Volumes on which permissions cannot be set are shared with other users.
func TestOnlyRegularFilesOfThisUserAreBelieved(t *testing.T) {
	t.Parallel()
	elsewhere, dir := open(t, t.TempDir()), t.TempDir()
	require.NoError(t, elsewhere.Keep(entry("a", 1)))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "outcomes-1.jsonl"), 0o600)) // blocks who reads it
	require.NoError(t, os.Symlink(elsewhere.own[0], filepath.Join(dir, "outcomes-2.jsonl")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "outcomes-3.jsonl"), 0o700))
	if os.Geteuid() == 0 {
		text, err := os.ReadFile(elsewhere.own[0])
		require.NoError(t, err)
		forged := filepath.Join(dir, "outcomes-4.jsonl")
		require.NoError(t, os.WriteFile(forged, text, 0o600))
		require.NoError(t, os.Chown(forged, 1234, 5678))
	}
	_, ok := open(t, dir).Find(Key{"a", "main", 1})
	require.False(t, ok)
}
