package activities_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/activities"
	"almanac/job"
)

// request returns the input of a due attempt that posts to an address.
func request(uri string, a *job.Authentication) activities.Input {
	in := due(0, 1)
	in.Action = *action(job.Request{URI: uri, Method: "POST", Body: "once", Authentication: a})
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
				r := runner(activities.NewHTTP(activities.HTTPOptions{Dial: network.dial}))
				k := task{heartbeat: time.Hour}
				attempts, err := k.run(t, r, request("http://slow.example/", nil))
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
			r := runner(activities.NewHTTP(activities.HTTPOptions{Dial: network.dial}))
			k := task{heartbeat: time.Hour, server: &server{answer: func(n int) error {
				if n > 1 {
					return errCancelled
				}
				return nil
			}}}
			_, err := k.run(t, r, request("http://slow.example/", nil))
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
		network := newPipes(t)
		var asked []string
		s := &http.Server{ErrorLog: quiet, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.URL.Path)
			if r.URL.Path == "/" {
				time.Sleep(3 * leaseTime)
				w.Header().Set("Connection", "close") // so that the next request opens a connection
				http.Redirect(w, r, "/moved", http.StatusTemporaryRedirect)
			}
		})}
		go s.Serve(network)
		defer s.Close()
		r := runner(activities.NewHTTP(activities.HTTPOptions{Dial: func(context.Context, string, string) (net.Conn, error) { return network.dial() }}))
		k := task{heartbeat: time.Hour}
		_, err := k.run(t, r, request("http://target.example/", nil))
		require.NoError(t, err)
		require.Equal(t, []string{"/", "/moved"}, asked)
		require.Len(t, k.server.fences(), 1)
	})
}

func TestRequestForATokenDoesNotUseTheLease(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		takes  time.Duration // duration of the token request
		fences int
	}{
		{"one that is quick", leaseTime / 2, 1},
		{"one that takes longer than the lease", 5 * leaseTime, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, b *bubble) {
				answer := b.answer
				b.answer = func(w http.ResponseWriter, r *http.Request) {
					time.Sleep(tt.takes)
					answer(w, r)
				}
				var asked []string
				b.target = func(_ http.ResponseWriter, r *http.Request) { asked = append(asked, r.Header.Get("Authorization")) }
				k := task{heartbeat: time.Hour}
				_, err := k.run(t, runner(b.sender), request("http://target.example", registered("me")))
				require.NoError(t, err)
				require.Equal(t, []string{"Bearer t1"}, asked)
				require.EqualValues(t, 1, b.tokens.Load())
				require.Len(t, k.server.fences(), tt.fences)
			})
		})
	}
}

// For every sender, with and without an open connection.
func TestNothingIsSentAfterTheLease(t *testing.T) {
	t.Parallel()
	type target struct {
		sender activities.Sender
		action *job.Action
		seen   func() int // requests, or messages
	}
	count := func(seen *atomic.Int64) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			seen.Add(1)
			w.WriteHeader(http.StatusCreated)
		}
	}
	for name, start := range map[string]func(*testing.T) target{
		"HTTP/1.1": func(t *testing.T) target {
			var seen atomic.Int64
			s := serve(t, count(&seen))
			return target{activities.NewHTTP(activities.HTTPOptions{}), action(job.Request{URI: s.URL}), func() int { return int(seen.Load()) }}
		},
		"HTTP/1.1 over TLS": func(t *testing.T) target {
			var seen atomic.Int64
			s := serveSecured(t, false, nil, count(&seen))
			return target{s.sender(), action(job.Request{URI: s.URL}), func() int { return int(seen.Load()) }}
		},
		"HTTP/2": func(t *testing.T) target {
			var seen atomic.Int64
			s := serveSecured(t, true, nil, count(&seen))
			return target{s.sender(), action(job.Request{URI: s.URL}), func() int { return int(seen.Load()) }}
		},
		"a storage queue": func(t *testing.T) target {
			var seen atomic.Int64
			s := serve(t, count(&seen))
			return target{queueSender(t, activities.StorageQueueOptions{Endpoint: s.URL + "/{account}"}), queueAction("orders", "sv=1&sig=x"), func() int { return int(seen.Load()) }}
		},
		"a Service Bus queue": func(t *testing.T) target {
			bus := startBus(t)
			return target{busSender(t, bus, activities.ServiceBusOptions{}), busAction("orders"), func() int { return bus.Stats(t).Transfers }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			send := func(length time.Duration) (*activities.TestLease, error) {
				ctx, lease := activities.WithTestLease(t.Context(), length)
				_, err := s.sender.Send(ctx, execution, s.action)
				return lease, err
			}
			for _, when := range []string{"on a new connection", "on one that was used before"} {
				before := s.seen()
				over, err := send(0)
				require.Error(t, err, when)
				require.True(t, over.Refused(), when)
				require.False(t, over.Used(), when)
				require.Equal(t, before, s.seen(), when)

				valid, err := send(time.Hour)
				require.NoError(t, err, when)
				require.True(t, valid.Used(), when)
				require.False(t, valid.Refused(), when)
				require.Equal(t, before+1, s.seen(), when)
			}
		})
	}
}

// An attempt whose lease is over does not disturb a shared connection.
func TestLeaseThatIsOverDoesNotDisturbOthers(t *testing.T) {
	t.Parallel()
	t.Run("on an HTTP/2 connection", func(t *testing.T) {
		t.Parallel()
		arrived, release := make(chan struct{}), make(chan struct{})
		s := serveSecured(t, true, nil, func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				close(arrived)
				<-release
			}
		})
		h := s.sender()
		slow := make(chan error, 1)
		go func() {
			_, err := h.Send(t.Context(), execution, action(job.Request{URI: s.URL + "/slow"}))
			slow <- err
		}()
		<-arrived
		ctx, lease := activities.WithTestLease(t.Context(), 0)
		_, err := h.Send(ctx, execution, action(job.Request{URI: s.URL + "/late"}))
		require.Error(t, err)
		require.True(t, lease.Refused())
		_, err = h.Send(t.Context(), execution, action(job.Request{URI: s.URL + "/next"}))
		require.NoError(t, err)
		close(release)
		require.NoError(t, <-slow)
		require.Len(t, s.visits, 2)
		require.Equal(t, s.visits[0].connection, s.visits[1].connection)
	})
	t.Run("on a connection to Service Bus", func(t *testing.T) {
		t.Parallel()
		bus := startBus(t)
		sender := busSender(t, bus, activities.ServiceBusOptions{})
		for range 3 {
			ctx, lease := activities.WithTestLease(t.Context(), 0)
			_, err := sender.Send(ctx, execution, busAction("orders"))
			require.Error(t, err)
			require.True(t, lease.Refused())
		}
		_, err := sender.Send(t.Context(), execution, busAction("orders"))
		require.NoError(t, err)
		require.Equal(t, 1, bus.Stats(t).Connections, "to connect may take longer than a lease")
	})
}
