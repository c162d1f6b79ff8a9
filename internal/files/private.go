package files

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
)

// MakePrivate creates dir if it is missing, and restricts it to this process's user: its files hold the
// secrets of all jobs. A directory that all users share, such as /tmp, is an error.
func MakePrivate(dir string, log *slog.Logger) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSticky != 0 { // such as /tmp
		return fmt.Errorf("%s is for the files of all users: choose one for Almanac alone, such as %s", dir, filepath.Join(dir, "almanac-data"))
	}
	return restrict(dir, 0o700, log)
}

// MakeDatabase creates the database file if it is missing, and restricts it and the files that SQLite keeps
// beside it to this process's user. SQLite gives new files beside it the permissions of the database.
func MakeDatabase(database string, log *slog.Logger) error {
	f, err := os.OpenFile(database, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := restrict(database+suffix, 0o600, log); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// restrict sets the permissions of a file or directory. If that fails, as on volumes with another owner, it
// only logs a warning.
func restrict(path string, permissions fs.FileMode, log *slog.Logger) error {
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() == permissions {
		return err
	}
	if err := os.Chmod(path, permissions); err != nil {
		log.Warn("other users of this machine may read the secrets of all jobs; let the owner of the path restrict its permissions",
			"path", path, "permissions", info.Mode().Perm().String(), "wanted", permissions.String(), "error", err)
	}
	return nil
}
