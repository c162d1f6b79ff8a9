package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"almanac/internal/files"
)

// A Progress is called now and then with the number of bytes that are written, and about how many it will be.
type Progress func(written, total int64)

// progressInterval is the time between two calls of a [Progress].
const progressInterval = 200 * time.Millisecond

// Backup writes a copy of the database in dataDir to a new file, for [Restore]. A server may run on the
// directory meanwhile: the copy has what was committed when Backup began, and readers do not block the server's
// writes. The copy has no unused pages. The file appears under its name when it is complete and on disk, and beside
// it, with the suffix [SumSuffix], the file with its SHA-256.
func Backup(ctx context.Context, dataDir, file string, progress Progress) (err error) {
	if _, err := os.Lstat(file); err == nil {
		return fmt.Errorf("%s exists already: choose another name", file)
	}
	db, err := OpenReadOnly(filepath.Join(dataDir, File))
	if err != nil {
		return fmt.Errorf("data directory %s: %w", dataDir, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := checkSchema(ctx, db); err != nil {
		return fmt.Errorf("data directory %s: %w", dataDir, err)
	}
	total, err := usedBytes(ctx, db)
	if err != nil {
		return err
	}
	return writeBackup(ctx, file, func(part string) error {
		defer reportSize(part, total, progress)()
		if err := copyIncrementally(ctx, db); err != nil {
			return err
		}
		_, err := db.ExecContext(ctx, "VACUUM INTO ?", part)
		return err
	})
}

// Restore makes dataDir a data directory with the database in file, which [Backup] wrote. It first checks the whole
// file against its SHA-256, and then as a database. The directory is created, or must be empty but for the lock file,
// and no server may use it.
func Restore(ctx context.Context, file, dataDir string, log *slog.Logger, progress Progress) error {
	if err := requireFree(dataDir); err != nil {
		return err
	}
	sum, err := checkSum(ctx, file)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := checkBackup(ctx, file); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := files.MakePrivate(dataDir, log); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	lock, err := files.LockDir(dataDir)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := requireEmpty(dataDir); err != nil { // now that no server can start on it
		return err
	}
	removeParts(dataDir) // of a restore that was killed: nobody else writes here
	return writeFile(filepath.Join(dataDir, File), func(f *os.File) error {
		return copyFile(ctx, f, file, sum, progress)
	})
}

// requireFree returns an error if a directory exists and is used by a server, or has files.
func requireFree(dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lock, err := files.LockDir(dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	return requireEmpty(dir)
}

// requireEmpty returns an error if a directory has files but for the lock file.
func requireEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != files.LockFile && !isPart(e.Name()) {
			return fmt.Errorf("data directory %s is not empty: it has %s. Choose another directory, or move its files away", dir, e.Name())
		}
	}
	return nil
}

// checkSchema returns an error if a database is not one of this version of Almanac.
func checkSchema(ctx context.Context, db *sql.DB) error {
	var version string
	if err := db.QueryRowContext(ctx, "SELECT version FROM devserver_schema").Scan(&version); err != nil {
		return fmt.Errorf("this is not a database of Almanac: %w", err)
	}
	if version != SchemaVersion {
		return OtherSchema(version)
	}
	return nil
}

// checkBackup checks each page of a database.
func checkBackup(ctx context.Context, file string) (err error) {
	db, err := OpenReadOnly(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := checkSchema(ctx, db); err != nil {
		return err
	}
	var result string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&result); err != nil {
		return fmt.Errorf("check the database: %w", err)
	}
	if result != "ok" {
		return fmt.Errorf("the database is damaged: %s", result)
	}
	return nil
}

// copyIncrementally gives the copies of an older database incremental auto_vacuum, which the database itself lacks. In
// a database that has it, the pragma would write.
func copyIncrementally(ctx context.Context, db *sql.DB) error {
	var mode int
	if err := db.QueryRowContext(ctx, "PRAGMA auto_vacuum").Scan(&mode); err != nil || mode != 0 {
		return err
	}
	_, err := db.ExecContext(ctx, "PRAGMA auto_vacuum = incremental")
	return err
}

// usedBytes returns the size of a database without its unused pages.
func usedBytes(ctx context.Context, db *sql.DB) (bytes int64, err error) {
	err = db.QueryRowContext(ctx, "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, "+
		"pragma_freelist_count, pragma_page_size").Scan(&bytes)
	return bytes, err
}

// writeFile creates a file by write, under a temporary name beside it, and renames it when it is on disk.
func writeFile(name string, write func(*os.File) error) (err error) {
	dir := filepath.Dir(name)
	f, err := os.CreateTemp(dir, "."+filepath.Base(name)+".*"+partSuffix)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if _, err := os.Lstat(name); err == nil {
		return fmt.Errorf("%s exists already: choose another name", name)
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return err
	}
	return files.SyncDir(dir)
}

// reportSize reports the growth of a file until stop is called.
func reportSize(file string, total int64, progress Progress) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(progressInterval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if info, err := os.Stat(file); err == nil {
					progress(min(info.Size(), total), total)
				}
			case <-done:
				return
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// copyFile copies a file, and ends with ctx. What was copied must have the sum.
func copyFile(ctx context.Context, to *os.File, from string, sum digest, progress Progress) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	defer reportSize(to.Name(), info.Size(), progress)()
	copied, err := sumOf(ctx, io.TeeReader(f, to))
	if err == nil && copied != sum {
		err = fmt.Errorf("%s was changed while it was read", from)
	}
	return err
}
