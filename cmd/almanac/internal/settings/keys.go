package settings

import (
	"fmt"
	"os"
	"runtime"

	"almanac/internal/codec"
	"almanac/internal/files"
)

// KeysVariable holds encryption keys.
const KeysVariable = "ALMANAC_ENCRYPTION_KEYS"

// readKeys sets the encryption keys, if there are any. It warns about a file that others may read.
func (c *Config) readKeys() (err error) {
	source, text := c.set.Get(KeysVariable), c.keysText
	if c.keysFile != "" {
		source = c.set.Get("encryption-keys-file")
		if text != "" {
			return source.Wrong(fmt.Errorf("$%s is set, too", KeysVariable), "one of them")
		}
		content, err := files.Read(c.keysFile)
		if err != nil {
			return source.Wrong(err, "")
		}
		text = string(content)
		if info, err := os.Stat(c.keysFile); err == nil && runtime.GOOS != "windows" && othersMayRead(info.Mode()) {
			c.Warnings = append(c.Warnings, fmt.Sprintf("other users of this machine may read the encryption keys in "+
				"%s, which has the permissions %#o: chmod 600 it", c.keysFile, info.Mode().Perm()))
		}
	}
	if text == "" && c.keysFile == "" {
		return nil
	}
	if c.Keys, err = codec.ParseKeys(text); err != nil {
		return source.Wrong(err, "")
	}
	if c.clearPayloads {
		c.Keys = c.Keys.AcceptingClear()
	}
	return nil
}

// othersMayRead reports whether others than the owner may read a file. What nobody may write is what Kubernetes mounts
// for the group of a pod.
func othersMayRead(mode os.FileMode) bool {
	return mode.Perm()&0o004 != 0 || mode.Perm()&0o040 != 0 && mode.Perm()&0o222 != 0
}
