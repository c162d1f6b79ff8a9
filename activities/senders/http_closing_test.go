//go:build unix

package senders_test

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/activities/senders"
	"almanac/job"
	"almanac/job/kind"
)

// An unnoticed connection ends without the transport noticing it, as it may be for a moment while the machine is busy.
type unnoticed struct {
	*net.TCPConn
	ended, closed chan struct{}
	once          atomic.Bool
}

func (u *unnoticed) Read(p []byte) (int, error) {
	n, err := u.TCPConn.Read(p)
	if err != nil {
		close(u.ended)
		<-u.closed
	}
	return n, err
}

func (u *unnoticed) Close() error {
	if u.once.CompareAndSwap(false, true) {
		close(u.closed)
	}
	return u.TCPConn.Close()
}

func TestARequestIsNotWrittenToAConnectionThatTheHostHasClosed(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	go func() { // answers one request a connection, and closes it although it said nothing of that
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
					_ = r.Body.Close()
					_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
				}
			}()
		}
	}()
	opened := make(chan *unnoticed, 10)
	s, err := senders.New(senders.Options{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		u := &unnoticed{TCPConn: c.(*net.TCPConn), ended: make(chan struct{}), closed: make(chan struct{})}
		opened <- u
		return u, nil
	}})
	require.NoError(t, err)
	defer s.Close()
	for _, body := range []string{"", "hello"} { // each has its own transport: a body is not retried
		a := &job.Action{Type: kind.HTTP, Content: kind.Content{Request: &kind.Request{URI: "http://" + l.Addr().String(), Method: "POST", Body: body}}, RetryPolicy: &job.RetryPolicy{RetryType: job.RetryNone}}
		for range 3 {
			// without an end that is noticed, it would wait for an answer
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			_, err := s.ByType()[kind.HTTP].Send(ctx, job.Execution{ID: "e"}, a)
			cancel()
			require.NoError(t, err)
			<-(<-opened).ended
		}
	}
	require.Empty(t, opened, "a connection for each request")
}
