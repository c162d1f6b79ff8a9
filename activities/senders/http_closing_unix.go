//go:build unix

package senders

import (
	"errors"
	"net"
	"syscall"
)

// isClosing reports whether something has arrived at an idle connection: its end, or a farewell. Nothing else can,
// since no request waits for an answer.
func isClosing(c net.Conn) bool {
	sys, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sys.SyscallConn()
	if err != nil {
		return false
	}
	arrived := false
	err = raw.Control(func(fd uintptr) { // not Read, which waits for the transport's own
		var next [1]byte
		_, _, err := syscall.Recvfrom(int(fd), next[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		arrived = !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EINTR)
	})
	return err != nil || arrived
}
