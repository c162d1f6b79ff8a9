package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAHealthCheckSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		status int
		body   string
		want   string // of the error; "": ready
	}{
		{"ready", http.StatusOK, `{"status":"ready"}`, ""},
		{"no worker", http.StatusServiceUnavailable, `{"status":"not ready","missing":"no worker polls"}`, "not ready: no worker polls"},
		{"another server", http.StatusOK, "hello", "answers 200 OK, and not as Almanac does"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/readyz" {
					t.Error(r.URL.Path)
				}
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.body))
			}))
			defer server.Close()
			_, port, err := net.SplitHostPort(server.Listener.Addr().String())
			require.NoError(t, err)
			out, err := almanac(t, "", map[string]string{"ALMANAC_LISTEN": "0.0.0.0:" + port}, "healthcheck")
			if tt.want == "" {
				require.NoError(t, err)
				require.Equal(t, "ready\n", out)
				return
			}
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestAHealthCheckFailsIfNothingListens(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	_, err = almanac(t, "", nil, "healthcheck", "--live", "--listen", address)
	require.ErrorContains(t, err, "nothing answers: ")
}
