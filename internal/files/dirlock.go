package files

import (
	"fmt"
	"os"
	"path/filepath"
)

// LockFile is the name of the file in a directory that [LockDir] locks.
const LockFile = "lock"

// LockDir locks a data directory for this process until the returned file is closed. The lock file stays: if it were
// removed, two processes could lock two files of the same name.
func LockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, LockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := tryLock(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("data directory %s is in use by another server (%w): stop that one, or choose another directory", dir, err)
	}
	return f, nil
}
