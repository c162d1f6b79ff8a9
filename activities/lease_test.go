package activities_test

import (
	"bufio"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/activities"
	"almanac/activities/senders"
	"almanac/internal/emulators"
	"almanac/job/kind"
)

// request returns the input of a due attempt that posts to an address.
func request(uri string) activities.Input {
	in := due(0, 1)
	in.Action = *action(kind.Request{URI: uri, Method: "POST", Body: "once"})
	return in
}

// A slowNetwork delays connections and records what is written on each.
type slowNetwork struct {
	takes []time.Duration // per connection; later ones take none

	mu      sync.Mutex
	written [][]byte
	targets sync.WaitGroup
}

func (n *slowNetwork) dial(context.Context, string, string) (net.Conn, error) {
	n.mu.Lock()
	i := len(n.written)
	n.written = append(n.written, nil)
	n.mu.Unlock()
	if i < len(n.takes) {
		time.Sleep(n.takes[i])
	}
	ours, theirs := net.Pipe()
	n.targets.Go(func() {
		defer theirs.Close()
		_, _ = http.ReadRequest(bufio.NewReader(io.TeeReader(theirs, writerFunc(func(p []byte) (int, error) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.written[i] = append(n.written[i], p...)
			return len(p), nil
		}))))
		io.WriteString(theirs, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	})
	return ours, nil
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestNothingIsWrittenOnAConnectionThatComesAfterTheLease(t *testing.T) {
	t.Parallel()
	const late, inTime = leaseTime + 100*time.Millisecond, leaseTime - 100*time.Millisecond
	for _, tt := range []struct {
		name  string
		takes []time.Duration
	}{
		{"and the request is sent on the next one", []time.Duration{late}},
		{"nor on others like it", []time.Duration{late, late + leaseTime}},
		{"but one that comes within the lease is used", []time.Duration{inTime}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				network := &slowNetwork{takes: tt.takes}
				r := runner(senders.NewHTTP(senders.Options{Dial: network.dial}))
				k := task{heartbeat: time.Hour}
				attempts, err := k.run(t, r, request("http://slow.example/"))
				require.NoError(t, err)
				require.Len(t, attempts, 1, "what was not sent has no record")
				network.targets.Wait()
				used := len(network.written) - 1
				for _, written := range network.written[:used] {
					require.Empty(t, written)
				}
				require.Contains(t, string(network.written[used]), "POST / HTTP/1.1")
				require.Len(t, k.server.fences(), used+1)
			})
		})
	}
	t.Run("nor anywhere if the next fence is refused", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			network := &slowNetwork{takes: []time.Duration{late}}
			r := runner(senders.NewHTTP(senders.Options{Dial: network.dial}))
			k := task{heartbeat: time.Hour, server: &server{answer: func(n int) error {
				if n > 1 {
					return errCancelled
				}
				return nil
			}}}
			_, err := k.run(t, r, request("http://slow.example/"))
			requireUnsent(t, err, nil)
			network.targets.Wait()
			require.Len(t, network.written, 1)
			require.Empty(t, network.written[0])
		})
	})
}

func TestRedirectIsFollowedAfterTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := emulators.NewPipes(t)
		var asked []string
		s := &http.Server{ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.URL.Path)
			if r.URL.Path == "/" {
				time.Sleep(3 * leaseTime)
				w.Header().Set("Connection", "close") // so that the next request opens a connection
				http.Redirect(w, r, "/moved", http.StatusTemporaryRedirect)
			}
		})}
		go s.Serve(network)
		defer s.Close()
		r := runner(senders.NewHTTP(senders.Options{Dial: func(context.Context, string, string) (net.Conn, error) { return network.Dial() }}))
		k := task{heartbeat: time.Hour}
		_, err := k.run(t, r, request("http://target.example/"))
		require.NoError(t, err)
		require.Equal(t, []string{"/", "/moved"}, asked)
		require.Len(t, k.server.fences(), 1)
	})
}
