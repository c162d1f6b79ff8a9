package files

import (
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// acquire waits for the lock of a file, which is that of a file beside it: Windows replaces no file that is open.
// Windows releases it if the process dies.
func acquire(name string, create bool) (_ *lockedFile, err error) {
	if create {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		_ = f.Close()
	}
	l := &lockedFile{}
	if l.name, err = filepath.EvalSymlinks(name); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(l.name+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	l.release = func() { _ = lock.Close() }
	if err = windows.LockFileEx(windows.Handle(lock.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, new(windows.Overlapped)); err == nil {
		if l.info, err = os.Stat(l.name); err == nil {
			l.text, err = Read(l.name)
		}
	}
	if err != nil {
		l.release()
		return nil, err
	}
	return l, nil
}

func keep(f *os.File, _ string, old fs.FileInfo) error { return f.Chmod(old.Mode().Perm()) }
