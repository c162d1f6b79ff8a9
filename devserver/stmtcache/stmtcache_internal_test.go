package stmtcache

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"modernc.org/sqlite"
)

func TestAStatementIsCompiledOnce(t *testing.T) {
	t.Parallel()
	db, compiled := open(t, strings.NewReplacer())
	exec(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)")
	for i := range 10 {
		exec(t, db, "INSERT INTO t VALUES (?, ?)", i, fmt.Sprint("name ", i))
		require.Equal(t, fmt.Sprint("name ", i), get(t, db, "SELECT name FROM t WHERE id = ?", i))
	}
	require.Equal(t, map[string]int{"INSERT INTO t VALUES (?, ?)": 1, "SELECT name FROM t WHERE id = ?": 1}, compiled)
}

func TestAStatementWhoseRowsAreOpenIsNotRunAgain(t *testing.T) {
	t.Parallel()
	db, compiled := open(t, strings.NewReplacer())
	exec(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY)")
	exec(t, db, "INSERT INTO t VALUES (1), (2), (3), (4)")
	tx, err := db.BeginTx(t.Context(), nil) // both run on its connection
	require.NoError(t, err)
	const text = "SELECT id FROM t WHERE id >= ? ORDER BY id"
	var outer, inner []int
	for range 2 {
		outer, inner = nil, nil
		first, err := tx.QueryContext(t.Context(), text, 1)
		require.NoError(t, err)
		require.True(t, first.Next())
		outer = scan(t, first, outer)
		second, err := tx.QueryContext(t.Context(), text, 3)
		require.NoError(t, err)
		for second.Next() {
			inner = scan(t, second, inner)
		}
		require.NoError(t, second.Close())
		for first.Next() {
			outer = scan(t, first, outer)
		}
		require.NoError(t, first.Close())
		require.NoError(t, first.Close())
		require.Equal(t, []int{1, 2, 3, 4}, outer)
		require.Equal(t, []int{3, 4}, inner)
	}
	require.NoError(t, tx.Commit())
	require.Equal(t, 3, compiled[text], "one is kept, the other one compiled for each time")
}

func TestAStatementThatFailedRunsAgain(t *testing.T) {
	t.Parallel()
	db, _ := open(t, strings.NewReplacer())
	exec(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
	const insert = "INSERT INTO t VALUES (?, ?)"
	exec(t, db, insert, 1, "one")
	for range 2 {
		_, err := db.ExecContext(t.Context(), insert, 1, "one again")
		var failure *sqlite.Error
		require.ErrorAs(t, err, &failure)
		const primaryKeyConstraint = 1555
		require.Equal(t, primaryKeyConstraint, failure.Code())
	}
	_, err := db.ExecContext(t.Context(), insert, 1)
	require.ErrorContains(t, err, "missing argument with index 2")
	exec(t, db, insert, 2, "two")
	require.Equal(t, "one", get(t, db, "SELECT name FROM t WHERE id = ?", 1))
	require.Equal(t, "two", get(t, db, "SELECT name FROM t WHERE id = ?", 2))
}

// The query has more rows than anybody waits for, and fails in the middle of them.
func TestAStatementThatWasInterruptedRunsAgain(t *testing.T) {
	t.Parallel()
	db, _ := open(t, strings.NewReplacer())
	exec(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY)")
	exec(t, db, "INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) SELECT i FROM n")
	const text = "SELECT count(*) FROM t a, t b, t c WHERE a.id < ?"
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		var n int
		ended <- db.QueryRowContext(ctx, text, 1<<40).Scan(&n)
	}()
	require.Eventually(t, func() bool { return db.Stats().InUse == 1 }, 10*time.Second, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.Equal(t, "0", get(t, db, text, 0))
	_, err := db.ExecContext(ctx, "DELETE FROM t WHERE id = ?", 1)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, "2000", get(t, db, "SELECT count(*) FROM t"))
}

func TestStatementsFollowTheSchema(t *testing.T) {
	t.Parallel()
	db, compiled := open(t, strings.NewReplacer())
	exec(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY)")
	exec(t, db, "INSERT INTO t VALUES (1)")
	const text = "SELECT * FROM t"
	columns := func() []string {
		rows, err := db.QueryContext(t.Context(), text)
		require.NoError(t, err)
		defer rows.Close()
		require.True(t, rows.Next())
		names, err := rows.Columns()
		require.NoError(t, err)
		require.NoError(t, rows.Err())
		return names
	}
	require.Equal(t, []string{"id"}, columns())
	exec(t, db, "ALTER TABLE t ADD COLUMN name TEXT")
	require.Equal(t, []string{"id", "name"}, columns())
	require.Equal(t, 1, compiled[text], "SQLite itself compiles it again")
}

func TestFewStatementsAreKept(t *testing.T) {
	t.Parallel()
	db, compiled := open(t, strings.NewReplacer())
	const often = "SELECT 'often'"
	for i := range 3 * maxIdle {
		get(t, db, fmt.Sprintf("SELECT %d", i))
		get(t, db, often)
	}
	require.Equal(t, 1, compiled[often])
	raw(t, db, func(c *conn) {
		require.Len(t, c.idle, maxIdle)
		require.Empty(t, c.running)
	})
}

func TestStatementsThatMayTakeEffectWhenCompiledAreNotKept(t *testing.T) {
	t.Parallel()
	db, _ := open(t, strings.NewReplacer())
	for range 2 {
		require.Equal(t, "wal", get(t, db, "PRAGMA journal_mode"))
	}
	exec(t, db, "CREATE TABLE t (id INTEGER)")
	exec(t, db, "DROP TABLE t")
	raw(t, db, func(c *conn) { require.Empty(t, c.idle) })
}

func TestStatementsAreClosedWithTheirConnection(t *testing.T) {
	t.Parallel()
	c, err := NewConnector(&sqlite.Driver{}, dataSource(t), strings.NewReplacer()).Connect(t.Context())
	require.NoError(t, err)
	q := c.(*conn)
	open, err := q.QueryContext(t.Context(), "SELECT 1 UNION SELECT 2", nil)
	require.NoError(t, err)
	_, err = q.ExecContext(t.Context(), "SELECT 3", nil)
	require.NoError(t, err)
	require.Len(t, q.running, 1)
	require.Len(t, q.idle, 1)
	require.NoError(t, q.Close())
	require.NoError(t, open.Close())
}

func TestARewrittenStatementGetsTheSameArguments(t *testing.T) {
	t.Parallel()
	db, compiled := open(t, strings.NewReplacer("(? - ?)", "2 * (?2 - ?1)"))
	for range 2 {
		require.Equal(t, "14", get(t, db, "SELECT (? - ?)", 3, 10))
	}
	require.Equal(t, map[string]int{"SELECT 2 * (?2 - ?1)": 1}, compiled)
}

func BenchmarkInsert(b *testing.B) {
	for _, bm := range []struct {
		name string
		db   func() *sql.DB
	}{
		{"kept", func() *sql.DB {
			return sql.OpenDB(NewConnector(&sqlite.Driver{}, dataSource(b), strings.NewReplacer()))
		}},
		{"compiled each time", func() *sql.DB {
			db, err := sql.Open("sqlite", dataSource(b))
			require.NoError(b, err)
			return db
		}},
	} {
		b.Run(bm.name, func(b *testing.B) {
			db := bm.db()
			defer db.Close()
			db.SetMaxOpenConns(1)
			_, err := db.ExecContext(b.Context(), "CREATE TABLE t (shard INTEGER, tree BLOB, branch BLOB, node INTEGER, txn INTEGER, data BLOB, PRIMARY KEY (shard, tree, branch, node, txn))")
			require.NoError(b, err)
			b.ReportAllocs()
			node := 0
			for b.Loop() {
				node++
				_, err := db.ExecContext(b.Context(), "REPLACE INTO t (shard, tree, branch, node, txn, data) VALUES (?, ?, ?, ?, ?, ?)", 1, []byte("tree"), []byte("branch"), node, node, make([]byte, 500))
				require.NoError(b, err)
			}
		})
	}
}

// countingDriver counts how often each statement is compiled.
type countingDriver struct {
	driver.Driver
	compiled map[string]int
}

func (d countingDriver) Open(dsn string) (driver.Conn, error) {
	c, err := d.Driver.Open(dsn)
	if err != nil {
		return nil, err
	}
	return countingConn{c.(rawConn), d.compiled}, nil
}

type countingConn struct {
	rawConn
	compiled map[string]int
}

func (c countingConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	c.compiled[text]++
	return c.rawConn.PrepareContext(ctx, text)
}

func open(t *testing.T, rewrite *strings.Replacer) (db *sql.DB, compiled map[string]int) {
	t.Helper()
	compiled = make(map[string]int)
	db = sql.OpenDB(NewConnector(countingDriver{&sqlite.Driver{}, compiled}, dataSource(t), rewrite))
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db, compiled
}

func dataSource(tb testing.TB) string {
	return "file:" + filepath.Join(tb.TempDir(), "test.db") + "?_pragma=journal_mode=wal&_pragma=synchronous=off"
}

func exec(t *testing.T, db *sql.DB, text string, args ...any) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), text, args...)
	require.NoError(t, err)
}

func get(t *testing.T, db *sql.DB, text string, args ...any) (value string) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(), text, args...).Scan(&value))
	return value
}

func scan(t *testing.T, rows *sql.Rows, to []int) []int {
	t.Helper()
	var n int
	require.NoError(t, rows.Scan(&n))
	return append(to, n)
}

// raw shows f the connection of db.
func raw(t *testing.T, db *sql.DB, f func(*conn)) {
	t.Helper()
	c, err := db.Conn(t.Context())
	require.NoError(t, err)
	require.NoError(t, c.Raw(func(c any) error { f(c.(*conn)); return nil }))
	require.NoError(t, c.Close())
}
