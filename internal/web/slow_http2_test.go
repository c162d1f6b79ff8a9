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

// slowHTTP2 starts a server with short time limits, and returns a connection to it that has spoken the preface of HTTP/2.
func slowHTTP2(t *testing.T, h http.Handler) (*tls.Conn, *http2.Framer) {
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
	c := tls.Client(dial(t, l.Addr().String(), ""), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	_, err = io.WriteString(c, http2.ClientPreface)
	require.NoError(t, err)
	framer := http2.NewFramer(c, c)
	require.NoError(t, framer.WriteSettings())
	return c, framer
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
	c, framer := slowHTTP2(t, http.NotFoundHandler())
	require.NoError(t, framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: headers(t, http.MethodGet)}))
	_, err := io.ReadAll(c)
	require.NoError(t, err, "the server closes the connection")
}

func TestABodyOfHTTP2ThatDoesNotEndHasATimeLimit(t *testing.T) {
	t.Parallel()
	read := make(chan error, 1)
	_, framer := slowHTTP2(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		read <- err
	}))
	require.NoError(t, framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: headers(t, http.MethodPut), EndHeaders: true}))
	require.Error(t, <-read)
}
