package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// Change replaces the text of a file by what change makes of it. Changes of one file by any number of processes of this
// machine happen one after the other, so none is lost. Readers see the old text or the new one, which is on disk when
// Change returns. Permissions, owner, extended attributes and symbolic links stay as they are. If change, or anything
// else, fails, the file is untouched. With create, a missing file is made, for this process's user alone.
func Change(name string, create bool, change func(text []byte) ([]byte, error)) error {
	f, err := acquire(name, create)
	if err != nil {
		return err
	}
	defer f.release()
	text, err := change(f.text)
	if err != nil {
		return err
	}
	return f.replace(text)
}

// A lockedFile is one that no other process changes by [Change].
type lockedFile struct {
	name    string // without symbolic links
	text    []byte
	info    fs.FileInfo
	release func()
}

const temporary = ".tmp"

// replace gives the name to a new file with a text.
func (l *lockedFile) replace(text []byte) (err error) {
	dir, prefix := filepath.Dir(l.name), "."+filepath.Base(l.name)+"."
	entries, _ := os.ReadDir(dir)
	for _, e := range entries { // by a process that was killed while it had the lock
		if n := e.Name(); strings.HasPrefix(n, prefix) && strings.HasSuffix(n, temporary) {
			_ = os.Remove(filepath.Join(dir, n))
		}
	}
	f, err := os.CreateTemp(dir, prefix+"*"+temporary)
	if err != nil {
		return fmt.Errorf("the file is replaced by a new one in its directory: %w", err)
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if _, err := f.Write(text); err != nil {
		return err
	}
	if err := keep(f, l.name, l.info); err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), l.name); err != nil {
		if errors.Is(err, syscall.EBUSY) {
			err = fmt.Errorf("%w: a file that is a mount of its own cannot be replaced; mount its directory", err)
		}
		return err
	}
	return SyncDir(dir)
}

// SyncDir has the names of files in a directory outlive a power failure. Windows cannot do that.
func SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
