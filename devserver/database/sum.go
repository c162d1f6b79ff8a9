package database

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"almanac/internal/files"
)

// SumSuffix is what the name of a backup ends in, for the file with its SHA-256. That file has the form of the program
// sha256sum.
const SumSuffix = ".sha256"

// A digest is a SHA-256.
type digest [sha256.Size]byte

// partSuffix ends the names of files and directories that are not complete. They begin with a dot.
const partSuffix = ".part"

func isPart(name string) bool {
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, partSuffix)
}

// removeParts removes what a process left in a directory that nobody else writes to.
func removeParts(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if isPart(e.Name()) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// writeBackup has write fill a new file, and gives it the name, with its sum beside it, when both are on disk. What is
// not complete is in a directory of its own beside the file, which is locked. Those of backups that were killed are
// removed.
func writeBackup(ctx context.Context, name string, write func(part string) error) (err error) {
	dir := filepath.Dir(name)
	removeKilled(dir)
	work, err := os.MkdirTemp(dir, "."+filepath.Base(name)+".*"+partSuffix)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	lock, err := files.LockDir(work)
	if err != nil {
		return err
	}
	defer lock.Close()
	part := filepath.Join(work, partFile)
	f, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) // what SQLite makes, others may read
	if err != nil {
		return err
	}
	defer f.Close()
	if err := write(part); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	sum, err := sumOf(ctx, f)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil { // Windows renames no open file
		return err
	}
	if err := writeSum(work, name, sum); err != nil {
		return err
	}
	return publish(work, name)
}

// Names in the directory of a backup that is not complete.
const (
	partFile = "backup"
	partSum  = partFile + SumSuffix
)

// publish gives a complete backup and its sum their names: the sum first, so that no backup is without one.
func publish(work, name string) error {
	if _, err := os.Lstat(name); err == nil {
		return fmt.Errorf("%s exists already: choose another name", name)
	}
	if err := os.Rename(filepath.Join(work, partSum), name+SumSuffix); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(work, partFile), name); err != nil {
		return err
	}
	return files.SyncDir(filepath.Dir(name))
}

// writeSum writes the line of a file that will have a name.
func writeSum(work, name string, sum digest) error {
	f, err := os.OpenFile(filepath.Join(work, partSum), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%x  %s\n", sum, filepath.Base(name))
	return errors.Join(err, f.Sync(), f.Close())
}

// removeKilled removes the incomplete backups in a directory whose processes have ended: nobody holds their locks.
func removeKilled(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		work := filepath.Join(dir, e.Name())
		if !e.IsDir() || !isPart(e.Name()) {
			continue
		}
		if _, err := os.Stat(filepath.Join(work, files.LockFile)); err != nil {
			continue // it is none of ours, or was begun just now
		}
		lock, err := files.LockDir(work)
		if err != nil {
			continue
		}
		for _, name := range []string{partFile, partSum, files.LockFile} {
			_ = os.Remove(filepath.Join(work, name))
		}
		_ = lock.Close()
		_ = os.Remove(filepath.Join(work, partFile+"-journal"))
		_ = os.Remove(work) // which fails if it has files of others
	}
}

// checkSum returns the SHA-256 of a backup. It is an error if it is not the one in the file beside the backup.
func checkSum(ctx context.Context, file string) (sum digest, err error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	if err := files.Regular(f); err != nil {
		return sum, err
	}
	want, err := readSum(file + SumSuffix)
	if err != nil {
		return sum, err
	}
	sum, err = sumOf(ctx, f)
	if err == nil && sum != want {
		err = fmt.Errorf("the backup is damaged or cut off: its SHA-256 is %x, and %s has %x. Take another copy of "+
			"it, or an older backup", sum, file+SumSuffix, want)
	}
	return sum, err
}

// readSum reads the first word of a file.
func readSum(name string) (sum digest, err error) {
	text, err := files.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		backup := strings.TrimSuffix(name, SumSuffix)
		return sum, fmt.Errorf("the file with its SHA-256 is missing, so that damage would go unnoticed: copy %s from where the backup was written. "+
			"If it is lost and you trust the backup nevertheless, make it: sha256sum %s > %s", name, backup, name)
	}
	if err != nil {
		return sum, err
	}
	word, _, _ := strings.Cut(strings.TrimLeft(string(text), "\\"), " ") // sha256sum begins lines of odd names so
	decoded, err := hex.DecodeString(strings.TrimSpace(word))
	if err != nil || len(decoded) != len(sum) {
		return sum, fmt.Errorf("%s has no SHA-256; allowed: 64 hexadecimal digits, as sha256sum prints them", name)
	}
	return digest(decoded), nil
}

// sumOf returns the SHA-256 of what it reads, and ends with ctx.
func sumOf(ctx context.Context, r io.Reader) (sum digest, err error) {
	h := sha256.New()
	_, err = io.Copy(h, readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return r.Read(p)
	}))
	return digest(h.Sum(nil)), err
}

type readerFunc func(p []byte) (int, error)

func (r readerFunc) Read(p []byte) (int, error) { return r(p) }
