package devserver

import (
	"fmt"
	"os"
	"path/filepath"
)

// lockFile is the name of the file that is locked.
const lockFile = "lock"

// lockDir locks dir for this process until the returned file is closed. The lock file stays: if it were
// removed, two processes could lock two files of the same name.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := tryLock(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("data directory %s is in use by another server (%w): stop that one, or choose another directory", dir, err)
	}
	return f, nil
}
