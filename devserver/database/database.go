// Package database knows the file of the embedded server's database, and makes and restores its backups.
package database

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	sqliteschema "go.temporal.io/server/schema/sqlite"
)

// File is the name of the database in a data directory.
const File = "temporal.db"

// SchemaVersion identifies the tables of this version of the server.
const SchemaVersion = sqliteschema.Version + "/" + sqliteschema.VisibilityVersion

// OtherSchema returns the error of a database with the tables of another version.
func OtherSchema(version string) error {
	return fmt.Errorf("it has schema %s and this program needs %s: use the version of the program that made it, or "+
		"another data directory", version, SchemaVersion)
}

// OpenReadOnly opens a database that exists. The connection waits for locks and writes nothing.
func OpenReadOnly(path string) (*sql.DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	uri := url.URL{Path: filepath.ToSlash(path)}
	db, err := sql.Open("sqlite", "file:"+uri.EscapedPath()+"?mode=ro&_pragma=busy_timeout=10000&_pragma=temp_store=memory")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // what a pragma sets holds for its connection only
	return db, nil
}
