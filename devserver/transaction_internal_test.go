package devserver

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"almanac/devserver/database"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	enumsspb "go.temporal.io/server/api/enums/v1"
	persistencespb "go.temporal.io/server/api/persistence/v1"
	"go.temporal.io/server/chasm"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/persistence/serialization"
	persistencesql "go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
)

func TestEventsAndStateAreWrittenTogether(t *testing.T) {
	t.Parallel()
	s := newWorkflowStore(t)
	require.NoError(t, s.create(t.Context()))
	require.Equal(t, 1, s.eventBatches())
	require.NoError(t, s.update(t.Context(), 1))
	require.NoError(t, s.update(t.Context(), 2))
	require.Equal(t, 3, s.eventBatches())
	require.EqualValues(t, 3, s.version())
	require.Equal(t, 3, s.db.begun, "one transaction for each write")
	require.Equal(t, 3, s.db.committed)
}

func TestARefusedWriteLeavesNeitherEventsNorState(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		write func(context.Context, *workflowStore) error
		check func(t *testing.T, err error)
	}{
		{
			"a workflow that exists",
			func(ctx context.Context, s *workflowStore) error { return s.create(ctx) },
			func(t *testing.T, err error) {
				var refused *persistence.CurrentWorkflowConditionFailedError
				require.ErrorAs(t, err, &refused)
			},
		},
		{
			"a state that has changed",
			func(ctx context.Context, s *workflowStore) error { return s.update(ctx, 7) },
			func(t *testing.T, err error) {
				var refused *persistence.WorkflowConditionFailedError
				require.ErrorAs(t, err, &refused)
			},
		},
		{
			"a shard that another server has",
			func(ctx context.Context, s *workflowStore) error { s.rangeID++; return s.update(ctx, 1) },
			func(t *testing.T, err error) {
				var refused *persistence.ShardOwnershipLostError
				require.ErrorAs(t, err, &refused)
			},
		},
		{
			"a database that fails to commit",
			func(ctx context.Context, s *workflowStore) error {
				s.db.onCommit = func() error { return errors.New("disk full") }
				return s.update(ctx, 1)
			},
			func(t *testing.T, err error) {
				var unavailable *serviceerror.Unavailable
				require.ErrorAs(t, err, &unavailable)
				require.ErrorContains(t, err, "disk full")
				require.True(t, persistence.OperationPossiblySucceeded(err))
			},
		},
		{
			"a call that ends before its turn",
			func(ctx context.Context, s *workflowStore) error {
				ctx, cancel := context.WithCancel(ctx)
				cancel()
				return s.update(ctx, 1)
			},
			func(t *testing.T, err error) { require.False(t, persistence.OperationPossiblySucceeded(err), err) },
		},
		{
			"a call that ends between events and state",
			func(ctx context.Context, s *workflowStore) error {
				ctx, cancel := context.WithCancel(ctx)
				s.db.onEvents = cancel
				return s.update(ctx, 1)
			},
			func(t *testing.T, err error) { require.False(t, persistence.OperationPossiblySucceeded(err), err) },
		},
		{
			"a call that ends before its commit",
			func(ctx context.Context, s *workflowStore) error {
				ctx, cancel := context.WithCancel(ctx)
				s.db.onCommit = func() error { cancel(); return nil }
				return s.update(ctx, 1)
			},
			func(t *testing.T, err error) { require.False(t, persistence.OperationPossiblySucceeded(err), err) },
		},
		{
			"a store that panics",
			func(ctx context.Context, s *workflowStore) (err error) {
				defer func() { err = errors.New(recover().(string)) }()
				s.db.onEvents = func() { panic("in between") }
				return s.update(ctx, 1)
			},
			func(t *testing.T, err error) { require.EqualError(t, err, "in between") },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newWorkflowStore(t)
			require.NoError(t, s.create(t.Context()))
			rangeID := s.rangeID
			tt.check(t, tt.write(t.Context(), s))
			require.Equal(t, 1, s.eventBatches())
			require.EqualValues(t, 1, s.version())
			pool, err := sharedPool(s.plugin)
			require.NoError(t, err)
			require.Zero(t, pool.Stats().InUse, "the only connection is free")

			s.rangeID, s.db.onEvents, s.db.onCommit = rangeID, nil, nil
			require.NoError(t, s.update(t.Context(), 1))
			require.Equal(t, 2, s.eventBatches())
		})
	}
}

func TestReadsDuringAWriteSeeWhatItWrote(t *testing.T) {
	t.Parallel()
	s := newWorkflowStore(t)
	require.NoError(t, s.create(t.Context()))
	err := s.transact(t.Context(), "test", func(store persistence.ExecutionStore) error {
		require.NoError(t, store.UpdateWorkflowExecution(t.Context(), s.updateRequest(1)))
		got, err := store.GetWorkflowExecution(t.Context(), &persistence.GetWorkflowExecutionRequest{ShardID: 1, NamespaceID: s.namespace, WorkflowID: "w", RunID: s.run})
		require.NoError(t, err)
		require.EqualValues(t, 2, got.DBRecordVersion)
		return errors.New("give up")
	})
	require.EqualError(t, err, "give up")
	require.EqualValues(t, 1, s.version())
}

// A workflowStore writes one workflow.
type workflowStore struct {
	transactionalStore
	t              testing.TB
	config         *config.SQL
	plugin         sqlplugin.DB
	db             *watchedDB
	namespace, run string
	rangeID        int64
	events         int64
}

func newWorkflowStore(t testing.TB) *workflowStore {
	t.Helper()
	opened, err := openStore(t.Context(), filepath.Join(t.TempDir(), database.File), SynchronousFull)
	require.NoError(t, err)
	t.Cleanup(opened.close)
	db := &watchedDB{DB: opened.db}
	server := func(db sqlplugin.DB) (persistence.ExecutionStore, error) {
		return persistencesql.NewSQLExecutionStore(db, log.NewNoopLogger(), serialization.NewSerializer())
	}
	plain, err := server(opened.db)
	require.NoError(t, err)
	s := &workflowStore{
		transactionalStore: transactionalStore{ExecutionStore: plain, db: db, within: server},
		t:                  t, config: opened.config, plugin: opened.db, db: db,
		namespace: uuid.NewString(), run: uuid.NewString(), rangeID: 5,
	}
	_, err = opened.db.InsertIntoShards(t.Context(), &sqlplugin.ShardsRow{ShardID: 1, RangeID: s.rangeID, Data: []byte{}, DataEncoding: "Proto3"})
	require.NoError(t, err)
	return s
}

func (s *workflowStore) create(ctx context.Context) error {
	_, err := s.CreateWorkflowExecution(ctx, &persistence.InternalCreateWorkflowExecutionRequest{
		ShardID: 1, RangeID: s.rangeID, Mode: persistence.CreateWorkflowModeBrandNew, ArchetypeID: chasm.WorkflowArchetypeID,
		NewWorkflowSnapshot: persistence.InternalWorkflowSnapshot{
			NamespaceID: s.namespace, WorkflowID: "w", RunID: s.run, DBRecordVersion: 1,
			ExecutionInfoBlob: blob(), ExecutionState: s.state(), ExecutionStateBlob: blob(),
		},
		NewWorkflowNewEvents: []*persistence.InternalAppendHistoryNodesRequest{s.newEvents(true)},
	})
	return err
}

// update writes the next version of the workflow, if it has the given one.
func (s *workflowStore) update(ctx context.Context, version int64) error {
	return s.UpdateWorkflowExecution(ctx, s.updateRequest(version))
}

func (s *workflowStore) updateRequest(version int64) *persistence.InternalUpdateWorkflowExecutionRequest {
	return &persistence.InternalUpdateWorkflowExecutionRequest{
		ShardID: 1, RangeID: s.rangeID, Mode: persistence.UpdateWorkflowModeUpdateCurrent, ArchetypeID: chasm.WorkflowArchetypeID,
		UpdateWorkflowMutation: persistence.InternalWorkflowMutation{
			NamespaceID: s.namespace, WorkflowID: "w", RunID: s.run, DBRecordVersion: version + 1,
			ExecutionInfoBlob: blob(), ExecutionState: s.state(), ExecutionStateBlob: blob(),
		},
		UpdateWorkflowNewEvents: []*persistence.InternalAppendHistoryNodesRequest{s.newEvents(false)},
	}
}

func (s *workflowStore) state() *persistencespb.WorkflowExecutionState {
	return &persistencespb.WorkflowExecutionState{RunId: s.run, State: enumsspb.WORKFLOW_EXECUTION_STATE_RUNNING, Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING}
}

func (s *workflowStore) newEvents(first bool) *persistence.InternalAppendHistoryNodesRequest {
	s.events++
	return &persistence.InternalAppendHistoryNodesRequest{
		ShardID: 1, IsNewBranch: first, TreeInfo: blob(), BranchInfo: s.branch(),
		Node: persistence.InternalHistoryNode{NodeID: s.events, TransactionID: s.events, Events: blob()},
	}
}

func (s *workflowStore) branch() *persistencespb.HistoryBranch {
	return &persistencespb.HistoryBranch{TreeId: s.run, BranchId: s.run}
}

func (s *workflowStore) eventBatches() int {
	s.t.Helper()
	token, err := serialization.NewSerializer().HistoryBranchToBlob(s.branch())
	require.NoError(s.t, err)
	read, err := s.ReadHistoryBranch(s.t.Context(), &persistence.InternalReadHistoryBranchRequest{
		ShardID: 1, BranchToken: token.Data, BranchID: s.run, MinNodeID: 1, MaxNodeID: 1000, PageSize: 1000,
	})
	require.NoError(s.t, err)
	return len(read.Nodes)
}

func (s *workflowStore) version() int64 {
	s.t.Helper()
	got, err := s.GetWorkflowExecution(s.t.Context(), &persistence.GetWorkflowExecutionRequest{ShardID: 1, NamespaceID: s.namespace, WorkflowID: "w", RunID: s.run})
	require.NoError(s.t, err)
	return got.DBRecordVersion
}

func blob() *commonpb.DataBlob {
	return &commonpb.DataBlob{EncodingType: enumspb.ENCODING_TYPE_PROTO3, Data: []byte{}}
}

// A watchedDB counts transactions, and calls functions in the midst of them.
type watchedDB struct {
	sqlplugin.DB
	onEvents         func()
	onCommit         func() error
	begun, committed int
}

func (d *watchedDB) BeginTx(ctx context.Context) (sqlplugin.Tx, error) {
	d.begun++
	tx, err := d.DB.BeginTx(ctx)
	return &watchedTx{Tx: tx, db: d}, err
}

type watchedTx struct {
	sqlplugin.Tx
	db *watchedDB
}

func (t *watchedTx) ReadLockShards(ctx context.Context, filter sqlplugin.ShardsFilter) (int64, error) {
	if t.db.onEvents != nil {
		t.db.onEvents()
	}
	return t.Tx.ReadLockShards(ctx, filter)
}

func (t *watchedTx) Commit() error {
	if t.db.onCommit != nil {
		if err := t.db.onCommit(); err != nil {
			return err
		}
	}
	t.db.committed++
	return t.Tx.Commit()
}
