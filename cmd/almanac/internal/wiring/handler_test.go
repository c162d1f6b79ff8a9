package wiring

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/cmd/almanac/internal/settings"
	"almanac/internal/build"
	"almanac/internal/emulators"
	"almanac/job"
	"almanac/job/listing"
)

// loaded returns a process of a command with variables and arguments, whose log is discarded.
func loaded(t *testing.T, command string, variables map[string]string, args ...string) *Process {
	t.Helper()
	cmd := &cobra.Command{Use: command}
	c := settings.For(cmd, func(name string) (string, bool) {
		value, ok := variables[name]
		return value, ok
	})
	require.NoError(t, cmd.ParseFlags(args))
	require.NoError(t, c.Load())
	p, err := newProcess(c, build.Info{})
	require.NoError(t, err)
	p.Log = slog.New(slog.DiscardHandler)
	return p
}

// written returns the name of a file with a text.
func written(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// newCertificate writes a certificate and its key, and returns the flags that name them.
func newCertificate(t *testing.T) (flags []string) {
	t.Helper()
	cert, key, err := emulators.WriteCertificate(t.TempDir(), "jobs.example.com")
	require.NoError(t, err)
	return []string{"--tls-cert", cert, "--tls-key", key}
}

// A going Scheduler has a list with further pages, and operations that continue.
type going struct{ api.Scheduler }

func (going) Jobs(context.Context, job.CollectionKey, listing.Page) ([]job.Job, string, error) {
	return nil, "more", nil
}

func (going) DisableCollection(context.Context, job.CollectionKey, job.Promise) (*job.Operation, error) {
	return &job.Operation{ID: "1"}, nil
}

func TestLinksBeginWithThePublicURL(t *testing.T) {
	t.Parallel()
	for flag, base := range map[string]string{
		"":                              "http://127.0.0.1:8080",
		"https://jobs.example.com":      "https://jobs.example.com",
		"https://example.com:444/jobs/": "https://example.com:444/jobs",
	} {
		p := loaded(t, "api", nil, "--public-url", flag)
		h := p.Handler(going{})
		send := func(method, path string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(method, "http://127.0.0.1:8080"+path, nil))
			return w
		}
		require.Contains(t, send(http.MethodGet, "/jobCollections/c/jobs").Body.String(), `"nextLink":"`+base+`/jobCollections/c/jobs?`)
		accepted := send(http.MethodPost, "/jobCollections/c/disable")
		require.Equal(t, http.StatusAccepted, accepted.Code)
		require.Equal(t, base+"/jobCollections/c/operationResults/1", accepted.Header().Get("Location"))
		require.Equal(t, []string{base + "/jobCollections/c/operations/1"}, map[string][]string(accepted.Header())["Azure-AsyncOperation"])
	}
}

func TestLinksAreHTTPSWithTLS(t *testing.T) {
	t.Parallel()
	flags := newCertificate(t)
	p := loaded(t, "api", nil, flags...)
	h := p.Handler(going{})
	r := httptest.NewRequest(http.MethodGet, "https://127.0.0.1:8443/jobCollections/c/jobs", nil)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	require.Contains(t, w.Body.String(), `"nextLink":"https://127.0.0.1:8443/jobCollections/c/jobs?`)
	w = httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "https://127.0.0.1:8443/jobCollections/c/disable", nil))
	require.Equal(t, "https://127.0.0.1:8443/jobCollections/c/operationResults/1", w.Header().Get("Location"))
}

func TestTheLogHasTheAddressOfTheCallerBehindATrustedProxy(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ args, want string }{
		"trusted":     {"--trusted-proxies=10.0.0.0/8", "203.0.113.5"},
		"not trusted": {"--trusted-proxies=172.16.0.1", "10.1.2.3"},
		"none":        {"--trusted-proxies=", "10.1.2.3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := loaded(t, "api", nil, tt.args)
			var text strings.Builder
			p.Log = slog.New(slog.NewTextHandler(&text, nil))
			r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8080/", nil)
			r.RemoteAddr = "10.1.2.3:4000"
			r.Header["X-Forwarded-For"] = []string{"127.0.0.1", "203.0.113.5"} // the first line was sent by the caller
			p.Handler(going{}).ServeHTTP(httptest.NewRecorder(), r)
			require.Contains(t, text.String(), " client="+tt.want+" ")
		})
	}
}

func TestTheAuditLogIsAFileOrStandardOutput(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	p := loaded(t, "api", nil, "--audit-log", file)
	r := httptest.NewRequest(http.MethodGet, "http://evil.example/jobCollections", nil)
	p.Handler(going{}).ServeHTTP(httptest.NewRecorder(), r)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(text), `"path":"/jobCollections","action":"","status":421,"code":"MisdirectedRequest"`)

	p = loaded(t, "api", nil, "--audit-log", "stdout")
	require.NotNil(t, p.Refusals)
}
