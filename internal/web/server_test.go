package web

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/internal/emulators"
)

func start(t *testing.T, s *http.Server, limit func(net.Listener) net.Listener) (address string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = s.Serve(limit(l)) }()
	t.Cleanup(func() { s.Close() })
	return l.Addr().String()
}

func dial(t *testing.T, address, text string) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	_, err = io.WriteString(c, text)
	require.NoError(t, err)
	return c
}

func unlimited(l net.Listener) net.Listener { return l }

func TestEveryPartOfARequestHasALimit(t *testing.T) {
	t.Parallel()
	s := NewServer(http.NotFoundHandler())
	require.Positive(t, s.ReadHeaderTimeout)
	require.Greater(t, s.ReadTimeout, 30*time.Second, "the API's own limit")
	require.Greater(t, s.WriteTimeout, s.ReadTimeout)
	require.Positive(t, s.IdleTimeout)
	require.Positive(t, s.MaxHeaderBytes)
}

func TestReadingABodyHasATimeLimit(t *testing.T) {
	t.Parallel()
	read := make(chan error, 1)
	s := NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		read <- err
	}))
	s.ReadTimeout = 50 * time.Millisecond
	c := dial(t, start(t, s, unlimited), "PUT / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nbegun")
	require.Error(t, <-read)
	_, err := io.ReadAll(c)
	require.NoError(t, err, "the server closes the connection")
}

func TestWritingAnAnswerHasATimeLimit(t *testing.T) {
	t.Parallel()
	written := make(chan error, 1)
	s := NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, err := w.Write(make([]byte, 64<<20)) // more than the system buffers
		written <- err
	}))
	s.WriteTimeout = 50 * time.Millisecond
	dial(t, start(t, s, unlimited), "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
	require.Error(t, <-written)
}

func TestAConnectionWithoutATLSHandshakeIsClosed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key, err := emulators.WriteCertificate(dir, "localhost")
	require.NoError(t, err)
	certificates, err := LoadCertificates(CertificateFiles{Cert: cert, Key: key})
	require.NoError(t, err)
	for name, begin := range map[string]string{
		"silent":                              "",
		"a record that does not end":          "\x16\x03\x01\x02\x00\x01",
		"a ClientHello whose rest is missing": "\x16\x03\x01\x00\x05\x01\x00\x01\xfc\x03",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := NewServer(http.NotFoundHandler())
			require.Positive(t, s.ReadHeaderTimeout)
			s.ReadHeaderTimeout = 50 * time.Millisecond // which is that of the handshake as well
			l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			require.NoError(t, err)
			go func() { _ = Serve(s, l, certificates.Server(), slog.New(slog.DiscardHandler)) }()
			t.Cleanup(func() { s.Close() })
			_, err = io.ReadAll(dial(t, l.Addr().String(), begin))
			require.NoError(t, err, "the server closes the connection")
		})
	}
}

// A counter counts the connections of a listener that are open.
type counter struct {
	net.Listener
	open, most atomic.Int64
}

type counted struct {
	net.Conn
	counter *counter
	once    sync.Once
}

func (c *counter) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c.most.Store(max(c.most.Load(), c.open.Add(1)))
	return &counted{Conn: conn, counter: c}, nil
}

func (c *counted) Close() error {
	c.once.Do(func() { c.counter.open.Add(-1) })
	return c.Conn.Close()
}

func TestConnectionsBeyondTheLimitWait(t *testing.T) {
	t.Parallel()
	var c counter
	address := start(t, NewServer(http.NotFoundHandler()), func(l net.Listener) net.Listener {
		c.Listener = l
		return limit(&c, 2)
	})
	var connections []net.Conn
	for range 6 {
		connections = append(connections, dial(t, address, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"))
	}
	for _, connection := range connections { // in the order in which they were accepted
		_, err := connection.Read(make([]byte, 1))
		require.NoError(t, err)
		require.NoError(t, connection.Close())
	}
	require.EqualValues(t, 2, c.most.Load())
}
