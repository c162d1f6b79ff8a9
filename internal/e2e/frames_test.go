package e2e_test

import (
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A fault happens once, at a frame of HTTP/2 that a connection carries.
type fault struct {
	up    bool // in the direction of the server
	frame int  // counted from 0, in that direction
	where int  // 0: before the frame, 1: in its middle, 2: after it
	stall time.Duration
	cut   bool // after the stall the connection is closed. What was sent before it has then arrived
}

// A frameProxy forwards the connections of one client to a server, with a fault in the first one.
type frameProxy struct {
	address string
	fault   fault
	struck  atomic.Bool
}

func newFrameProxy(t *testing.T, to string, f fault) *frameProxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	p := &frameProxy{address: l.Addr().String(), fault: f}
	go func() {
		for first := true; ; first = false {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.forward(c, to, first)
		}
	}()
	return p
}

func (p *frameProxy) forward(c net.Conn, to string, first bool) {
	defer c.Close()
	s, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer s.Close()
	ended := make(chan struct{}, 2)
	forward := func(to, from net.Conn, up bool) {
		defer func() { ended <- struct{}{} }()
		if !first || up != p.fault.up {
			_, _ = io.Copy(to, from)
			return
		}
		p.frames(to, from)
	}
	go forward(s, c, true)
	go forward(c, s, false)
	<-ended
}

// preface is the length of what a client sends before its first frame.
const preface = len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

// frames copies frames, and strikes at that of the fault.
func (p *frameProxy) frames(to, from net.Conn) {
	if p.fault.up {
		if _, err := io.CopyN(to, from, int64(preface)); err != nil {
			return
		}
	}
	for n := 0; ; n++ {
		header := make([]byte, 9)
		if _, err := io.ReadFull(from, header); err != nil {
			return
		}
		frame := make([]byte, 9+int(header[0])<<16+int(header[1])<<8+int(header[2]))
		copy(frame, header)
		if _, err := io.ReadFull(from, frame[9:]); err != nil {
			return
		}
		at := len(frame)
		if n == p.fault.frame {
			at = p.fault.where * len(frame) / 2
		}
		if _, err := to.Write(frame[:at]); err != nil {
			return
		}
		if n == p.fault.frame && !p.strike(to, from) {
			return
		}
		if _, err := to.Write(frame[at:]); err != nil {
			return
		}
	}
}

// strike reports whether the connection goes on.
func (p *frameProxy) strike(to, from net.Conn) bool {
	p.struck.Store(true)
	time.Sleep(p.fault.stall)
	if !p.fault.cut {
		return true
	}
	if p.fault.stall > 0 { // what the kernel took from the sender meanwhile arrives, and then nothing more
		_ = from.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		if p.fault.where == 2 {
			_, _ = io.Copy(to, from)
		}
	}
	return false
}
