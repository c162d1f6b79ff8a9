package senders_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/activities/senders"
	"almanac/internal/egress"
	"almanac/internal/sendertest"
	"almanac/job/kind"
)

func guard(t *testing.T, allow ...string) *egress.Guard {
	t.Helper()
	g, err := egress.Parse(egress.ModePublic, allow, nil)
	require.NoError(t, err)
	return g
}

const advice = " are refused in egress mode public; an operator can allow the address"

func TestTargetsThatTheGuardRefuses(t *testing.T) {
	t.Parallel()
	s := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the target was asked") })
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	require.NoError(t, err)
	h := senders.NewHTTP(senders.Options{Dial: guard(t).DialContext})
	for host, what := range map[string]string{
		"127.0.0.1":          "loopback addresses",
		"[::ffff:127.0.0.1]": "loopback addresses",
		"0.0.0.0":            "unspecified addresses",
		"169.254.169.254":    "metadata services of clouds",
	} {
		for _, a := range []*kind.Authentication{nil, {Type: kind.AuthBasic, Username: "me", Password: "topsecret"}} {
			message, err := h.Send(t.Context(), sendertest.Execution, action(kind.Request{
				URI: "http://" + host + ":" + port + "/?sig=topsecret", Authentication: a,
			}))
			want := "Almanac does not connect to '" + strings.Trim(host, "[]") + "': " + what + advice
			require.EqualError(t, err, want)
			sendertest.RequirePermanent(t, true, err)
			require.Equal(t, "Http Action - Request to host '"+host+":"+port+"' failed: "+want, message)
		}
	}
}

func TestGuardHoldsForClientCertificates(t *testing.T) {
	t.Parallel()
	h := senders.NewHTTP(senders.Options{Dial: guard(t).DialContext})
	_, err := h.Send(t.Context(), sendertest.Execution, action(kind.Request{URI: "https://127.0.0.1", Authentication: clientCertificate(t, "me")}))
	require.EqualError(t, err, "Almanac does not connect to '127.0.0.1': loopback addresses"+advice)
	sendertest.RequirePermanent(t, true, err)
}

func TestGuardHoldsForTheAuthority(t *testing.T) {
	t.Parallel()
	authority := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the authority was asked") })
	h := senders.NewHTTP(senders.Options{Authority: authority.URL, Dial: guard(t).DialContext})
	_, err := h.Send(t.Context(), sendertest.Execution, action(kind.Request{URI: "http://target.example", Authentication: registered("me")}))
	require.EqualError(t, err, "Almanac does not connect to '127.0.0.1': loopback addresses"+advice)
	sendertest.RequirePermanent(t, true, err)
}

// The target is allowed, but its redirect's target is not.
func TestRedirectsToWhatTheGuardRefuses(t *testing.T) {
	t.Parallel()
	for name, location := range map[string]string{
		"loopback":  "http://127.0.0.2/",
		"encoded":   "http://0x7f000002/",
		"metadata":  "http://169.254.169.254/latest/meta-data/",
		"localhost": "//localhost/",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", location)
				w.WriteHeader(http.StatusFound)
			})
			var dialled atomic.Int64
			g := guard(t, "127.0.0.1")
			h := senders.NewHTTP(senders.Options{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
				dialled.Add(1)
				return g.DialContext(ctx, network, address)
			}})
			_, err := h.Send(t.Context(), sendertest.Execution, action(kind.Request{URI: s.URL}))
			require.ErrorContains(t, err, "the host answered 302 Found, which is not followed: it leads to host ")
			require.EqualValues(t, 1, dialled.Load(), "only the target is connected to")
		})
	}
}

// The name resolves to another address when the redirect is followed.
func TestRedirectToANameThatWasRebound(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close") // so that another connection is made
		http.Redirect(w, r, "/next", http.StatusFound)
	})
	public, rebound := guard(t, "127.0.0.1"), guard(t)
	var dialled atomic.Int64
	h := senders.NewHTTP(senders.Options{Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		if dialled.Add(1) == 1 {
			return public.DialContext(ctx, network, s.Listener.Addr().String())
		}
		return rebound.DialContext(ctx, network, s.Listener.Addr().String())
	}})
	message, err := h.Send(t.Context(), sendertest.Execution, action(kind.Request{URI: "http://rebinding.example"}))
	want := "Almanac does not connect to '127.0.0.1': loopback addresses" + advice
	require.EqualError(t, err, want)
	sendertest.RequirePermanent(t, true, err)
	require.Equal(t, "Http Action - Request to host 'rebinding.example' failed: "+want+
		" (redirected: GET http://rebinding.example was answered 302 Found; then GET http://rebinding.example/next)", message)
	require.EqualValues(t, 2, dialled.Load())
}

// A process reads the environment once, so the test runs in its own process.
func TestProxiesOfTheEnvironmentAreIgnored(t *testing.T) {
	t.Parallel()
	const inner = "ALMANAC_TEST_PROXY"
	if proxy := os.Getenv(inner); proxy != "" {
		sendPastProxy(t, proxy)
		return
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the proxy was asked") }))
	defer proxy.Close()
	test := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
	test.Env = append(os.Environ(), inner+"="+proxy.URL, "HTTP_PROXY="+proxy.URL, "HTTPS_PROXY="+proxy.URL, "NO_PROXY=")
	out, err := test.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func sendPastProxy(t *testing.T, proxy string) {
	t.Helper()
	found, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: "http", Host: "target.example"}})
	require.NoError(t, err)
	require.Equal(t, proxy, found.String(), "others would use it")

	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	var dialled []string
	h := senders.NewHTTP(senders.Options{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		dialled = append(dialled, address)
		return (&net.Dialer{}).DialContext(ctx, network, s.Listener.Addr().String())
	}})
	_, err = h.Send(t.Context(), sendertest.Execution, action(kind.Request{URI: "http://target.example"}))
	require.NoError(t, err)
	_, err = h.Send(t.Context(), sendertest.Execution, action(kind.Request{URI: "https://target.example"}))
	require.ErrorContains(t, err, "TLS: the host does not speak TLS")
	require.Equal(t, []string{"target.example:80", "target.example:443"}, dialled)
}
