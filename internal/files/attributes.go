//go:build linux || darwin

package files

import (
	"bytes"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// accessList is the attribute with the access control list of a file.
const accessList = "system.posix_acl_access"

// keepAttributes copies extended attributes. Only an access control list has to be copied: others, such as labels, are
// the system's to decide about.
func keepAttributes(f *os.File, from string) error {
	list := make([]byte, 64<<10) // as long as the kernel lets it be
	n, err := unix.Listxattr(from, list)
	if err != nil {
		return nil // the file system has none
	}
	for name := range bytes.SplitSeq(bytes.TrimRight(list[:n], "\x00"), []byte{0}) {
		if len(name) == 0 {
			continue
		}
		value := make([]byte, 64<<10)
		n, err := unix.Getxattr(from, string(name), value)
		if err == nil {
			err = unix.Fsetxattr(int(f.Fd()), string(name), value[:n], 0)
		}
		if err != nil && string(name) == accessList {
			return fmt.Errorf("keep the access control list of the file: %w", err)
		}
	}
	return nil
}
