//go:build linux

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"almanac/internal/codec"
)

// A keyFile is the file of the encryption keys. All methods but rotate accept
// nil: nothing is encrypted.
type keyFile struct {
	path string
	keys []string // the one that encrypts first
}

// newKeyFile writes a file with one key.
func newKeyFile(path string) (*keyFile, error) {
	f := &keyFile{path: path}
	return f, f.rotate()
}

// rotate puts a new key in front of the others. Processes read it when they start.
func (f *keyFile) rotate() error {
	f.keys = slices.Insert(f.keys, 0, fmt.Sprintf("key%d:%s", len(f.keys)+1, codec.GenerateKey()))
	return os.WriteFile(f.path, []byte(f.text()), 0o600)
}

func (f *keyFile) text() string { return strings.Join(f.keys, "\n") + "\n" }

// flags returns what a process is started with.
func (f *keyFile) flags() []string {
	if f == nil {
		return nil
	}
	return []string{"--encryption-keys-file", f.path}
}

// ring returns the keys, to read what is encrypted.
func (f *keyFile) ring() (*codec.KeyRing, error) {
	if f == nil {
		return nil, nil
	}
	return codec.ParseKeys(f.text())
}
