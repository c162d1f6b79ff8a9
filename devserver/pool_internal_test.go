package devserver

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	persistencesql "go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/resolver"

	"almanac/devserver/database"
	"almanac/devserver/stmtcache"
)

func TestAllOfTheServerSharesTheConnectionThatKeepsStatements(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "odd name? 100% #1")
	s, err := openStore(t.Context(), path, SynchronousFull)
	require.NoError(t, err)
	t.Cleanup(s.close)
	ours, err := sharedPool(s.db)
	require.NoError(t, err)
	require.IsType(t, stmtcache.Driver{}, ours.Driver())
	for _, kind := range []sqlplugin.DbKind{sqlplugin.DbKindMain, sqlplugin.DbKindVisibility} {
		db, err := persistencesql.NewSQLDB(kind, s.config, resolver.NewNoopResolver(), log.NewNoopLogger(), metrics.NoopMetricsHandler)
		require.NoError(t, err)
		theirs, err := sharedPool(db)
		require.NoError(t, err)
		require.Same(t, ours, theirs)
	}
	again, err := openStore(t.Context(), path, SynchronousFull)
	require.NoError(t, err)
	reopened, err := sharedPool(again.db)
	require.NoError(t, err)
	require.Same(t, ours.DB, reopened.DB, "as it was")
}

func TestTheConnectionIsAsThePluginOpensIt(t *testing.T) {
	t.Parallel()
	for _, synchronous := range []string{SynchronousFull, SynchronousNormal} {
		s, err := openStore(t.Context(), filepath.Join(t.TempDir(), database.File), synchronous)
		require.NoError(t, err)
		t.Cleanup(s.close)
		pool, err := sharedPool(s.db)
		require.NoError(t, err)
		require.Equal(t, 1, pool.Stats().MaxOpenConnections)
		for name, want := range map[string]string{
			"synchronous":        map[string]string{SynchronousFull: "2", SynchronousNormal: "1"}[synchronous],
			"journal_mode":       "wal",
			"journal_size_limit": s.config.ConnectAttributes["journal_size_limit"],
			"temp_store":         "2",
			"busy_timeout":       s.config.ConnectAttributes["busy_timeout"],
		} {
			var got string
			require.NoError(t, pool.GetContext(t.Context(), &got, "PRAGMA "+name))
			require.Equal(t, want, got, name)
		}
		_, err = s.db.InsertIntoTimerTasks(t.Context(), []sqlplugin.TimerTasksRow{timer(time.Date(2026, 11, 23, 8, 30, 0, 1500_000, time.UTC), 1)})
		require.NoError(t, err)
		var stored string
		require.NoError(t, pool.GetContext(t.Context(), &stored, "SELECT CAST(visibility_timestamp AS TEXT) FROM timer_tasks"))
		require.Equal(t, "2026-11-23 08:30:00.0015+00:00", stored, "SQLite compares times as text")
	}
}

func TestAnotherPluginIsRefused(t *testing.T) {
	t.Parallel()
	for _, db := range []sqlplugin.DB{nil, &watchedDB{}, struct{ sqlplugin.DB }{}} {
		_, err := sharedPool(db)
		require.ErrorContains(t, err, "this program was not made for this version of the server")
	}
}

// The rows before the first one that was asked for are the many that have fired, or that were read before.
func TestReadsBeginAtTheirFirstRow(t *testing.T) {
	t.Parallel()
	s, err := openStore(t.Context(), filepath.Join(t.TempDir(), database.File), SynchronousNormal)
	require.NoError(t, err)
	t.Cleanup(s.close)
	first := time.Date(2026, 11, 23, 8, 30, 0, 0, time.UTC)
	tree := uuid.New()
	for i := range 10 {
		_, err := s.db.InsertIntoTimerTasks(t.Context(), []sqlplugin.TimerTasksRow{timer(first.Add(time.Duration(i/2)*time.Second), int64(i))})
		require.NoError(t, err)
		_, err = s.db.InsertIntoHistoryNode(t.Context(), &sqlplugin.HistoryNodeRow{ShardID: 1, TreeID: tree[:], BranchID: tree[:], NodeID: int64(i / 2), TxnID: int64(i), Data: []byte{}})
		require.NoError(t, err)
	}
	for i := range 10 {
		timers, err := s.db.RangeSelectFromTimerTasks(t.Context(), sqlplugin.TimerTasksRangeFilter{
			ShardID: 1, InclusiveMinVisibilityTimestamp: first.Add(time.Duration(i/2) * time.Second), InclusiveMinTaskID: int64(i),
			ExclusiveMaxVisibilityTimestamp: first.Add(4 * time.Second), PageSize: 3,
		})
		require.NoError(t, err)
		var ids []int64
		for _, row := range timers {
			ids = append(ids, row.TaskID)
		}
		require.Equal(t, []int64{0, 1, 2, 3, 4, 5, 6, 7}[min(i, 8):min(i+3, 8)], append([]int64{}, ids...), "from %d", i)

		nodes, err := s.db.RangeSelectFromHistoryNode(t.Context(), sqlplugin.HistoryNodeSelectFilter{
			ShardID: 1, TreeID: tree[:], BranchID: tree[:], MinNodeID: int64(i / 2), MinTxnID: int64(i/2*2 + 1), MaxNodeID: 4, PageSize: 3,
		})
		require.NoError(t, err)
		ids = nil
		for _, row := range nodes {
			ids = append(ids, row.TxnID)
		}
		require.Equal(t, []int64{0, 3, 2, 5, 4, 7, 6}[min(i/2*2, 7):min(i/2*2+3, 7)], append([]int64{}, ids...), "the writes of a node after its newest, then those of later nodes, the newest first; from %d", i)
	}
}

func TestReadsOfTheServerUseTheirLowerBound(t *testing.T) {
	t.Parallel()
	s, err := openStore(t.Context(), filepath.Join(t.TempDir(), database.File), SynchronousNormal)
	require.NoError(t, err)
	t.Cleanup(s.close)
	_, err = s.db.RangeSelectFromTimerTasks(t.Context(), sqlplugin.TimerTasksRangeFilter{})
	require.NoError(t, err)
	_, err = s.db.RangeSelectFromHistoryNode(t.Context(), sqlplugin.HistoryNodeSelectFilter{})
	require.NoError(t, err)
	pool, err := sharedPool(s.db)
	require.NoError(t, err)
	c, err := pool.Connx(t.Context())
	require.NoError(t, err)
	var kept []string
	require.NoError(t, c.Raw(func(c any) error { kept = c.(interface{ Kept() []string }).Kept(); return nil }))
	var plans []string
	for _, text := range kept {
		if !strings.Contains(text, "timer_tasks") && !strings.Contains(text, "history_node") {
			continue
		}
		var steps []struct {
			ID, Parent, Notused int
			Detail              string
		}
		require.NoError(t, c.SelectContext(t.Context(), &steps, "EXPLAIN QUERY PLAN "+text, make([]any, strings.Count(text, "?"))...), text)
		for _, step := range steps {
			plans = append(plans, step.Detail)
		}
	}
	require.NoError(t, c.Close())
	require.ElementsMatch(t, []string{
		"SEARCH timer_tasks USING INDEX sqlite_autoindex_timer_tasks_1 (shard_id=? AND (visibility_timestamp,task_id)>(?,?) AND visibility_timestamp<?)",
		"SEARCH history_node USING INDEX sqlite_autoindex_history_node_1 (shard_id=? AND tree_id=? AND branch_id=? AND (node_id,txn_id)>(?,?) AND node_id<?)",
	}, plans)
}

func timer(at time.Time, id int64) sqlplugin.TimerTasksRow {
	return sqlplugin.TimerTasksRow{ShardID: 1, VisibilityTimestamp: at, TaskID: id, Data: []byte{}, DataEncoding: "Proto3"}
}
