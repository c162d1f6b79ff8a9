// Package source reads the files of an import: only below the directory of a source, and never more than a limit.
package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxSize is the size limit of a file, in bytes.
const MaxSize = 32 << 20

// A File is a file to be imported.
type File struct {
	Dir  fs.FS  // of its directory; nothing outside is read
	Path string // in Dir
	Name string // as it is shown

	// Listed says that the directory was named, and not the file.
	Listed bool

	text []byte // of a file that is not on a disk
}

// Of returns a file that is not on a disk. It has nothing beside it.
func Of(name string, text []byte) File { return File{Name: name, Path: "-", text: text} }

// Read returns the text of the file.
func (f File) Read() (string, error) {
	switch {
	case f.Dir != nil:
		return Read(f.Dir, f.Path)
	case len(f.text) > MaxSize:
		return "", fmt.Errorf("it is larger than %d MiB", MaxSize>>20)
	}
	return decode(f.text)
}

// Sizes returns how large files are together, in bytes, as far as that is known before they are read.
func Sizes(files []File) (n int64) {
	for _, f := range files {
		n += int64(len(f.text))
		if f.Dir == nil {
			continue
		}
		if info, err := fs.Stat(f.Dir, f.Path); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
	}
	return n
}

// Beside returns a file by a path relative to the file. It fails if the path leads out of the file's directory.
func (f File) Beside(name string) (File, error) {
	if f.Dir == nil {
		return File{}, errors.New("nothing is beside it")
	}
	name = path.Join(path.Dir(f.Path), strings.ReplaceAll(name, `\`, "/"))
	if !fs.ValidPath(name) {
		return File{}, errors.New("it is not below the directory of the source")
	}
	shown := path.Join(path.Dir(f.Name), path.Base(name))
	if dir := path.Dir(name); dir != "." {
		shown = path.Join(path.Dir(f.Name), name)
	}
	return File{Dir: f.Dir, Path: name, Name: shown}, nil
}

// Read returns the text of a file as UTF-8, without a byte order mark. UTF-16 is taken if a byte order mark says so, as
// PowerShell writes it.
func Read(dir fs.FS, name string) (string, error) {
	data, err := ReadBytes(dir, name)
	if err != nil {
		return "", err
	}
	return decode(data)
}

// ReadBytes returns what is in a file.
func ReadBytes(dir fs.FS, name string) ([]byte, error) {
	if !fs.ValidPath(name) {
		return nil, errors.New("it is not below the directory of the source")
	}
	before, err := fs.Stat(dir, name) // to open a named pipe waits for who writes it
	switch {
	case err != nil:
		return nil, plain(err)
	case !before.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
	}
	file, err := dir.Open(name)
	if err != nil {
		return nil, plain(err)
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, plain(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
	case info.Size() > MaxSize:
		return nil, fmt.Errorf("it is larger than %d MiB", MaxSize>>20)
	}
	data, err := io.ReadAll(io.LimitReader(file, MaxSize+1))
	switch {
	case err != nil:
		return nil, plain(err)
	case len(data) > MaxSize:
		return nil, fmt.Errorf("it is larger than %d MiB", MaxSize>>20)
	}
	return data, nil
}

// plain returns an error without the path, which the caller shows.
func plain(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("there is no such file")
	case errors.Is(err, fs.ErrPermission):
		return errors.New("it may not be read")
	}
	return err
}

// decode returns a text in UTF-8.
func decode(data []byte) (string, error) {
	var unit func([]byte) uint16
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		unit = func(b []byte) uint16 { return uint16(b[0]) | uint16(b[1])<<8 }
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		unit = func(b []byte) uint16 { return uint16(b[1]) | uint16(b[0])<<8 }
	default:
		data = bytes.TrimPrefix(data, []byte("\ufeff"))
		if !utf8.Valid(data) {
			return "", errors.New("it is not text in UTF-8; save it as UTF-8")
		}
		return string(data), nil
	}
	units := make([]uint16, 0, len(data)/2)
	for data = data[2:]; len(data) >= 2; data = data[2:] {
		units = append(units, unit(data))
	}
	return string(utf16.Decode(units)), nil
}
