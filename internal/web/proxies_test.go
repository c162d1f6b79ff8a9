package web_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/internal/web"
)

func TestTheAddressOfACallerCannotBeForged(t *testing.T) {
	t.Parallel()
	trusted, err := web.ParseProxies("10.0.0.0/8", "192.0.2.7", "fd00::/8")
	require.NoError(t, err)
	for _, tt := range []struct {
		name       string
		connection string
		forwarded  []string // lines of the header
		want       string
	}{
		{"no proxy", "203.0.113.5:1000", nil, "203.0.113.5"},
		{"no proxy, and a forged header", "203.0.113.5:1000", []string{"127.0.0.1"}, "203.0.113.5"},
		{"no proxy, that names a proxy", "203.0.113.5:1000", []string{"198.51.100.1, 10.0.0.1"}, "203.0.113.5"},
		{"a proxy", "10.0.0.1:1000", []string{"203.0.113.5"}, "203.0.113.5"},
		{"a proxy that is one address", "192.0.2.7:1000", []string{"203.0.113.5"}, "203.0.113.5"},
		{"the neighbour of a proxy", "192.0.2.8:1000", []string{"203.0.113.5"}, "192.0.2.8"},
		{"a proxy without the header", "10.0.0.1:1000", nil, "10.0.0.1"},
		{"a proxy that appends to a forged header", "10.0.0.1:1000", []string{"127.0.0.1, 203.0.113.5"}, "203.0.113.5"},
		{"a proxy that adds a line to a forged header", "10.0.0.1:1000", []string{"127.0.0.1", "203.0.113.5"}, "203.0.113.5"},
		{"a caller that names a proxy", "10.0.0.1:1000", []string{"127.0.0.1, 10.9.9.9, 203.0.113.5"}, "203.0.113.5"},
		{"two proxies", "10.0.0.1:1000", []string{"127.0.0.1, 203.0.113.5, 10.0.0.2"}, "203.0.113.5"},
		{"a caller among the proxies", "10.0.0.1:1000", []string{"10.3.3.3, 10.0.0.2"}, "10.3.3.3"},
		{"a port", "10.0.0.1:1000", []string{"203.0.113.5:50000"}, "203.0.113.5"},
		{"IPv6", "[fd00::1]:1000", []string{"2001:db8::5"}, "2001:db8::5"},
		{"IPv6 in brackets", "[fd00::1]:1000", []string{"[2001:db8::5]"}, "2001:db8::5"},
		{"IPv6 and a port", "[fd00::1]:1000", []string{"[2001:db8::5]:443"}, "2001:db8::5"},
		{"IPv4 in the form of IPv6", "[::ffff:10.0.0.1]:1000", []string{"::ffff:203.0.113.5"}, "203.0.113.5"},
		{"a proxy in the form of IPv6 in the header", "10.0.0.1:1000", []string{"203.0.113.5, ::ffff:10.0.0.2"}, "203.0.113.5"},
		{"no address in the header", "10.0.0.1:1000", []string{"unknown"}, "10.0.0.1"},
		{"no address at the right of the header", "10.0.0.1:1000", []string{"203.0.113.5, localhost"}, "10.0.0.1"},
		{"an empty header", "10.0.0.1:1000", []string{""}, "10.0.0.1"},
		{"blanks", "10.0.0.1:1000", []string{"  203.0.113.5 ,\t10.0.0.2 "}, "203.0.113.5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr = tt.connection
			for _, line := range tt.forwarded {
				r.Header.Add("X-Forwarded-For", line)
			}
			require.Equal(t, tt.want, trusted.Caller(r).String())
			seen := ""
			trusted.Resolve(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r.RemoteAddr })).ServeHTTP(httptest.NewRecorder(), r)
			again := httptest.NewRequest(http.MethodGet, "/", nil)
			again.RemoteAddr = seen
			require.Equal(t, tt.want, (*web.Proxies)(nil).Caller(again).String(), "%s is an address with a port", seen)
			require.Equal(t, tt.connection, r.RemoteAddr, "the request itself is left as it was")
		})
	}
}

func TestWithoutProxiesOnlyTheConnectionSaysWhoCalls(t *testing.T) {
	t.Parallel()
	none, err := web.ParseProxies()
	require.NoError(t, err)
	for _, p := range []*web.Proxies{nil, none} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = "127.0.0.1:1000"
		r.Header.Set("X-Forwarded-For", "203.0.113.5")
		require.Equal(t, "127.0.0.1", p.Caller(r).String())
	}
}

func TestParseProxiesListsEveryMistake(t *testing.T) {
	t.Parallel()
	_, err := web.ParseProxies("10.0.0.0/8", "10.0.0.0/33", "proxy.internal", "0.0.0.0/0", "::/0")
	require.EqualError(t, err, `"10.0.0.0/33" is no address or network such as 10.0.0.0/8
"proxy.internal" is no address or network such as 10.0.0.0/8
"0.0.0.0/0" is every address, so that any caller could choose the address that it seems to have
"::/0" is every address, so that any caller could choose the address that it seems to have`)
}

func FuzzTheCallerOfAProxy(f *testing.F) {
	trusted, err := web.ParseProxies("10.0.0.0/8")
	require.NoError(f, err)
	f.Add("203.0.113.5, 10.0.0.2", "x")
	f.Fuzz(func(t *testing.T, first, second string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = "10.0.0.1:1000"
		r.Header["X-Forwarded-For"] = []string{first, second, "198.51.100.77"}
		require.Equal(t, "198.51.100.77", trusted.Caller(r).String(), "whatever the caller sent, the proxy's own entry counts")
	})
}
