package devserver

import (
	"database/sql"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"almanac/devserver/database"

	"github.com/stretchr/testify/require"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
)

func TestTheFileShrinksWhenMuchWasDeleted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), database.File)
	s, err := openStore(t.Context(), path, SynchronousNormal)
	require.NoError(t, err)
	t.Cleanup(s.close)
	server, ok := s.db.(sqlplugin.AdminDB)
	require.True(t, ok)
	size := func() int64 {
		require.NoError(t, server.Exec("PRAGMA wal_checkpoint(TRUNCATE)"))
		info, err := os.Stat(path)
		require.NoError(t, err)
		return info.Size()
	}
	empty := size()
	require.NoError(t, server.Exec("CREATE TABLE ballast (data BLOB)"))
	const pages = 3 * keptPages
	require.NoError(t, server.Exec("INSERT INTO ballast VALUES (zeroblob(?))", pages*4096))
	full := size()
	require.Greater(t, full, empty+pages*4000)
	require.NoError(t, server.Exec("DROP TABLE ballast"))
	require.Equal(t, full, size(), "SQLite itself keeps unused pages")

	shrinker, err := newShrinker(s, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { _ = shrinker.pages.Close() })
	require.NoError(t, shrinker.shrink(t.Context()))
	require.InDelta(t, empty+keptPages*4096, size(), 64*4096)
	free, _, _, err := shrinker.look(t.Context())
	require.NoError(t, err)
	require.Equal(t, keptPages, free)
}

// A database that is older than the setting gets it by a backup.
func TestABackupCanShrink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	uri := url.URL{Path: filepath.ToSlash(filepath.Join(dir, database.File))}
	require.NoError(t, setUpSchema(uri.EscapedPath()))
	old, err := sql.Open("sqlite", filepath.Join(dir, database.File))
	require.NoError(t, err)
	old.SetMaxOpenConns(1)
	for _, statement := range []string{"PRAGMA journal_mode = delete", "PRAGMA auto_vacuum = none", "VACUUM", "PRAGMA journal_mode = wal"} {
		_, err := old.Exec(statement)
		require.NoError(t, err, statement)
	}
	mode := func(db *sql.DB) (mode int) {
		require.NoError(t, db.QueryRow("PRAGMA auto_vacuum").Scan(&mode))
		return mode
	}
	require.Equal(t, 0, mode(old))
	require.NoError(t, old.Close())
	file := filepath.Join(t.TempDir(), "backup.db")
	require.NoError(t, database.Backup(t.Context(), dir, file, func(int64, int64) {}))
	db, err := database.OpenReadOnly(file)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	require.Equal(t, 2, mode(db))
}
