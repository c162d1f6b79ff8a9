package system

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"almanac/internal/codec"
)

// A KeyFile is the file of the encryption keys. A nil KeyFile has no keys: nothing is encrypted.
type KeyFile struct {
	path string
	keys []string // the one that encrypts first
}

// NewKeyFile writes a file with one key.
func NewKeyFile(path string) (*KeyFile, error) {
	f := &KeyFile{path: path}
	return f, f.Rotate()
}

// Rotate adds a key, by which processes that start from now on encrypt. The KeyFile must not be nil.
func (f *KeyFile) Rotate() error {
	f.keys = slices.Insert(f.keys, 0, fmt.Sprintf("key%d:%s", len(f.keys)+1, codec.GenerateKey()))
	return os.WriteFile(f.path, []byte(f.text()), 0o600)
}

func (f *KeyFile) text() string { return strings.Join(f.keys, "\n") + "\n" }

// flags returns the flags of a process that uses the file.
func (f *KeyFile) flags() []string {
	if f == nil {
		return nil
	}
	return []string{"--encryption-keys-file", f.path}
}

// Ring returns the keys, nil if nothing is encrypted.
func (f *KeyFile) Ring() (*codec.KeyRing, error) {
	if f == nil {
		return nil, nil
	}
	return codec.ParseKeys(f.text())
}
