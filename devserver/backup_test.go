package devserver_test

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"almanac/devserver/database"
	"almanac/internal/files"
)

func noProgress(int64, int64) {}

func TestARestoredBackupHasWhatWasAcknowledgedBeforeIt(t *testing.T) {
	t.Parallel()
	o := options(t.TempDir())
	s := start(t, o)
	startSleeper(t, dial(t, s.Address(), ""), "before", "blue")

	dir := t.TempDir()
	file := filepath.Join(dir, "backup.db")
	require.NoError(t, database.Backup(t.Context(), o.DataDir, file, noProgress), "while the server runs")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2, "the backup and its sum, and nothing else")
	startSleeper(t, dial(t, s.Address(), ""), "after", "blue")

	restored := options(filepath.Join(t.TempDir(), "new"))
	log := slog.New(slog.DiscardHandler)
	require.NoError(t, database.Restore(t.Context(), file, restored.DataDir, log, noProgress))
	c := dial(t, start(t, restored).Address(), "")
	found, err := c.DescribeWorkflowExecution(t.Context(), "before", "")
	require.NoError(t, err)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, found.GetWorkflowExecutionInfo().GetStatus())
	require.True(t, hasEvent(t, c, "before", enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED))
	_, err = c.DescribeWorkflowExecution(t.Context(), "after", "")
	require.Error(t, err)

	s.Stop()
	again := filepath.Join(dir, "stopped.db")
	require.NoError(t, database.Backup(t.Context(), o.DataDir, again, noProgress), "while no server runs")
	require.NoError(t, database.Restore(t.Context(), again, t.TempDir(), log, noProgress))
}

func TestBackupAndRestoreRefuse(t *testing.T) {
	t.Parallel()
	o := options(t.TempDir())
	start(t, o)
	dir, log := t.TempDir(), slog.New(slog.DiscardHandler)
	file := filepath.Join(dir, "backup.db")
	backup := func(data, file string) error { return database.Backup(t.Context(), data, file, noProgress) }
	restore := func(file, data string) error { return database.Restore(t.Context(), file, data, log, noProgress) }
	require.NoError(t, backup(o.DataDir, file))

	require.ErrorContains(t, backup(o.DataDir, file), file+" exists already")
	require.ErrorIs(t, backup(t.TempDir(), filepath.Join(dir, "none.db")), os.ErrNotExist)
	require.ErrorIs(t, backup(o.DataDir, filepath.Join(dir, "missing", "backup.db")), os.ErrNotExist)

	require.ErrorContains(t, restore(file, o.DataDir), "in use by another server")
	full := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(full, "notes.txt"), nil, 0o600))
	require.ErrorContains(t, restore(file, full), "is not empty: it has notes.txt")
	require.ErrorIs(t, restore(filepath.Join(dir, "none.db"), t.TempDir()), os.ErrNotExist)

	text := filepath.Join(dir, "text")
	require.NoError(t, os.WriteFile(text, []byte("not a database, but a text that is long enough to be one: there are a hundred bytes in a header at least"), 0o600))
	data := filepath.Join(t.TempDir(), "new")
	writeSum(t, text)
	require.ErrorContains(t, restore(text, data), text+": this is not a database of Almanac")
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	damaged := filepath.Join(dir, "damaged.db")
	for i := len(content) / 2; i < len(content)/2+4096*8; i++ {
		content[i] ^= 0xff
	}
	require.NoError(t, os.WriteFile(damaged, content, 0o600))
	writeSum(t, damaged)
	require.ErrorContains(t, restore(damaged, data), damaged, "pages are checked as well: the database may have been damaged before the backup")
	require.NoDirExists(t, data, "nothing is written before the file was checked")
}

// writeSum writes the sum of a file beside it.
func writeSum(t *testing.T, file string) {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file+database.SumSuffix, fmt.Appendf(nil, "%x  %s\n", sha256.Sum256(content), filepath.Base(file)), 0o600))
}

func TestABackupOfWhichAByteChangedIsNotRestored(t *testing.T) {
	t.Parallel()
	o := options(t.TempDir())
	start(t, o).Stop()
	dir := t.TempDir()
	file := filepath.Join(dir, "backup.db")
	require.NoError(t, database.Backup(t.Context(), o.DataDir, file, noProgress))
	sum, err := os.ReadFile(file + database.SumSuffix)
	require.NoError(t, err)
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("%x  backup.db\n", sha256.Sum256(content)), string(sum), "as sha256sum writes it")

	data := filepath.Join(t.TempDir(), "new")
	restore := func(changed []byte) error {
		require.NoError(t, os.WriteFile(file, changed, 0o600))
		return database.Restore(t.Context(), file, data, slog.New(slog.DiscardHandler), noProgress)
	}
	for i := range 25 {
		at := i * (len(content) - 1) / 24
		content[at] ^= 1 << (i % 8)
		require.ErrorContains(t, restore(content), file+": the backup is damaged or cut off: its SHA-256 is ", "a bit of byte %d of %d", at, len(content))
		content[at] ^= 1 << (i % 8)
	}
	for _, length := range []int{0, 1, 4096, len(content) / 2, len(content) - 1} {
		require.ErrorContains(t, restore(content[:length]), "is damaged or cut off", length)
	}
	require.ErrorContains(t, restore(append(slices.Clone(content), 0)), "is damaged or cut off")

	require.NoError(t, os.WriteFile(file+database.SumSuffix, []byte("none\n"), 0o600))
	require.ErrorContains(t, restore(content), "has no SHA-256; allowed: 64 hexadecimal digits")
	require.NoError(t, os.Remove(file+database.SumSuffix))
	require.ErrorContains(t, restore(content), "the file with its SHA-256 is missing, so that damage would go unnoticed: copy "+file+".sha256 from where the backup was written. "+
		"If it is lost and you trust the backup nevertheless, make it: sha256sum "+file+" > "+file+".sha256")
	require.NoDirExists(t, data, "nothing is written before the file was checked")
	writeSum(t, file)
	require.NoError(t, restore(content))
}

func TestWhatAKilledBackupLeftIsRemovedByTheNextOne(t *testing.T) {
	t.Parallel()
	o := options(t.TempDir())
	start(t, o).Stop()
	dir := t.TempDir()
	left := func(name string) string {
		work := filepath.Join(dir, name)
		require.NoError(t, os.Mkdir(work, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(work, "backup"), []byte("half"), 0o600))
		lock, err := files.LockDir(work)
		require.NoError(t, err)
		t.Cleanup(func() { _ = lock.Close() })
		if strings.HasPrefix(name, ".killed") {
			require.NoError(t, lock.Close())
		}
		return work
	}
	killed, running := left(".killed.db.123.part"), left(".running.db.456.part")
	file := filepath.Join(dir, "backup.db")
	require.NoError(t, database.Backup(t.Context(), o.DataDir, file, noProgress))
	require.NoDirExists(t, killed)
	require.DirExists(t, running)

	data := t.TempDir()
	part := filepath.Join(data, ".almanac.db.789.part") // of a restore that was killed
	require.NoError(t, os.WriteFile(part, []byte("half"), 0o600))
	require.NoError(t, database.Restore(t.Context(), file, data, slog.New(slog.DiscardHandler), noProgress))
	require.NoFileExists(t, part)
}

func TestLittleSpaceIsReported(t *testing.T) {
	t.Parallel()
	o := options(t.TempDir())
	s := start(t, o)
	require.NoError(t, s.CheckSpace())
	s.Stop()
	o.MinFree = 1 << 60
	require.ErrorContains(t, start(t, o).CheckSpace(), "left, less than the 1073741824 GiB that are kept free; make room")
}
