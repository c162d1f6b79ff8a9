package main

import (
	"fmt"
	"os"
	"runtime"

	"almanac/internal/codec"
)

// keysVariable has no flag, because other users of a machine can read command lines.
const keysVariable = "ALMANAC_ENCRYPTION_KEYS"

// encryption defines the source of the encryption keys, and returns a function for the keys, to be called
// after check. It returns nil if there are none.
func (s *settings) encryption() func() *codec.KeyRing {
	file := s.file("encryption-keys-file", keysVariable+"_FILE", "",
		"file of the keys that encrypt what Temporal stores, a line id:key for each; the first encrypts, all decrypt. $"+
			keysVariable+" may hold the keys themselves, separated by commas")
	var keys *codec.KeyRing
	s.checks = append(s.checks, func() (err error) {
		text, _ := s.lookup(keysVariable)
		switch {
		case *file == "" && text == "":
			return nil
		case *file != "" && text != "":
			return fmt.Errorf("%s and $%s are both set: leave one of them out", s.source("encryption-keys-file"), keysVariable)
		case text != "":
			if keys, err = codec.ParseKeys(text); err != nil {
				return fmt.Errorf("$%s: %w", keysVariable, err)
			}
			return nil
		}
		content, err := os.ReadFile(*file)
		if err != nil {
			return s.blame("encryption-keys-file", err)
		}
		if keys, err = codec.ParseKeys(string(content)); err != nil {
			return s.blame("encryption-keys-file", fmt.Errorf("%s: %w", *file, err))
		}
		if info, err := os.Stat(*file); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o044 != 0 {
			s.warnings = append(s.warnings, fmt.Sprintf("other users of this machine may read the encryption keys in %s, which has the permissions %#o: chmod 600 it", *file, info.Mode().Perm()))
		}
		return nil
	})
	return func() *codec.KeyRing { return keys }
}

// clearPayloads defines whether payloads in clear are accepted despite keys, and returns a function for the
// keys with that choice.
func (s *settings) clearPayloads(keys func() *codec.KeyRing) func() *codec.KeyRing {
	accept := s.boolean("accept-clear-payloads", "ALMANAC_ACCEPT_CLEAR_PAYLOADS",
		"with encryption keys, also read what Temporal stores in clear; for jobs that are older than the keys")
	return func() *codec.KeyRing {
		if *accept {
			return keys().AcceptingClear()
		}
		return keys()
	}
}
