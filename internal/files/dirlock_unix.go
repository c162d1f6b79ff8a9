//go:build unix

package files

import (
	"os"
	"syscall"
)

// tryLock takes an exclusive lock on f without waiting. The kernel releases it when the file is closed or
// the process dies.
func tryLock(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
