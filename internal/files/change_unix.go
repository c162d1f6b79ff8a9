//go:build unix

package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// acquire opens a file and waits for its lock, which the kernel releases if the process dies. The lock is that of the
// file that has the name when it is held, and not of one that has just been replaced.
func acquire(name string, create bool) (*lockedFile, error) {
	flags := os.O_RDWR | syscall.O_NONBLOCK
	if create {
		flags |= os.O_CREATE
	}
	for {
		l, err := lock(name, flags)
		if l != nil || err != nil {
			return l, err
		}
	}
}

// lock returns nil if the file was replaced meanwhile.
func lock(name string, flags int) (_ *lockedFile, err error) {
	f, err := os.OpenFile(name, flags, 0o600)
	if err != nil {
		return nil, err
	}
	kept := false
	defer func() {
		if !kept {
			_ = f.Close()
		}
	}()
	if err := Regular(f); err != nil {
		return nil, err
	}
	for {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	l := &lockedFile{release: func() { _ = f.Close() }}
	if l.info, err = f.Stat(); err != nil {
		return nil, err
	}
	if l.name, err = filepath.EvalSymlinks(name); err == nil {
		var now fs.FileInfo
		if now, err = os.Stat(l.name); err == nil && !os.SameFile(now, l.info) {
			return nil, nil
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist): // it is about to be replaced, or was removed
		return nil, nil
	case err != nil:
		return nil, err
	}
	if links := l.info.Sys().(*syscall.Stat_t).Nlink; links > 1 {
		return nil, fmt.Errorf("%s has %d names (hard links), of which the others would keep the old content; "+
			"allowed: one name, and symbolic links", name, links)
	}
	if l.text, err = read(f); err != nil {
		return nil, err
	}
	kept = true
	return l, nil
}

// keep gives a new file the owner, the extended attributes and the permissions of the one that it will replace.
func keep(f *os.File, name string, old fs.FileInfo) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	is, was := info.Sys().(*syscall.Stat_t), old.Sys().(*syscall.Stat_t)
	if is.Uid != was.Uid || is.Gid != was.Gid {
		if err := f.Chown(int(was.Uid), int(was.Gid)); err != nil {
			return fmt.Errorf("the file is of user %d and group %d, and would not be any more; run this as that user: %w", was.Uid, was.Gid, err)
		}
	}
	if err := keepAttributes(f, name); err != nil {
		return err
	}
	return f.Chmod(old.Mode().Perm())
}
