package devserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"

	"almanac/devserver/stmtcache"
)

// lowerBounds replaces conditions of the server's statements by others with the same meaning and arguments, of which
// SQLite finds the first row in an index. With the server's own it reads all rows before: every look for the next
// timers goes through those that have fired and are not deleted yet, and every workflow task through the events of its
// run.
var lowerBounds = strings.NewReplacer(
	"((visibility_timestamp >= ? AND task_id >= ?) OR visibility_timestamp > ?)",
	"((visibility_timestamp, task_id) >= (?, ?) AND visibility_timestamp >= ?)",
	"((node_id = ? AND txn_id > ?) OR node_id > ?)", "((node_id, txn_id) > (?, ?) AND node_id >= ?)",
)

// keepStatements has the connection of db keep its compiled statements. Temporal's plugin has one connection for
// each database file, which all of its services share, and opens it by itself; it is replaced here, so it must
// not be in use yet.
func keepStatements(ctx context.Context, db sqlplugin.DB, cfg *config.SQL) error {
	shared, err := sharedPool(db)
	if err != nil {
		return err
	}
	if _, replaced := shared.Driver().(stmtcache.Driver); replaced { // by an earlier server of this process
		return nil
	}
	opened := sql.OpenDB(stmtcache.NewConnector(shared.Driver(), dataSource(cfg), lowerBounds))
	opened.SetMaxOpenConns(1) // as the plugin does
	opened.SetMaxIdleConns(1)
	if err := opened.PingContext(ctx); err != nil {
		return errors.Join(err, opened.Close())
	}
	err = shared.Close()
	shared.DB = opened
	return err
}

// sharedPool returns what the plugin shares among all databases of one file. The plugin has no other access to
// it than the field of an unexported type.
func sharedPool(db sqlplugin.DB) (*sqlx.DB, error) {
	const field = "db"
	if v := reflect.Indirect(reflect.ValueOf(db)); v.Kind() == reflect.Struct {
		if f := v.FieldByName(field); f.IsValid() && f.Type() == reflect.TypeFor[*sqlx.DB]() && !f.IsNil() {
			return reflect.NewAt(reflect.TypeFor[sqlx.DB](), f.UnsafePointer()).Interface().(*sqlx.DB), nil
		}
	}
	return nil, fmt.Errorf("type %T of the Temporal server's SQLite plugin has no connection pool in a field %q: this "+
		"program was not made for this version of the server", db, field)
}

// dataSource is what the plugin opens for cfg.
func dataSource(cfg *config.SQL) string {
	options := url.Values{"_time_format": {"sqlite"}}
	for _, name := range slices.Sorted(maps.Keys(cfg.ConnectAttributes)) {
		value := cfg.ConnectAttributes[name]
		if name == "mode" {
			options.Set(name, value)
		} else {
			options.Add("_pragma", name+"="+value)
		}
	}
	return "file:" + cfg.DatabaseName + "?" + options.Encode()
}
