// Package files reads the files of the machine's operator, follows what is written to them, and changes them so that no
// reader and no other change sees half of one. It makes and locks directories for Almanac alone.
package files

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// MaxSize is how long a file may be that [Read] reads, in bytes.
const MaxSize = 16 << 20

// Read reads a regular file of at most [MaxSize] bytes. It does not wait for anyone: a named pipe, which blocks its
// reader until somebody writes, and a device, which may never end, are errors.
func Read(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return read(f)
}

func read(f *os.File) ([]byte, error) {
	if err := Regular(f); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > MaxSize:
		return nil, &fs.PathError{Op: "read", Path: f.Name(), Err: fmt.Errorf("it is too long; allowed: %d MiB", MaxSize>>20)}
	}
	return text, nil
}

// Regular returns an error if an open file is not a regular one.
func Regular(f *os.File) error {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: f.Name(), Err: fmt.Errorf("it is %s; allowed: a regular file", kind(info.Mode()))}
	}
	return err
}

func kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "no file"
}
