package senders_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/activities/senders"
	"almanac/internal/sendertest"
	"almanac/job"
	"almanac/job/kind"
)

// The address in a Location is sent by the same rules.
func TestATargetOfARedirectIsSentAsWritten(t *testing.T) {
	t.Parallel()
	for _, tt := range targets {
		if tt.written == "" {
			continue // leads to the same address
		}
		seen := make(chan string, 100)
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			seen <- r.RequestURI
			if r.RequestURI == "/start" {
				w.Header().Set("Location", tt.written)
				w.WriteHeader(http.StatusFound)
			}
		})
		_, err := send(t, kind.Request{URI: s.URL + "/start"})
		require.NoError(t, err, tt.name)
		require.Equal(t, "/start", <-seen)
		// by the resolution of references (RFC 3986, section 5.2.4)
		want := strings.NewReplacer("/b/./..", "").Replace(tt.sent)
		if strings.HasPrefix(tt.written, "?") {
			want = strings.Replace(want, "/?", "/start?", 1)
		}
		require.Equal(t, want, <-seen, tt.name)
		s.Close()
	}
}

// A loop of redirects could otherwise repeat a payment ten times within one attempt.
func TestARequestThatMayChangeSomethingIsSentAgainOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		r    kind.Request
		sent int64
		err  string
	}{
		{"POST with a body", kind.Request{Method: "POST", Body: "pay"}, 2, "a request that may change something is sent again once"},
		{"POST without a body", kind.Request{Method: "POST"}, 2, "a request that may change something is sent again once"},
		{"DELETE", kind.Request{Method: "DELETE"}, 2, "a request that may change something is sent again once"},
		{"GET with a body", kind.Request{Method: "GET", Body: "search"}, 2, "a request that may change something is sent again once"},
		{"GET", kind.Request{Method: "GET"}, 11, "at most 10 redirects are"},
		{"HEAD", kind.Request{Method: "HEAD"}, 11, "at most 10 redirects are"},
	} {
		for _, status := range []int{http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
			t.Run(tt.name+" "+http.StatusText(status), func(t *testing.T) {
				t.Parallel()
				var sent atomic.Int64
				s := serve(t, func(w http.ResponseWriter, r *http.Request) {
					sent.Add(1)
					http.Redirect(w, r, "/again", status)
				})
				r := tt.r
				r.URI = s.URL
				_, err := send(t, r)
				require.ErrorContains(t, err, ", which is not followed: "+tt.err)
				require.Equal(t, tt.sent, sent.Load())
			})
		}
	}
}

func TestTheHistoryShowsEachRedirect(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/start":
			http.Redirect(w, r, "/moved?key="+canaryQuery, http.StatusPermanentRedirect)
		case "/moved":
			http.Redirect(w, r, "/done", http.StatusSeeOther)
		case "/broken":
			w.Header().Set("Location", "/lost")
			w.WriteHeader(http.StatusFound)
		case "/lost":
			panic(http.ErrAbortHandler)
		default:
			io.WriteString(w, "hello")
		}
	})
	message, err := send(t, kind.Request{URI: s.URL + "/start?sig=" + canaryQuery, Method: "PUT", Body: "body"})
	require.NoError(t, err)
	requireNoCanary(t, message)
	require.True(t, strings.HasSuffix(message, " Body: hello (redirected: PUT "+s.URL+"/start?… was answered 308 PermanentRedirect; "+
		"PUT "+s.URL+"/moved?… was answered 303 SeeOther; then GET "+s.URL+"/done)"), message)

	message, err = send(t, kind.Request{URI: s.URL + "/broken"})
	require.Error(t, err)
	require.True(t, strings.HasSuffix(message, " (redirected: GET "+s.URL+"/broken was answered 302 Found; then GET "+s.URL+"/lost)"), message)
}

func TestRedirectsMayBeRefused(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		sent.Add(1)
		http.Redirect(w, r, "/end", http.StatusFound)
	})
	_, err := send(t, kind.Request{URI: s.URL, FollowRedirects: new(false)})
	require.EqualError(t, err, "the host answered 302 Found, which is not followed: the request has followRedirects false")
	require.EqualValues(t, 1, sent.Load())
}

func TestHeadersOfARedirectedRequest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, location string
		status         int
		host           string
		content        bool
	}{
		{"a relative address keeps the Host of the job", "/end", 307, "virtual.example", true},
		{"an absolute address has its own", "http://{self}/end", 307, "{self}", true},
		{"those of the body go with it", "/end", 303, "virtual.example", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var self string
			seen := make(chan *http.Request, 2)
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				seen <- r
				if r.URL.Path == "/start" {
					w.Header().Set("Location", strings.ReplaceAll(tt.location, "{self}", self))
					w.WriteHeader(tt.status)
				}
			})
			self = strings.TrimPrefix(s.URL, "http://")
			_, err := send(t, kind.Request{URI: "http://me:mine@" + self + "/start?sig=x", Method: "POST", Body: "{}", Headers: job.Members{
				{Name: "Content-Type", Value: "application/json"}, {Name: "Content-Encoding", Value: "x"}, {Name: "Host", Value: "virtual.example"}, {Name: "X-Mine", Value: "1"},
			}})
			require.NoError(t, err)
			first, second := <-seen, <-seen
			require.Equal(t, "virtual.example", first.Host)
			require.Equal(t, strings.ReplaceAll(tt.host, "{self}", self), second.Host)
			require.Equal(t, "1", second.Header.Get("X-Mine"))
			require.Equal(t, first.Header.Get("Authorization"), second.Header.Get("Authorization"))
			require.Empty(t, second.Header.Values("Referer"), "it would have the query")
			require.Equal(t, tt.content, second.Header.Get("Content-Type") != "")
			require.Equal(t, tt.content, second.Header.Get("Content-Encoding") != "")
		})
	}
}

// Hosts write their own name in ASCII, whatever a job calls them.
func TestARedirectToTheSameHostInAnotherFormIsFollowed(t *testing.T) {
	t.Parallel()
	for _, location := range []string{"http://xn--mnchen-3ya.example/end", "http://XN--MNCHEN-3YA.example:80/end", "http://münchen.example:/end", "http://M\u00dcNCHEN.example/end"} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/end" {
				w.Header().Set("Location", location)
				w.WriteHeader(http.StatusFound)
			}
		})
		h := senders.NewHTTP(senders.Options{Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, s.Listener.Addr().String())
		}})
		_, err := h.Send(t.Context(), sendertest.Execution, action(kind.Request{URI: "http://münchen.example/"}))
		require.NoError(t, err, location)
	}
}

func TestARedirectToNoWebAddressIsNotFollowed(t *testing.T) {
	t.Parallel()
	for _, location := range []string{"mailto:me@example.com", "http:end", "http:///end", "urn:x", "https:"} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", location)
			w.WriteHeader(http.StatusFound)
		})
		_, err := send(t, kind.Request{URI: s.URL})
		require.EqualError(t, err, "the host answered 302 Found, which is not followed: its Location is not an http or https address", location)
	}
}
