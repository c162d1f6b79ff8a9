package senders_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/activities/senders"
	"almanac/internal/emulators"
	"almanac/internal/sendertest"
	"almanac/job"
	"almanac/job/kind"
)

// A host may close a connection while a request is on its way to it, which then is lost.
func TestConnectionsThatAHostMayBeClosingAreNotUsed(t *testing.T) {
	t.Parallel()
	once := &job.RetryPolicy{RetryType: job.RetryNone}
	for _, tt := range []struct {
		name, hint string
		policy     *job.RetryPolicy
		body       string
		pause      time.Duration
		want       int // connections for two requests
	}{
		{"no hint", "", nil, "x", 44 * time.Second, 1},
		{"no hint, after long", "", nil, "x", 46 * time.Second, 2},
		{"within the hint", "timeout=5", nil, "x", 3900 * time.Millisecond, 1},
		{"within a second of its end", "timeout=5", nil, "x", 4100 * time.Millisecond, 2},
		{"with a number of requests", "max=100, timeout=5", nil, "", 4100 * time.Millisecond, 2},
		{"a hint of a second", "timeout=1", nil, "x", 0, 2},
		{"a hint of nothing", "timeout=0", nil, "x", 0, 2},
		{"a hint of centuries", "timeout=99999999999999999999", nil, "x", 44 * time.Second, 1},
		{"a hint with zeros in front", "timeout=0000000000005", nil, "x", 3900 * time.Millisecond, 1},
		{"two hints", "timeout=60, timeout=5", nil, "x", 4100 * time.Millisecond, 2},
		{"two hints in two lines", "timeout=60; timeout=5", nil, "x", 4100 * time.Millisecond, 2},
		{"a hint of something else", "xtimeout=1", nil, "x", 10 * time.Second, 1},
		{"a hint below nothing", "timeout=-1", nil, "x", 10 * time.Second, 1},
		{"no hint that can be read", "timeout=long", nil, "x", 10 * time.Second, 1},
		{"a body that is not sent again, in a herd", "", once, "x", 900 * time.Millisecond, 1},
		{"a body that is not sent again", "", once, "x", 1100 * time.Millisecond, 2},
		{"no body that is not sent again", "", once, "", 40 * time.Second, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				network, connections := emulators.NewPipes(t), 0
				h := senders.NewHTTP(senders.Options{Dial: func(context.Context, string, string) (net.Conn, error) {
					connections++
					return network.Dial()
				}})
				requests := 0
				s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					if string(body) == tt.body {
						requests++
					}
					for hint := range strings.SplitSeq(tt.hint, "; ") {
						w.Header().Add("Keep-Alive", hint)
					}
				})}
				go s.Serve(network)
				defer s.Close()
				a := action(kind.Request{URI: "http://herd.example", Method: "POST", Body: tt.body})
				a.RetryPolicy = tt.policy
				for range 2 {
					_, err := h.Send(t.Context(), sendertest.Execution, a)
					require.NoError(t, err)
					time.Sleep(tt.pause)
				}
				require.Equal(t, tt.want, connections)
				require.Equal(t, 2, requests)
			})
		})
	}
}

// Messages on storage queues and requests for tokens are requests with a body, too.
func TestConnectionsThatAHostMayBeClosingAreNotUsedForOtherRequests(t *testing.T) {
	t.Parallel()
	once := &job.RetryPolicy{RetryType: job.RetryNone}
	for _, tt := range []struct {
		name   string
		policy *job.RetryPolicy
		token  bool
		want   int // connections for two requests
	}{
		{"a message that is retried", nil, false, 1},
		{"a message that is not retried", once, false, 2},
		{"a token", nil, true, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				network, connections := emulators.NewPipes(t), map[string]int{}
				o := senders.Options{
					QueueEndpoint: "http://{account}.example", Authority: "http://authority.example",
					Dial: func(_ context.Context, _, address string) (net.Conn, error) {
						connections[address]++
						return network.Dial()
					},
				}
				s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if strings.HasPrefix(r.Host, "authority") {
						w.Header().Set("Content-Type", "application/json")
						io.WriteString(w, `{"access_token":"x"}`) // for one request
						return
					}
					w.WriteHeader(http.StatusCreated)
				})}
				go s.Serve(network)
				defer s.Close()
				q, err := senders.NewStorageQueue(o)
				require.NoError(t, err)
				h := senders.NewHTTP(o)
				for range 2 {
					a := queueAction("orders", "sv=1&sig=x")
					a.RetryPolicy = tt.policy
					_, err := q.Send(t.Context(), sendertest.Execution, a)
					require.NoError(t, err)
					_, err = h.Send(t.Context(), sendertest.Execution, action(kind.Request{URI: "http://herd.example", Authentication: &kind.Authentication{
						Type: kind.AuthOAuth, Tenant: "contoso", ClientID: "me", Audience: "https://api.example", Secret: "secret",
					}}))
					require.NoError(t, err)
					time.Sleep(1100 * time.Millisecond)
				}
				host := "devstoreaccount1.example:80"
				if tt.token {
					host = "authority.example:80"
				}
				require.Equal(t, tt.want, connections[host])
			})
		})
	}
}
