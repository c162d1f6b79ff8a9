package devserver_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"almanac/devserver"
)

func noProgress(int64, int64) {}

func TestARestoredBackupHasWhatWasAcknowledgedBeforeIt(t *testing.T) {
	t.Parallel()
	o := options(t.TempDir())
	s := start(t, o)
	startSleeper(t, dial(t, s.Address(), ""), "before", "blue")

	dir := t.TempDir()
	file := filepath.Join(dir, "backup.db")
	require.NoError(t, devserver.Backup(t.Context(), o.DataDir, file, noProgress), "while the server runs")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing else is left")
	startSleeper(t, dial(t, s.Address(), ""), "after", "blue")

	restored := options(filepath.Join(t.TempDir(), "new"))
	log := slog.New(slog.DiscardHandler)
	require.NoError(t, devserver.Restore(t.Context(), file, restored.DataDir, log, noProgress))
	c := dial(t, start(t, restored).Address(), "")
	found, err := c.DescribeWorkflowExecution(t.Context(), "before", "")
	require.NoError(t, err)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, found.GetWorkflowExecutionInfo().GetStatus())
	require.True(t, hasEvent(t, c, "before", enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED))
	_, err = c.DescribeWorkflowExecution(t.Context(), "after", "")
	require.Error(t, err)

	s.Stop()
	again := filepath.Join(dir, "stopped.db")
	require.NoError(t, devserver.Backup(t.Context(), o.DataDir, again, noProgress), "while no server runs")
	require.NoError(t, devserver.Restore(t.Context(), again, t.TempDir(), log, noProgress))
}

func TestBackupAndRestoreRefuse(t *testing.T) {
	t.Parallel()
	o := options(t.TempDir())
	start(t, o)
	dir, log := t.TempDir(), slog.New(slog.DiscardHandler)
	file := filepath.Join(dir, "backup.db")
	backup := func(data, file string) error { return devserver.Backup(t.Context(), data, file, noProgress) }
	restore := func(file, data string) error { return devserver.Restore(t.Context(), file, data, log, noProgress) }
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
	require.ErrorContains(t, restore(text, data), text+": this is not a database of Almanac")
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	cut := filepath.Join(dir, "cut.db")
	require.NoError(t, os.WriteFile(cut, content[:len(content)/2], 0o600))
	require.Error(t, restore(cut, data))
	damaged := filepath.Join(dir, "damaged.db")
	for i := len(content) / 2; i < len(content)/2+4096*8; i++ {
		content[i] ^= 0xff
	}
	require.NoError(t, os.WriteFile(damaged, content, 0o600))
	require.Error(t, restore(damaged, data))
	require.NoDirExists(t, data, "nothing is written before the file was checked")
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
