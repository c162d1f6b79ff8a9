//go:build !unix

package senders

import "net"

// isClosing reports whether it is known that a host closes an idle connection, which it is not here.
func isClosing(net.Conn) bool { return false }
