package web_test

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/internal/emulators"
	"almanac/internal/web"
)

// pair writes a new self-signed certificate for a name and its key to a directory.
func pair(t *testing.T, dir, name string) web.CertificateFiles {
	t.Helper()
	cert, key, err := emulators.WriteCertificate(dir, name)
	require.NoError(t, err)
	return web.CertificateFiles{Cert: cert, Key: key}
}

// move replaces the files to with the files from.
func move(t *testing.T, from, to web.CertificateFiles) {
	t.Helper()
	require.NoError(t, os.Rename(from.Cert, to.Cert))
	require.NoError(t, os.Rename(from.Key, to.Key))
}

// served starts a server of h with TLS, and returns its address.
func served(t *testing.T, config *tls.Config, h http.Handler) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := web.NewServer(h)
	go func() { _ = web.Serve(s, l, config, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() { s.Close() })
	return l.Addr().String()
}

// caller returns a client that takes any certificate and makes a connection for each request.
func caller(config *tls.Config) *http.Client {
	config.InsecureSkipVerify = true
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true, DisableKeepAlives: true}}
}

// shown returns the name in the certificate that a server shows.
func shown(t *testing.T, address string) string {
	t.Helper()
	resp, err := caller(&tls.Config{}).Get("https://" + address)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.TLS.PeerCertificates[0].Subject.CommonName
}

var ok = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})

func TestServersSpeakHTTP2WithTLS12OrNewer(t *testing.T) {
	t.Parallel()
	c, err := web.LoadCertificates(pair(t, t.TempDir(), "one"))
	require.NoError(t, err)
	for name, config := range map[string]*tls.Config{"servers": c.Server(), "API": c.API()} {
		address := served(t, config, ok)
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			resp, err := caller(&tls.Config{MaxVersion: version}).Get("https://" + address)
			require.NoError(t, err, name)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, 2, resp.ProtoMajor, name)
			require.Equal(t, version, resp.TLS.Version, name)
		}
		_, err = caller(&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}).Get("https://" + address)
		require.ErrorContains(t, err, "protocol version", name)
	}
}

func TestAnUnencryptedRequestToATLSServerIsRefused(t *testing.T) {
	t.Parallel()
	c, err := web.LoadCertificates(pair(t, t.TempDir(), "one"))
	require.NoError(t, err)
	reached := false
	address := served(t, c.Server(), http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	resp, err := http.Get("http://" + address)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusBadRequest, resp.StatusCode)
	require.False(t, reached)
}

func TestCertificatesThatCannotBeUsedStopTheStart(t *testing.T) {
	t.Parallel()
	one, other := pair(t, t.TempDir(), "one"), pair(t, t.TempDir(), "other")
	empty := filepath.Join(t.TempDir(), "empty.pem")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for want, files := range map[string]web.CertificateFiles{
		"private key does not match public key": {Cert: one.Cert, Key: other.Key},
		"failed to find any PEM data":           {Cert: empty, Key: one.Key},
		"no such file":                          {Cert: one.Cert + "x", Key: one.Key},
		"empty.pem has no certificate in PEM":   {Cert: one.Cert, Key: one.Key, ClientCA: empty},
	} {
		_, err := web.LoadCertificates(files)
		require.ErrorContains(t, err, want)
	}
}

func TestANewCertificateIsShownWithoutARestart(t *testing.T) {
	t.Parallel()
	files := pair(t, t.TempDir(), "old")
	c, err := web.LoadCertificates(files)
	require.NoError(t, err)
	address := served(t, c.Server(), ok)
	require.Equal(t, "old", shown(t, address))
	changed, err := c.Reload()
	require.NoError(t, err)
	require.False(t, changed)

	move(t, pair(t, t.TempDir(), "new"), files)
	changed, err = c.Reload()
	require.NoError(t, err)
	require.True(t, changed)
	require.Equal(t, "new", shown(t, address))
}

func TestABrokenCertificateLeavesTheLastGoodOne(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(f web.CertificateFiles) error{
		"the certificate of another key": func(f web.CertificateFiles) error { return os.Rename(pair(t, t.TempDir(), "x").Cert, f.Cert) },
		"the key of another certificate": func(f web.CertificateFiles) error { return os.Rename(pair(t, t.TempDir(), "x").Key, f.Key) },
		"no PEM":                         func(f web.CertificateFiles) error { return os.WriteFile(f.Cert, []byte("certificate"), 0o600) },
		"half a file":                    func(f web.CertificateFiles) error { return os.Truncate(f.Cert, 100) },
		"no certificate":                 func(f web.CertificateFiles) error { return os.Remove(f.Cert) },
		"no key":                         func(f web.CertificateFiles) error { return os.Remove(f.Key) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := pair(t, t.TempDir(), "good")
			c, err := web.LoadCertificates(files)
			require.NoError(t, err)
			address := served(t, c.Server(), ok)
			require.NoError(t, spoil(files))
			_, err = c.Reload()
			require.Error(t, err)
			require.Equal(t, "good", shown(t, address))

			move(t, pair(t, t.TempDir(), "renewed"), files)
			_, err = c.Reload()
			require.NoError(t, err)
			require.Equal(t, "renewed", shown(t, address))
		})
	}
}

func TestFollowLogsEachChangeAndEachMistakeOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		files := pair(t, t.TempDir(), "old")
		c, err := web.LoadCertificates(files)
		require.NoError(t, err)
		var text strings.Builder
		go c.Follow(t.Context(), slog.New(slog.NewTextHandler(&text, nil)))
		lines := func() (found []string) {
			time.Sleep(3300 * time.Millisecond) // in a bubble, whose time passes at once
			synctest.Wait()
			for line := range strings.Lines(text.String()) {
				found = append(found, line)
			}
			text.Reset()
			return found
		}
		require.Empty(t, lines())
		require.NoError(t, os.WriteFile(files.Cert, []byte("spoilt"), 0o600))
		got := lines()
		require.Len(t, got, 1)
		require.Contains(t, got[0], "level=WARN")
		require.Contains(t, got[0], files.Cert)
		move(t, pair(t, t.TempDir(), "new"), files)
		got = lines()
		require.Len(t, got, 1)
		require.Contains(t, got[0], "the TLS certificate was loaded again")
		require.Empty(t, lines())
	})
}

func TestNoRequestFailsWhileCertificatesAreReplaced(t *testing.T) {
	t.Parallel()
	files := pair(t, t.TempDir(), "0")
	c, err := web.LoadCertificates(files)
	require.NoError(t, err)
	address := served(t, c.API(), ok)
	kept := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
	done := make(chan struct{})
	var running sync.WaitGroup
	for _, client := range []*http.Client{kept, caller(&tls.Config{}), caller(&tls.Config{})} {
		running.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				resp, err := client.Get("https://" + address)
				if err != nil {
					t.Error(err)
					return
				}
				resp.Body.Close()
			}
		})
	}
	for range 20 {
		next := pair(t, t.TempDir(), "1")
		require.NoError(t, os.Rename(next.Cert, files.Cert))
		_, err = c.Reload()
		require.Error(t, err, "the certificate does not fit the key that is still there")
		require.NoError(t, os.Rename(next.Key, files.Key))
		_, err = c.Reload()
		require.NoError(t, err)
	}
	close(done)
	running.Wait()
	kept.CloseIdleConnections()
}

func TestACertificateOfACallerIsOptionalAndChecked(t *testing.T) {
	t.Parallel()
	files, callers, strangers := pair(t, t.TempDir(), "server"), pair(t, t.TempDir(), "ci"), pair(t, t.TempDir(), "stranger")
	files.ClientCA = callers.Cert // self-signed: it is its own authority
	c, err := web.LoadCertificates(files)
	require.NoError(t, err)
	var verified []string
	remember := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		verified = nil
		for _, chain := range r.TLS.VerifiedChains {
			verified = append(verified, chain[0].Subject.CommonName)
		}
	})
	call := func(address string, files *web.CertificateFiles, version uint16) error {
		config := &tls.Config{MaxVersion: version}
		if files != nil {
			own, err := tls.LoadX509KeyPair(files.Cert, files.Key)
			require.NoError(t, err)
			// Also one that the server does not ask for.
			config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &own, nil }
		}
		resp, err := caller(config).Get("https://" + address)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	api, other := served(t, c.API(), remember), served(t, c.Server(), remember)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		require.NoError(t, call(api, nil, version))
		require.Empty(t, verified)
		require.NoError(t, call(api, &callers, version))
		require.Equal(t, []string{"ci"}, verified)
		require.Error(t, call(api, &strangers, version))
		require.NoError(t, call(other, &strangers, version), "it does not ask for certificates")
		require.Empty(t, verified)
	}
}

func TestAnAuthorityThatIsTakenAwayEndsResumedSessionsToo(t *testing.T) {
	t.Parallel()
	files, callers := pair(t, t.TempDir(), "server"), pair(t, t.TempDir(), "ci")
	pem, err := os.ReadFile(callers.Cert)
	require.NoError(t, err)
	files.ClientCA = filepath.Join(t.TempDir(), "authorities.pem")
	require.NoError(t, os.WriteFile(files.ClientCA, pem, 0o600))
	c, err := web.LoadCertificates(files)
	require.NoError(t, err)
	address := served(t, c.API(), ok)
	own, err := tls.LoadX509KeyPair(callers.Cert, callers.Key)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	server, err := os.ReadFile(files.Cert)
	require.NoError(t, err)
	roots.AppendCertsFromPEM(server)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
		RootCAs: roots, ServerName: "server", ClientSessionCache: tls.NewLRUClientSessionCache(8),
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &own, nil },
	}}}
	for range 3 {
		resp, err := client.Get("https://" + address)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
	}
	other, err := os.ReadFile(pair(t, t.TempDir(), "other").Cert)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(files.ClientCA, other, 0o600))
	_, err = c.Reload()
	require.NoError(t, err)
	_, err = client.Get("https://" + address)
	require.Error(t, err)
}
