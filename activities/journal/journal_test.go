package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func open(t *testing.T, dir string) *Journal {
	t.Helper()
	j, err := Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, j.Close()) })
	return j
}

func entry(execution string, number int) *Entry {
	at := time.Date(2026, 1, 1, 0, 0, number, 0, time.UTC)
	return &Entry{
		Key: Key{execution, "main", number}, Start: at, End: at.Add(time.Second),
		Error: "500 Internal Server Error", Permanent: true, Answer: "5xx", Status: 500, After: time.Minute,
	}
}

func TestAnotherProcessFindsAnOutcomeAfterItsOwnerIsGone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "outcomes [1]*") // no pattern
	killed := open(t, dir)                             // nothing is closed
	require.NoError(t, killed.Keep(entry("a", 1)))
	next := open(t, dir)
	require.NoError(t, killed.Keep(entry("a", 2)))

	found, ok := next.Find(Key{"a", "main", 1})
	require.True(t, ok)
	require.Equal(t, *entry("a", 1), found)
	_, ok = next.Find(Key{"a", "main", 2})
	require.True(t, ok, "written after the other one was opened")
	require.NoError(t, killed.Keep(entry("a", 3)))
	_, ok = next.Find(Key{"a", "main", 3})
	require.True(t, ok, "written after the other one read")
	for _, unknown := range []Key{{"a", "main", 4}, {"a", "error", 1}, {"b", "main", 1}, {}} {
		_, ok = next.Find(unknown)
		require.False(t, ok, unknown)
	}
}

func TestAPartOfALineIsNoOutcome(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := open(t, dir)
	require.NoError(t, first.Keep(entry("a", 1)))
	_, err := first.file.WriteString(`{"execution":"a","action":"main","number":2`)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "outcomes-damaged.jsonl"), []byte("\x00\n[]\n{}\nnull\n"), 0o600))
	next := open(t, dir)
	_, ok := next.Find(Key{"a", "main", 1})
	require.True(t, ok)
	_, ok = next.Find(Key{"a", "main", 2})
	require.False(t, ok)
	_, err = first.file.WriteString("}\n")
	require.NoError(t, err)
	_, ok = next.Find(Key{"a", "main", 2})
	require.True(t, ok, "the rest was written later")
	_, ok = next.Find(Key{})
	require.False(t, ok)
}

func TestAProcessKeepsItsNewestFilesAndRemovesThoseOfLongAgo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := filepath.Join(dir, "outcomes-old.jsonl")
	other := filepath.Join(dir, "notes.txt")
	for _, name := range []string{old, other} {
		require.NoError(t, os.WriteFile(name, nil, 0o600))
		require.NoError(t, os.Chtimes(name, time.Time{}, time.Now().Add(-2*kept)))
	}
	j := open(t, dir)
	require.FileExists(t, old, "nothing may have run until now")
	j.opened, j.removed = j.opened.Add(-2*kept), j.removed.Add(-2*kept)
	require.NoError(t, j.Keep(entry("b", 1)))
	require.NoFileExists(t, old)
	require.FileExists(t, other)
	long := entry("a", 1)
	long.Error = strings.Repeat("e", maxFile/4)
	for i := range 30 {
		long.Execution = fmt.Sprint("a", i)
		require.NoError(t, j.Keep(long))
	}
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	require.NoError(t, err)
	require.Len(t, names, ownFiles)
	next := open(t, dir)
	_, ok := next.Find(Key{"a29", "main", 1})
	require.True(t, ok)
	_, ok = next.Find(Key{"a0", "main", 1})
	require.False(t, ok)
}

func TestADirectoryThatIsGoneIsAnErrorAndNoPanic(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "outcomes")
	j := open(t, dir)
	j.size = maxFile
	require.NoError(t, os.RemoveAll(dir))
	require.ErrorContains(t, j.Keep(entry("a", 1)), "make a file of outcomes")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, j.Keep(entry("a", 1)), "it is there again")
	var none *Journal
	require.NoError(t, none.Keep(entry("a", 1)))
	_, ok := none.Find(Key{"a", "main", 1})
	require.False(t, ok)
	require.NoError(t, none.Close())
}

func TestAFileThatIsStillWrittenIsNeverRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	idle := open(t, dir)
	require.NoError(t, idle.Keep(entry("a", 1)))
	long := time.Now().Add(-2 * kept)
	require.NoError(t, os.Chtimes(idle.own[0], long, long))
	next := open(t, dir)
	next.opened = next.opened.Add(-2 * kept)
	next.removeOld()
	require.NoError(t, idle.Keep(entry("a", 2)))
	_, ok := next.Find(Key{"a", "main", 2})
	require.True(t, ok)
}

func TestWhatIsKnownOfOthersIsForgottenWithTheirFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	other, j := open(t, dir), open(t, dir)
	require.NoError(t, other.Keep(entry("a", 1)))
	_, ok := j.Find(Key{"a", "main", 1})
	require.True(t, ok)
	require.NoError(t, os.Remove(other.own[0]))
	_, ok = j.Find(Key{"a", "main", 1})
	require.False(t, ok)
}

// Nothing that was kept is lost for what cannot be.
func TestOutcomesThatCannotBeWrittenReplaceNoneThatWere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := open(t, dir)
	require.NoError(t, j.Keep(entry("a", 1)))
	for range 2 * ownFiles {
		unwritable, err := os.Open(j.file.Name()) // so that the next write fails, as on a full disk
		require.NoError(t, err)
		require.NoError(t, j.file.Close())
		j.file = unwritable
		require.Error(t, j.Keep(entry("a", 2)))
	}
	require.NoError(t, j.Keep(entry("a", 3)))
	next := open(t, dir)
	for number, want := range map[int]bool{1: true, 2: false, 3: true} {
		_, ok := next.Find(Key{"a", "main", number})
		require.Equal(t, want, ok, number)
	}
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	require.NoError(t, err)
	require.LessOrEqual(t, len(names), ownFiles+1)
}

func TestAnOutcomeIsFoundHoweverLongNothingRan(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	killed := open(t, dir)
	require.NoError(t, killed.Keep(entry("a", 1)))
	long := time.Now().Add(-30 * 24 * kept)
	require.NoError(t, os.Chtimes(killed.own[0], long, long))
	_, ok := open(t, dir).Find(Key{"a", "main", 1})
	require.True(t, ok)
}

func TestProcessesThatEndSoonLeaveABoundedNumberOfFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 3 * maxEnded {
		j := open(t, dir)
		require.NoError(t, j.Keep(entry(fmt.Sprint("a", i), 1)))
		at := time.Now().Add(-kept + time.Duration(i)*time.Second)
		require.NoError(t, os.Chtimes(j.own[0], at, at))
	}
	next := open(t, dir)
	require.Len(t, next.names(), maxEnded+1)
	_, ok := next.Find(Key{fmt.Sprint("a", 3*maxEnded-1), "main", 1})
	require.True(t, ok, "the newest are kept")
}
