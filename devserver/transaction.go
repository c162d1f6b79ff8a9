package devserver

import (
	"context"
	"database/sql"
	"errors"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/server/common/persistence"
	persistenceclient "go.temporal.io/server/common/persistence/client"
	persistencesql "go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/temporal"
)

// inOneTransaction has the server write the events and the state of a workflow in one transaction of db. By
// itself it writes the events first, in a transaction of their own, as it must where they are in different
// databases.
func inOneTransaction(db sqlplugin.DB) temporal.ServerOption {
	return temporal.WithPersistenceFactoryProvider(func(p persistenceclient.NewFactoryParams) persistenceclient.Factory {
		p.DataStoreFactory = storeFactory{DataStoreFactory: p.DataStoreFactory, db: db, params: p}
		return temporal.PersistenceFactoryProvider()(p)
	})
}

// A storeFactory makes the server's own stores, and that of workflows within a transactionalStore.
type storeFactory struct {
	persistence.DataStoreFactory
	db     sqlplugin.DB
	params persistenceclient.NewFactoryParams
}

func (f storeFactory) NewExecutionStore() (persistence.ExecutionStore, error) {
	server, err := f.DataStoreFactory.NewExecutionStore()
	if err != nil {
		return nil, err
	}
	return transactionalStore{
		ExecutionStore: server,
		db:             f.db,
		within: func(tx sqlplugin.DB) (persistence.ExecutionStore, error) {
			return persistencesql.NewSQLExecutionStore(tx, f.params.Logger, f.params.Serializer)
		},
	}, nil
}

// A transactionalStore makes each of the writes that consist of events and state in one transaction.
type transactionalStore struct {
	persistence.ExecutionStore
	db     sqlplugin.DB
	within func(sqlplugin.DB) (persistence.ExecutionStore, error) // the server's store on another database
}

func (s transactionalStore) CreateWorkflowExecution(ctx context.Context,
	r *persistence.InternalCreateWorkflowExecutionRequest) (response *persistence.InternalCreateWorkflowExecutionResponse, err error) {
	err = s.transact(ctx, "CreateWorkflowExecution", func(store persistence.ExecutionStore) (err error) {
		response, err = store.CreateWorkflowExecution(ctx, r)
		return err
	})
	return response, err
}

func (s transactionalStore) UpdateWorkflowExecution(ctx context.Context, r *persistence.InternalUpdateWorkflowExecutionRequest) error {
	return s.transact(ctx, "UpdateWorkflowExecution", func(store persistence.ExecutionStore) error {
		return store.UpdateWorkflowExecution(ctx, r)
	})
}

func (s transactionalStore) ConflictResolveWorkflowExecution(ctx context.Context,
	r *persistence.InternalConflictResolveWorkflowExecutionRequest) error {
	return s.transact(ctx, "ConflictResolveWorkflowExecution", func(store persistence.ExecutionStore) error {
		return store.ConflictResolveWorkflowExecution(ctx, r)
	})
}

// transact commits what f writes, or nothing of it if f fails.
func (s transactionalStore) transact(ctx context.Context, operation string, f func(persistence.ExecutionStore) error) error {
	tx, err := s.db.BeginTx(ctx)
	if err != nil {
		return notWritten(ctx, serviceerror.NewUnavailablef("%s: begin a transaction: %v", operation, err))
	}
	// There is one connection: a transaction that stays open stops the server.
	defer func() { _ = tx.Rollback() }() // has no effect after Commit
	store, err := s.within(joinedDB{Tx: tx, db: s.db})
	if err != nil {
		return err
	}
	if err := f(store); err != nil {
		return notWritten(ctx, err)
	}
	switch err := tx.Commit(); {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrTxDone), errors.Is(err, ctx.Err()): // rolled back when ctx ended
		return notWritten(ctx, serviceerror.NewUnavailablef("%s: %v", operation, err))
	default:
		return serviceerror.NewUnavailablef("%s: commit: %v", operation, err)
	}
}

// notWritten returns the error of a write that committed nothing. The server would take a write that ran out of time
// for one that may still be committed, and acquire its shard anew, while all other writes wait.
func notWritten(ctx context.Context, err error) error {
	var unavailable *serviceerror.Unavailable
	if ctx.Err() != nil && errors.As(err, &unavailable) {
		return &persistence.AppendHistoryTimeoutError{Msg: err.Error()}
	}
	return err
}

// A joinedDB is a database whose calls all belong to one transaction.
type joinedDB struct {
	sqlplugin.Tx
	db sqlplugin.DB
}

// BeginTx returns a part of the transaction. Ending the part does not end the transaction: if a part is rolled back,
// the store reports an error, and transact rolls everything back.
func (d joinedDB) BeginTx(context.Context) (sqlplugin.Tx, error) { return part{d.Tx}, nil }

func (d joinedDB) IsDupEntryError(err error) bool { return d.db.IsDupEntryError(err) }
func (d joinedDB) DbName() string                 { return d.db.DbName() }
func (d joinedDB) PluginName() string             { return d.db.PluginName() }
func (d joinedDB) Close() error                   { return nil }

type part struct{ sqlplugin.Tx }

func (part) Commit() error   { return nil }
func (part) Rollback() error { return nil }
