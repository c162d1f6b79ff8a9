package system

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// echo is a server that answers each line with the same line.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c) }()
		}
	}()
	return l.Addr().String()
}

func TestTheProxyDelaysStopsAndCutsTraffic(t *testing.T) {
	t.Parallel()
	p, err := newProxy("127.0.0.1:0", echo(t))
	require.NoError(t, err)
	defer p.close()
	dial := func() (net.Conn, *bufio.Reader) {
		c, err := net.Dial("tcp", p.listener.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
		return c, bufio.NewReader(c)
	}
	ask := func(c net.Conn, r *bufio.Reader) error {
		fmt.Fprintln(c, "hello")
		line, err := r.ReadString('\n')
		if err == nil {
			require.Equal(t, "hello\n", line)
		}
		return err
	}

	c, r := dial()
	require.NoError(t, ask(c, r))

	p.Slow(50 * time.Millisecond)
	begin := time.Now()
	require.NoError(t, ask(c, r))
	require.GreaterOrEqual(t, time.Since(begin), 100*time.Millisecond, "both ways are delayed")
	p.Slow(0)

	p.Blackhole(true)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
	require.Error(t, ask(c, r), "nothing passes")
	p.Blackhole(false)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(10*time.Second)))
	_, err = r.ReadString('\n')
	require.NoError(t, err, "what was held up passes now")

	p.Cut(true)
	require.Error(t, ask(c, r), "the connection was closed")
	other, otherReader := dial()
	require.Error(t, ask(other, otherReader), "a new one is, too")
	p.Cut(false)
	c, r = dial()
	require.NoError(t, ask(c, r))
}
