package devserver

import (
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"almanac/devserver/database"

	"github.com/stretchr/testify/require"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	sqliteschema "go.temporal.io/server/schema/sqlite"
)

func TestIndexesOfColumnsThatAreEmptyAreDropped(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		before func(t *testing.T, db *sql.DB)
	}{
		{"in a new database", func(*testing.T, *sql.DB) {}},
		{"in one that has them all", func(t *testing.T, db *sql.DB) {
			tx, err := db.Begin()
			require.NoError(t, err)
			require.NoError(t, sqliteschema.SetupSchemaOnDB(schemaWriter{tx: tx}))
			_, err = tx.Exec("CREATE TABLE devserver_schema (version TEXT NOT NULL)")
			require.NoError(t, err)
			_, err = tx.Exec("INSERT INTO devserver_schema (version) VALUES (?)", database.SchemaVersion)
			require.NoError(t, err)
			require.NoError(t, tx.Commit())
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := url.URL{Path: filepath.ToSlash(filepath.Join(t.TempDir(), "temporal.db"))}
			db, err := openSQLite(path.EscapedPath())
			require.NoError(t, err)
			t.Cleanup(func() { _ = db.Close() })
			tt.before(t, db)
			require.NoError(t, setUpSchema(path.EscapedPath()))
			require.ElementsMatch(t, keptIndexes, indexes(t, db), "all of them are the server's own")
		})
	}
}

func indexes(t *testing.T, db *sql.DB) []string {
	t.Helper()
	rows, err := db.Query("SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'executions_visibility' AND sql IS NOT NULL")
	require.NoError(t, err)
	var names []string
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		names = append(names, name)
	}
	require.NoError(t, rows.Err())
	require.NoError(t, rows.Close())
	return names
}

// In a container with a read-only root file system there is no directory for them.
func TestTheDatabaseHasNoTemporaryFiles(t *testing.T) {
	t.Parallel()
	const open = "/proc/self/fd"
	if _, err := os.Stat(open); err != nil {
		t.Skip("this system does not list the files that a process has open")
	}
	s, err := openStore(t.Context(), filepath.Join(t.TempDir(), database.File), SynchronousNormal)
	require.NoError(t, err)
	t.Cleanup(s.close)
	server, ok := s.db.(sqlplugin.AdminDB)
	require.True(t, ok)
	const ballast = "CREATE TEMP TABLE ballast AS SELECT zeroblob(16000000) AS data"
	require.NoError(t, server.Exec(ballast))
	schema, err := openSQLite((&url.URL{Path: filepath.ToSlash(filepath.Join(t.TempDir(), database.File))}).EscapedPath())
	require.NoError(t, err)
	t.Cleanup(func() { _ = schema.Close() })
	_, err = schema.Exec(ballast)
	require.NoError(t, err)
	files, err := os.ReadDir(open)
	require.NoError(t, err)
	for _, f := range files {
		if name, err := os.Readlink(filepath.Join(open, f.Name())); err == nil {
			require.NotContains(t, filepath.Base(name), "etilqs_", "SQLite begins the names of temporary files with it")
		}
	}
}
