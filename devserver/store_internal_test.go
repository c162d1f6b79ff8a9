package devserver

import (
	"database/sql"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
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
			_, err = tx.Exec("INSERT INTO devserver_schema (version) VALUES (?)", schemaVersion)
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
