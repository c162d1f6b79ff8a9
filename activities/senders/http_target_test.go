package senders_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/activities/senders"
	"almanac/internal/sendertest"
	"almanac/job"
	"almanac/job/kind"
)

// A listener gets the bytes of a request, which no server has read and judged.
func listen(t *testing.T) (address string, heads <-chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	got := make(chan string, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			var head strings.Builder
			for lines := bufio.NewReader(c); !strings.HasSuffix(head.String(), "\r\n\r\n"); {
				line, err := lines.ReadString('\n')
				if err != nil {
					break
				}
				head.WriteString(line)
			}
			got <- head.String()
			io.WriteString(c, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
			c.Close()
		}
	}()
	return l.Addr().String(), got
}

// What a uri has after its host, and the request target that it becomes (RFC 9112, section 3.2).
var targets = []struct{ name, written, sent string }{
	{"nothing", "", "/"},
	{"a query alone", "?a=1", "/?a=1"},
	{"an empty query", "/?", "/?"},
	{"all that may be in a path", "/-._~!$&'()*+,;=:@/a//b/./../c", "/-._~!$&'()*+,;=:@/a//b/./../c"},
	{"all that may be in a query", "/?-._~!$&'()*+,;=:@/?", "/?-._~!$&'()*+,;=:@/?"},
	{"a slash and a letter outside ASCII", "/projects/acme%2Fweb/täglich", "/projects/acme%2Fweb/t%C3%A4glich"},
	{"a semicolon and a letter outside ASCII", "/a%3Bb/ü", "/a%3Bb/%C3%BC"},
	{"an escape that is not needed, in lower case, and braces", "/%7e%41%c3%a4{x}", "/%7e%41%c3%a4%7Bx%7D"},
	{"an escaped percent sign and a bar", "/100%25|x", "/100%25%7Cx"},
	{"what is allowed nowhere, in a path", "/a\"<>\\^`{|}[]b", "/a%22%3C%3E%5C%5E%60%7B%7C%7D%5B%5Db"},
	{"what is allowed nowhere, in a query", "/?q=a\"<>\\^`{|}[]b", "/?q=a%22%3C%3E%5C%5E%60%7B%7C%7D%5B%5Db"},
	{"a letter outside ASCII in a query", "/?stadt=Köln&p=%C3%B6&q=a%20b+c", "/?stadt=K%C3%B6ln&p=%C3%B6&q=a%20b+c"},
	{"an emoji", "/😀?😀", "/%F0%9F%98%80?%F0%9F%98%80"},
	{"a lone percent sign in a query", "/?q=100%&r=%zz&s=%4", "/?q=100%25&r=%25zz&s=%254"},
	{"a colon in the first segment", "/a:b/ü", "/a:b/%C3%BC"},
	{"a fragment, which is not sent", "/a?b=1#c?d=2", "/a?b=1"},
	{"a star", "/*", "/*"},
}

func TestATargetIsSentAsWritten(t *testing.T) {
	t.Parallel()
	address, heads := listen(t)
	for _, tt := range targets {
		_, err := send(t, kind.Request{URI: "http://" + address + tt.written})
		require.NoError(t, err, tt.name)
		line, _, _ := strings.Cut(<-heads, "\r\n")
		require.Equal(t, "GET "+tt.sent+" HTTP/1.1", line, tt.name)
	}
}

func TestATargetIsSentAsWrittenOverHTTP2(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 1)
	s := serveSecured(t, true, nil, func(_ http.ResponseWriter, r *http.Request) { seen <- r.Proto + " " + r.RequestURI })
	for _, tt := range targets {
		_, err := s.sender().Send(t.Context(), sendertest.Execution, action(kind.Request{URI: s.URL + tt.written}))
		require.NoError(t, err, tt.name)
		require.Equal(t, "HTTP/2.0 "+tt.sent, <-seen, tt.name)
	}
}

func TestAHostIsSentInASCII(t *testing.T) {
	t.Parallel()
	address, heads := listen(t)
	for _, tt := range []struct{ name, written, dialled, sent string }{
		{"a name", "WWW.example.com", "WWW.example.com:80", "WWW.example.com"},
		{"a name with its port", "example.com:8080", "example.com:8080", "example.com:8080"},
		{"a port that is left out", "example.com:", "example.com:80", "example.com"},
		{"an international name", "münchen.example", "xn--mnchen-3ya.example:80", "xn--mnchen-3ya.example"},
		{"an international name in upper case, with a port", "MÜNCHEN.example:81", "xn--mnchen-3ya.example:81", "xn--mnchen-3ya.example:81"},
		{"an international name that is encoded", "m%C3%BCnchen.example", "xn--mnchen-3ya.example:80", "xn--mnchen-3ya.example"},
		{"a trailing dot", "example.com.", "example.com.:80", "example.com."},
		{"an address of IPv6", "[::1]", "[::1]:80", "[::1]"},
		{"an address of IPv6 without its port", "[::1]:", "[::1]:80", "[::1]"},
		{"an address of IPv6 with a zone, which is of this machine", "[fe80::1%25eth0]:81", "[fe80::1%eth0]:81", "[fe80::1]:81"},
	} {
		dialled := make(chan string, 1)
		h := senders.NewHTTP(senders.Options{Dial: func(ctx context.Context, network, to string) (net.Conn, error) {
			dialled <- to
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}})
		_, err := h.Send(t.Context(), sendertest.Execution, action(kind.Request{URI: "http://" + tt.written + "/"}))
		require.NoError(t, err, tt.name)
		require.Equal(t, tt.dialled, <-dialled, tt.name)
		require.Contains(t, <-heads, "\r\nHost: "+tt.sent+"\r\n", tt.name)
	}
}

// HTTP/2 takes blanks at the ends of a value for malformed (RFC 9113, section 8.2.1).
func TestBlanksAroundTheValueOfAHeaderAreNotSent(t *testing.T) {
	t.Parallel()
	for _, http2 := range []bool{false, true} {
		seen := make(chan http.Header, 1)
		s := serveSecured(t, http2, nil, func(_ http.ResponseWriter, r *http.Request) { seen <- r.Header })
		_, err := s.sender().Send(t.Context(), sendertest.Execution, action(kind.Request{URI: s.URL, Headers: job.Members{
			{Name: "X-Blanks", Value: " \ta b\t "}, {Name: "X-Empty", Value: ""}, {Name: "X-Blank", Value: " "},
		}}))
		require.NoError(t, err)
		got := <-seen
		require.Equal(t, []string{"a b"}, got.Values("X-Blanks"))
		require.Equal(t, []string{""}, got.Values("X-Empty"))
		require.Equal(t, []string{""}, got.Values("X-Blank"))
	}
}
