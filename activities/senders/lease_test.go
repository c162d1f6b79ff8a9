package senders_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/activities"
	"almanac/activities/lease"
	"almanac/activities/senders"
	"almanac/internal/sendertest"
	"almanac/job"
	"almanac/job/kind"
)

// Whatever sends, and however it is connected already.
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
			return target{senders.NewHTTP(senders.Options{Guard: sendertest.Anywhere}), action(kind.Request{URI: s.URL}), func() int { return int(seen.Load()) }}
		},
		"HTTP/1.1 over TLS": func(t *testing.T) target {
			var seen atomic.Int64
			s := serveSecured(t, false, nil, count(&seen))
			return target{s.sender(), action(kind.Request{URI: s.URL}), func() int { return int(seen.Load()) }}
		},
		"HTTP/2": func(t *testing.T) target {
			var seen atomic.Int64
			s := serveSecured(t, true, nil, count(&seen))
			return target{s.sender(), action(kind.Request{URI: s.URL}), func() int { return int(seen.Load()) }}
		},
		"a storage queue": func(t *testing.T) target {
			var seen atomic.Int64
			s := serve(t, count(&seen))
			return target{queueSender(t, senders.Options{Guard: sendertest.Anywhere, QueueEndpoint: s.URL + "/{account}"}), queueAction("orders", "sv=1&sig=x"), func() int { return int(seen.Load()) }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			send := func(length time.Duration) (*lease.Lease, error) {
				l := lease.New(time.Now(), length)
				_, err := s.sender.Send(lease.With(t.Context(), l), sendertest.Execution, s.action)
				return l, err
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

// A connection that many share does not suffer from an attempt that comes too late.
func TestLeaseThatIsOverDoesNotDisturbOthers(t *testing.T) {
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
		_, err := h.Send(t.Context(), sendertest.Execution, action(kind.Request{URI: s.URL + "/slow"}))
		slow <- err
	}()
	<-arrived
	late := lease.New(time.Now(), 0)
	_, err := h.Send(lease.With(t.Context(), late), sendertest.Execution, action(kind.Request{URI: s.URL + "/late"}))
	require.Error(t, err)
	require.True(t, late.Refused())
	_, err = h.Send(t.Context(), sendertest.Execution, action(kind.Request{URI: s.URL + "/next"}))
	require.NoError(t, err)
	close(release)
	require.NoError(t, <-slow)
	require.Len(t, s.visits, 2)
	require.Equal(t, s.visits[0].connection, s.visits[1].connection)
}

func TestRequestForATokenDoesNotUseTheLease(t *testing.T) {
	t.Parallel()
	const length = time.Second
	for _, tt := range []struct {
		name  string
		takes time.Duration // the token
		sent  bool
	}{
		{"one that is quick", length / 2, true},
		{"one that takes longer than the lease", 5 * length, false},
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
				send := func() bool {
					l := lease.New(time.Now(), length)
					err := b.send(lease.With(t.Context(), l), registered("me"))
					require.Equal(t, l.Used(), err == nil, "%v", err)
					require.Equal(t, l.Used(), !l.Refused())
					return l.Used()
				}
				require.Equal(t, tt.sent, send())
				if !tt.sent {
					require.True(t, send(), "the token is there now")
				}
				require.Equal(t, []string{"Bearer t1"}, asked)
				require.EqualValues(t, 1, b.tokens.Load())
			})
		})
	}
}
