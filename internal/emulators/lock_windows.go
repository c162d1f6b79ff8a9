package emulators

import (
	"os"

	"golang.org/x/sys/windows"
)

// waitLock takes an exclusive lock on f. Closing f releases it.
func waitLock(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, new(windows.Overlapped))
}
