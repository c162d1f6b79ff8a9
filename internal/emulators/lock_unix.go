//go:build unix

package emulators

import (
	"errors"
	"os"
	"syscall"
)

// waitLock takes an exclusive lock on f. Closing f releases it.
func waitLock(f *os.File) error {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
