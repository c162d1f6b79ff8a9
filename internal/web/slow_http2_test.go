package web

import (
	"bytes"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"almanac/internal/emulators"
)

// slowHTTP2 starts a server with short time limits, and returns its address.
func slowHTTP2(t *testing.T, h http.Handler) (address string) {
	t.Helper()
	cert, key, err := emulators.WriteCertificate(t.TempDir(), "localhost")
	require.NoError(t, err)
	certificates, err := LoadCertificates(CertificateFiles{Cert: cert, Key: key})
	require.NoError(t, err)
	s := NewServer(h)
	s.ReadTimeout, s.IdleTimeout = 100*time.Millisecond, 100*time.Millisecond
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = Serve(s, l, certificates.Server(), slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() { s.Close() })
	return l.Addr().String()
}

// begin begins a request of HTTP/2 that does not end, and waits until the connection is closed. On a slow machine that
// may happen at any time, so errors are no failures.
func begin(t *testing.T, address, method string, endHeaders bool) {
	t.Helper()
	c := tls.Client(dial(t, address, ""), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	_, _ = io.WriteString(c, http2.ClientPreface)
	framer := http2.NewFramer(c, c)
	_ = framer.WriteSettings()
	_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: headers(t, method), EndHeaders: endHeaders})
	_, _ = io.ReadAll(c)
}

func headers(t *testing.T, method string) []byte {
	t.Helper()
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, f := range []hpack.HeaderField{{Name: ":method", Value: method}, {Name: ":scheme", Value: "https"}, {Name: ":path", Value: "/"}, {Name: ":authority", Value: "localhost"}} {
		require.NoError(t, encoder.WriteField(f))
	}
	return block.Bytes()
}

func TestAConnectionOfHTTP2WhoseHeadersDoNotEndIsClosed(t *testing.T) {
	t.Parallel()
	begin(t, slowHTTP2(t, http.NotFoundHandler()), http.MethodGet, false)
}

func TestABodyOfHTTP2ThatDoesNotEndHasATimeLimit(t *testing.T) {
	t.Parallel()
	read := make(chan error, 100)
	address := slowHTTP2(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		read <- err
	}))
	for len(read) == 0 {
		begin(t, address, http.MethodPut, true)
	}
	require.Error(t, <-read)
}
