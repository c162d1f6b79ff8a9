package senders_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/activities/senders"
	"almanac/internal/emulators"
	"almanac/internal/sendertest"
	"almanac/job/kind"
)

// A halfOpen connection is to a host that may vanish without closing it.
type halfOpen struct {
	net.Conn
	vanished atomic.Bool
}

func (c *halfOpen) Write(p []byte) (int, error) {
	if c.vanished.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// Requests share a connection of HTTP/2, so without an end of it every retry would be lost on it as well.
func TestAnHTTP2ConnectionToAHostThatVanishedIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	template := httptest.NewUnstartedServer(nil)
	template.StartTLS()
	template.Close()
	roots := x509.NewCertPool()
	roots.AddCert(template.Certificate())
	synctest.Test(t, func(t *testing.T) {
		network := emulators.NewPipes(t)
		var connections []*halfOpen
		h := senders.NewHTTP(senders.Options{RootCAs: roots, Dial: func(context.Context, string, string) (net.Conn, error) {
			c, err := network.Dial()
			if err != nil {
				return nil, err
			}
			connections = append(connections, &halfOpen{Conn: c})
			return connections[len(connections)-1], nil
		}})
		s := &http.Server{
			TLSConfig: &tls.Config{Certificates: template.TLS.Certificates},
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Protocol", r.Proto)
				if r.URL.Path == "/slow" {
					time.Sleep(50 * time.Second) // and answers pings
				}
			}),
			ErrorLog: quiet,
		}
		go s.ServeTLS(network, "", "")
		defer s.Close()
		ask := func(path string) (string, error) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("no time left"))
			defer cancel()
			return h.Send(ctx, sendertest.Execution, action(kind.Request{URI: "https://example.com" + path, Method: "POST", Body: "x"}))
		}
		message, err := ask("/slow")
		require.NoError(t, err)
		require.Contains(t, message, "HTTP/2.0")
		connections[0].vanished.Store(true)
		start := time.Now()
		_, err = ask("/")
		require.EqualError(t, err, "the connection was lost: nothing came from the host for 25 s, not even an answer to a ping")
		require.LessOrEqual(t, time.Since(start), 25*time.Second)
		_, err = ask("/")
		require.NoError(t, err)
		require.Len(t, connections, 2)
	})
}
