package devserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"

	"almanac/devserver/database"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	persistencespb "go.temporal.io/server/api/persistence/v1"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence/serialization"
	persistencesql "go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/resolver"
	"go.temporal.io/server/common/searchattribute/sadefs"
	sqliteschema "go.temporal.io/server/schema/sqlite"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Values of [Options.Synchronous]. With either, no acknowledged write is lost when the process dies, and
// the database stays consistent.
const (
	// SynchronousFull flushes to disk at each commit: acknowledged writes survive a power failure too.
	SynchronousFull = "full"

	// SynchronousNormal flushes to disk at checkpoints only: a power failure or a crash of the operating
	// system may lose the last commits. Jobs created just before are gone although acknowledged, and
	// executions just before are repeated. On a disk with slow flushes, throughput is several times that of
	// SynchronousFull.
	SynchronousNormal = "normal"
)

// A store is the database, for use before the server starts and after it stops.
type store struct {
	config *config.SQL
	path   string
	db     sqlplugin.DB
}

// openStore opens the database at path. It creates the tables if the database is new.
func openStore(ctx context.Context, path, synchronous string) (*store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	// The plugin inserts the name into a "file:" URI without escaping it.
	uri := url.URL{Path: filepath.ToSlash(path)}
	cfg := &config.SQL{
		PluginName:   sqliteplugin.PluginName,
		DatabaseName: uri.EscapedPath(),
		ConnectAttributes: map[string]string{
			"mode": "rwc",
			// With a write-ahead log a commit is one sequential write, and a backup can read while the
			// server writes.
			"journal_mode": "wal",
			"synchronous":  synchronous,
			// Bytes that the write-ahead log keeps once its contents are in the database. A long read, such as a
			// backup, lets it grow far beyond.
			"journal_size_limit": "67108864",
			// A container with a read-only root file system has no directory for temporary files.
			"temp_store": "memory",
			// Milliseconds to wait while another process has the file locked.
			"busy_timeout": "10000",
		},
	}
	if err := setUpSchema(cfg.DatabaseName); err != nil {
		return nil, fmt.Errorf("database %s: %w", path, err)
	}
	db, err := persistencesql.NewSQLDB(sqlplugin.DbKindMain, cfg, resolver.NewNoopResolver(), log.NewNoopLogger(), metrics.NoopMetricsHandler)
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", path, err)
	}
	if err := keepStatements(ctx, db, cfg); err != nil {
		return nil, fmt.Errorf("database %s: %w", path, err)
	}
	return &store{config: cfg, path: path, db: db}, nil
}

// close empties the write-ahead log, so that the database is a single file. The server's SQLite plugin
// keeps its own connection for the life of the process.
func (s *store) close() {
	_ = s.db.Close()
	if db, err := openSQLite(s.config.DatabaseName); err == nil {
		_, _ = db.Exec("PRAGMA wal_checkpoint(TRUNCATE)") // after an error the next start reads the log
		_ = db.Close()
	}
}

// openSQLite opens the database without the server's plugin, whose connections cannot run a schema in a
// transaction. The mode of auto_vacuum has an effect on a new database only.
func openSQLite(databaseName string) (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+databaseName+
		"?mode=rwc&_pragma=busy_timeout=2000&_pragma=temp_store=memory&_pragma=auto_vacuum=incremental&_pragma=journal_mode=wal&_pragma=synchronous=full")
}

// setUpSchema creates the tables and drops costly indexes, in one transaction, so that a crash leaves
// either an empty database or the whole schema.
func setUpSchema(databaseName string) (err error) {
	db, err := openSQLite(databaseName)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // has no effect after Commit

	if _, err := tx.Exec("CREATE TABLE IF NOT EXISTS devserver_schema (version TEXT NOT NULL)"); err != nil {
		return err
	}
	var version string
	created := false
	switch err := tx.QueryRow("SELECT version FROM devserver_schema").Scan(&version); {
	case errors.Is(err, sql.ErrNoRows):
		created = true
		if err := sqliteschema.SetupSchemaOnDB(schemaWriter{tx: tx}); err != nil {
			return err
		}
		if _, err := tx.Exec("INSERT INTO devserver_schema (version) VALUES (?)", database.SchemaVersion); err != nil {
			return err
		}
	case err != nil:
		return err
	case version != database.SchemaVersion:
		return database.OtherSchema(version)
	}
	if err := dropIndexes(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil || !created {
		return err
	}
	// The pages of the dropped indexes were never written. SQLite (3.53) takes a database that is longer than what
	// was written for a damaged one, and copies none of its write-ahead log into the file.
	_, err = db.Exec("PRAGMA incremental_vacuum")
	return err
}

// keptIndexes are the indexes kept on the visibility table, which lists of workflows read. The server has
// one for each column that a list can filter by, most of them for empty columns; maintaining them all took
// a quarter of the time to create a job. A list that filters by another column scans all workflows.
var keptIndexes = []string{
	"default_idx", "by_workflow_id", "by_workflow_type", "by_status", "by_execution_time",
	"by_keyword_01", "by_keyword_02", "by_keyword_03", "by_keyword_04", "by_keyword_05",
}

func dropIndexes(tx *sql.Tx) (err error) {
	rows, err := tx.Query("SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'executions_visibility' AND sql IS NOT NULL")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, name := range names {
		if slices.Contains(keptIndexes, name) {
			continue
		}
		if _, err := tx.Exec("DROP INDEX " + name); err != nil { // the name comes from the server's schema
			return err
		}
	}
	return nil
}

// schemaWriter runs the server's schema in a transaction. Of AdminDB, the schema uses Exec only.
type schemaWriter struct {
	sqlplugin.AdminDB
	tx *sql.Tx
}

func (w schemaWriter) Exec(statement string, args ...any) error {
	_, err := w.tx.Exec(statement, args...)
	return err
}

// applyNamespace creates o's namespace, or sets the retention of the existing one and adds the search
// attributes it lacks.
func (s *store) applyNamespace(ctx context.Context, o Options) error {
	fresh, err := sqliteschema.NewNamespaceConfig(clusterName, o.Namespace, false, nil)
	if err != nil {
		return fmt.Errorf("namespace %q: %w", o.Namespace, err)
	}
	if err := sqliteschema.CreateNamespaces(s.config, fresh); err != nil { // has no effect if the namespace exists
		return err
	}
	rows, err := s.db.SelectFromNamespace(ctx, sqlplugin.NamespaceFilter{Name: &o.Namespace})
	if err != nil {
		return fmt.Errorf("read namespace %q: %w", o.Namespace, err)
	}
	row := &rows[0]
	detail, err := decodeNamespace(row)
	if err != nil {
		return fmt.Errorf("read namespace %q: %w", o.Namespace, err)
	}

	wanted := proto.CloneOf(detail)
	wanted.Config.Retention = durationpb.New(o.Retention)
	wanted.Config.CustomSearchAttributeAliases, err = withAliases(detail.Config.CustomSearchAttributeAliases, o.SearchAttributes)
	if err != nil {
		return fmt.Errorf("namespace %q: %w", o.Namespace, err)
	}
	if proto.Equal(wanted, detail) {
		return nil
	}
	wanted.ConfigVersion++
	if err := encodeNamespace(row, wanted); err != nil {
		return fmt.Errorf("write namespace %q: %w", o.Namespace, err)
	}
	if _, err := s.db.UpdateNamespace(ctx, row); err != nil {
		return fmt.Errorf("write namespace %q: %w", o.Namespace, err)
	}
	return nil
}

func decodeNamespace(row *sqlplugin.NamespaceRow) (*persistencespb.NamespaceDetail, error) {
	encoding, err := enumspb.EncodingTypeFromString(row.DataEncoding)
	if err != nil {
		return nil, err
	}
	return serialization.NewSerializer().NamespaceDetailFromBlob(&commonpb.DataBlob{EncodingType: encoding, Data: row.Data})
}

func encodeNamespace(row *sqlplugin.NamespaceRow, detail *persistencespb.NamespaceDetail) error {
	blob, err := serialization.NewSerializer().NamespaceDetailToBlob(detail)
	if err != nil {
		return err
	}
	row.Data, row.DataEncoding = blob.Data, blob.EncodingType.String()
	return nil
}

// withAliases returns aliases plus the wanted search attributes. The database has a fixed set of typed
// columns, such as Keyword01; aliases maps the columns that the namespace uses to the names of its search
// attributes.
func withAliases(aliases map[string]string, wanted map[string]enumspb.IndexedValueType) (map[string]string, error) {
	columnTypes := sadefs.GetDBIndexSearchAttributes(nil).CustomSearchAttributes
	columns := slices.Sorted(maps.Keys(columnTypes))

	result := make(map[string]string, len(aliases)+len(wanted))
	columnOf := make(map[string]string, len(aliases))
	for column, name := range aliases {
		result[column] = name
		columnOf[name] = column
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		switch column, exists := columnOf[name]; {
		case sadefs.IsReserved(name):
			return nil, fmt.Errorf("search attribute %q is one of Temporal's own: choose another name", name)
		case exists && columnTypes[column] != wanted[name]:
			return nil, fmt.Errorf("search attribute %q has type %s here and cannot become %s: choose another name or "+
				"another data directory", name, columnTypes[column], wanted[name])
		case exists:
			continue
		}
		free := slices.IndexFunc(columns, func(column string) bool {
			_, taken := result[column]
			return !taken && columnTypes[column] == wanted[name]
		})
		if free < 0 {
			return nil, fmt.Errorf("no room for search attribute %q: SQLite holds no more of type %s", name, wanted[name])
		}
		result[columns[free]] = name
	}
	return result, nil
}
