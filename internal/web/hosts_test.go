package web_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/internal/web"
)

func TestOnlyAllowedHostsAreAnswered(t *testing.T) {
	t.Parallel()
	named, err := web.ParseHosts("Jobs.Example.com.", "*.internal", "api", "10.1.2.3")
	require.NoError(t, err)
	for _, host := range []string{"127.0.0.1", "127.0.0.1:8080", "10.1.2.3", "[::1]", "[::1]:8080", "[fd00::1%25eth0]:80", "localhost", "LOCALHOST:8080", "localhost.", ""} {
		require.True(t, named.Allows(host), host)
		require.True(t, (*web.Hosts)(nil).Allows(host), host)
	}
	for _, host := range []string{"jobs.example.com", "JOBS.example.com:443", "jobs.example.com.:80", "a.internal", "b.a.internal:80", "api:8080"} {
		require.True(t, named.Allows(host), host)
		require.False(t, (*web.Hosts)(nil).Allows(host), host)
	}
	for _, host := range []string{
		"evil.example", "evil.example:8080", "internal", "evilinternal", "example.com", "jobs.example.com.evil.example", "127.0.0.1.evil.example",
		"localhost.evil.example", "evil.localhost", "2130706433", "0x7f.1", "127.1", "evil.example:8080:1", "a.internal/x", " localhost",
	} {
		require.False(t, named.Allows(host), host)
	}
}

func TestParseHostsListsEveryMistake(t *testing.T) {
	t.Parallel()
	_, err := web.ParseHosts("ok", "http://a", "a:80", "*", "a.*", "")
	require.EqualError(t, err, strings.Join([]string{
		`"http://a" is no host name such as jobs.example.com or *.example.com, without a port`,
		`"a:80" is no host name such as jobs.example.com or *.example.com, without a port`,
		`"*" is no host name such as jobs.example.com or *.example.com, without a port`,
		`"a.*" is no host name such as jobs.example.com or *.example.com, without a port`,
		`"" is no host name such as jobs.example.com or *.example.com, without a port`,
	}, "\n"))
}

func TestACallByAnotherNameIsMisdirected(t *testing.T) {
	t.Parallel()
	reached := false
	h := (*web.Hosts)(nil).Check(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	r := httptest.NewRequest(http.MethodPost, "http://evil.example:8080/", nil)
	r.Header.Set("Origin", "http://evil.example:8080")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	require.Equal(t, http.StatusMisdirectedRequest, w.Code)
	require.False(t, reached)
	var body struct {
		Error struct{ Code, Message string }
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
	require.Equal(t, "MisdirectedRequest", body.Error.Code)
	require.Equal(t, `This server does not go by the name "evil.example:8080", in the Host header. `+
		`Call it by its address, or have its operator start it with that name in --allowed-hosts.`, body.Error.Message)

	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8080/", nil))
	require.True(t, reached)
}
