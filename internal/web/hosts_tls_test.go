package web_test

import (
	"bytes"
	"crypto/tls"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"almanac/internal/web"
)

// askHTTP2 sends a request of HTTP/2 with header fields of its own, and returns the status.
func askHTTP2(t *testing.T, address string, fields ...hpack.HeaderField) string {
	t.Helper()
	c, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}}).DialContext(t.Context(), "tcp", address)
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Write([]byte(http2.ClientPreface))
	require.NoError(t, err)
	framer := http2.NewFramer(c, c)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	require.NoError(t, framer.WriteSettings())
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, f := range append([]hpack.HeaderField{{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "https"}, {Name: ":path", Value: "/"}}, fields...) {
		require.NoError(t, encoder.WriteField(f))
	}
	require.NoError(t, framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true}))
	for {
		frame, err := framer.ReadFrame()
		require.NoError(t, err)
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			return f.PseudoValue("status")
		case *http2.RSTStreamFrame:
			return f.ErrCode.String()
		}
	}
}

func TestBothNamesOfARequestOfHTTP2HaveToBeAllowed(t *testing.T) {
	t.Parallel()
	c, err := web.LoadCertificates(pair(t, t.TempDir(), "jobs.example.com"))
	require.NoError(t, err)
	hosts, err := web.ParseHosts("jobs.example.com")
	require.NoError(t, err)
	var seen []string
	address := served(t, c.Server(), hosts.Check(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = append(seen, r.Host) })))
	authority := func(name string) hpack.HeaderField { return hpack.HeaderField{Name: ":authority", Value: name} }
	host := func(name string) hpack.HeaderField { return hpack.HeaderField{Name: "host", Value: name} }
	require.Equal(t, "200", askHTTP2(t, address, authority("jobs.example.com")))
	require.Equal(t, "200", askHTTP2(t, address, host("jobs.example.com")))
	require.Equal(t, "200", askHTTP2(t, address, authority("jobs.example.com"), host("jobs.example.com")))
	require.Equal(t, "421", askHTTP2(t, address, authority("evil.example")))
	require.Equal(t, "421", askHTTP2(t, address, host("evil.example")))
	require.Equal(t, "421", askHTTP2(t, address, authority("evil.example"), host("jobs.example.com")))
	require.Equal(t, "421", askHTTP2(t, address, authority("jobs.example.com"), host("evil.example")))
	require.Equal(t, []string{"jobs.example.com", "jobs.example.com", "jobs.example.com"}, seen)
}

func TestARebindingNameIsRefusedOverTLS(t *testing.T) {
	t.Parallel()
	c, err := web.LoadCertificates(pair(t, t.TempDir(), "jobs.example.com"))
	require.NoError(t, err)
	address := served(t, c.API(), (*web.Hosts)(nil).Check(ok))
	for _, http1 := range []bool{false, true} {
		config := &tls.Config{InsecureSkipVerify: true, ServerName: "jobs.example.com"}
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: !http1, DisableKeepAlives: true}}
		for name, want := range map[string]int{"evil.example": http.StatusMisdirectedRequest, "localhost": http.StatusOK} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+address, http.NoBody)
			require.NoError(t, err)
			r.Host = name
			r.Header.Set("Origin", "https://"+name)
			resp, err := client.Do(r)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, want, resp.StatusCode, name)
		}
	}
}

func TestAnOversizedHeaderIsRefusedOverTLS(t *testing.T) {
	t.Parallel()
	c, err := web.LoadCertificates(pair(t, t.TempDir(), "jobs.example.com"))
	require.NoError(t, err)
	reached := false
	address := served(t, c.Server(), http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	for _, http1 := range []bool{false, true} {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: !http1, DisableKeepAlives: true}}
		for _, size := range []int{80 << 10, 1 << 20} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address, http.NoBody)
			require.NoError(t, err)
			r.Header.Set("X-Padding", strings.Repeat("a", size))
			resp, err := client.Do(r)
			if err == nil { // a server may also end the connection
				require.NoError(t, resp.Body.Close())
				require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, resp.StatusCode)
			}
			require.False(t, reached)
		}
	}
}
