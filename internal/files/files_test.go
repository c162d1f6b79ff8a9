//go:build unix

package files_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/internal/files"
)

func TestAFileThatBlocksOrNeverEndsIsAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink("/dev/zero", link))
	long := filepath.Join(dir, "long")
	require.NoError(t, os.WriteFile(long, nil, 0o600))
	require.NoError(t, os.Truncate(long, files.MaxSize+1))
	for name, want := range map[string]string{
		pipe: "it is a named pipe; allowed: a regular file", link: "it is a device; allowed: a regular file", dir: "it is a directory; allowed: a regular file",
		long: "it is too long; allowed: 16 MiB", "nowhere": "no such file or directory",
	} {
		_, err := files.Read(name)
		require.ErrorContains(t, err, want, name)
		require.ErrorContains(t, err, name)
	}
	require.NoError(t, os.Truncate(long, files.MaxSize))
	text, err := files.Read(long)
	require.NoError(t, err)
	require.Len(t, text, files.MaxSize)
	require.ErrorContains(t, files.Change(pipe, true, nil), "it is a named pipe")
}

func TestChangesOfOneFileLoseNothing(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "list")
	var all sync.WaitGroup
	for i := range 60 {
		all.Go(func() {
			err := files.Change(name, true, func(text []byte) ([]byte, error) { return fmt.Appendf(text, "%d\n", i), nil })
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, 60, bytes.Count(text, []byte("\n")))
	for i := range 60 {
		require.Contains(t, "\n"+string(text), fmt.Sprintf("\n%d\n", i))
	}
	entries, err := os.ReadDir(filepath.Dir(name))
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing else is left")
}

func TestAChangedFileKeepsItsPermissionsOwnerAndLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dir = filepath.Join(dir, "tokens [1]") // no pattern
	require.NoError(t, os.Mkdir(dir, 0o700))
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	require.NoError(t, os.WriteFile(target, []byte("old"), 0o600))
	require.NoError(t, os.Chmod(target, 0o640))
	if os.Getuid() == 0 {
		require.NoError(t, os.Chown(target, 1234, 5678))
	}
	require.NoError(t, os.Symlink("target", link))
	before, err := os.Stat(target)
	require.NoError(t, err)
	left := filepath.Join(dir, ".target.123.tmp") // by a process that was killed
	require.NoError(t, os.WriteFile(left, nil, 0o600))

	require.NoError(t, files.Change(link, false, func(text []byte) ([]byte, error) { return []byte(string(text) + " and new"), nil }))
	after, err := os.Lstat(target)
	require.NoError(t, err)
	require.Equal(t, before.Mode(), after.Mode())
	is, was := after.Sys().(*syscall.Stat_t), before.Sys().(*syscall.Stat_t)
	require.Equal(t, []uint32{was.Uid, was.Gid}, []uint32{is.Uid, is.Gid})
	text, err := os.ReadFile(link)
	require.NoError(t, err)
	require.Equal(t, "old and new", string(text))
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&fs.ModeSymlink)
	require.NoFileExists(t, left)
}

func TestAFileWhoseChangeFailsIsUntouched(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(name, []byte("old"), 0o600))
	require.ErrorIs(t, files.Change(name, false, func([]byte) ([]byte, error) { return nil, fs.ErrInvalid }), fs.ErrInvalid)
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "old", string(text))
	require.ErrorIs(t, files.Change(filepath.Join(dir, "none"), false, nil), fs.ErrNotExist)

	require.NoError(t, os.Link(name, filepath.Join(dir, "other")))
	err = files.Change(name, false, func([]byte) ([]byte, error) { return nil, nil })
	require.ErrorContains(t, err, "has 2 names (hard links), of which the others would keep the old content")
}
