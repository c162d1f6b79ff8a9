package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheAPIAnswersToItsOwnNamesOnly(t *testing.T) {
	t.Parallel()
	variables := map[string]string{"ALMANAC_ALLOWED_HOSTS": "api,*.internal", "TEMPORAL_ADDRESS": "127.0.0.1:1"}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	lines, out := io.Pipe()
	failed := make(chan error, 1)
	go func() {
		lookup := func(name string) (string, bool) { v, ok := variables[name]; return v, ok }
		failed <- run(ctx, []string{"api", "--listen", "127.0.0.1:0", "--public-url", "https://jobs.example.com", "--log-level", "error"},
			lookup, strings.NewReader(""), out, io.Discard)
		_ = out.Close()
	}()
	read := bufio.NewScanner(lines)
	require.True(t, read.Scan())
	address := regexp.MustCompile(`http://(\S+)`).FindStringSubmatch(read.Text())
	require.NotEmpty(t, address, read.Text())
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	for host, want := range map[string]int{
		address[1]: http.StatusOK, "localhost": http.StatusOK, "jobs.example.com": http.StatusOK, "api:8080": http.StatusOK, "a.internal": http.StatusOK,
		"evil.example:8080": http.StatusMisdirectedRequest, "example.com": http.StatusMisdirectedRequest,
	} {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address[1]+"/healthz", http.NoBody)
		require.NoError(t, err)
		r.Host = host
		r.Header.Set("Origin", "http://"+host)
		resp, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, want, resp.StatusCode, "%s: %s", host, body)
		if want != http.StatusOK {
			require.Contains(t, string(body), "--allowed-hosts")
		}
	}
	stop()
	require.NoError(t, <-failed)

	_, err := almanac(t, "", nil, "api", "--allowed-hosts", "http://x")
	require.ErrorContains(t, err, `--allowed-hosts: "http://x" is no host name`)
	_, err = almanac(t, "", nil, "api", "--listen", "0.0.0.0:8080")
	require.ErrorContains(t, err, "--listen: 0.0.0.0:8080 can be reached by other machines")
}
