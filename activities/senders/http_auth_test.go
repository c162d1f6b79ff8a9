package senders_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"software.sslmate.com/src/go-pkcs12"

	"almanac/activities/senders"
	"almanac/internal/sendertest"
	"almanac/job"
	"almanac/job/kind"
)

func TestBasicAuthentication(t *testing.T) {
	t.Parallel()
	s, requests := recording(t)
	basic := &kind.Authentication{Type: kind.AuthBasic, Username: "mö", Password: "pass:word"}
	for name, r := range map[string]kind.Request{
		"by itself":                            {URI: s.URL},
		"wins over the header of the author":   {URI: s.URL, Headers: job.Members{{Name: "authorization", Value: "Bearer mine"}}},
		"wins over what stands in the address": {URI: strings.Replace(s.URL, "//", "//me:mine@", 1)},
	} {
		r.Authentication = basic
		_, err := send(t, r)
		require.NoError(t, err, name)
		want := "Basic " + base64.StdEncoding.EncodeToString([]byte("mö:pass:word"))
		require.Equal(t, []string{want}, (<-requests).Header.Values("Authorization"), name)
	}
}

func TestBasicAuthenticationOfNoUser(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Header.Get("Authorization")+" "+r.Host)
	})
	for _, r := range []kind.Request{
		{URI: s.URL, Authentication: &kind.Authentication{Type: kind.AuthBasic, Password: "canary-token"}},
		{URI: strings.Replace(s.URL, "//", "//:canary-token@", 1)},
	} {
		message, err := send(t, r)
		require.NoError(t, err)
		require.Contains(t, message, " Body: Basic … 127.0.0.1:")
		requireNoCanary(t, message)
	}
}

// Some receivers take a key as the user, which is then what a host may not echo into the history.
func TestBasicAuthenticationWithoutAPassword(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]string{"in the authentication": "", "in the address": "canary-key:@", "in the address, without a colon": "canary-key@"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := make(chan string, 1)
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				seen <- r.Header.Get("Authorization")
				user, password, _ := r.BasicAuth()
				io.WriteString(w, user+":"+password+" "+r.Header.Get("Authorization"))
			})
			r := kind.Request{URI: strings.Replace(s.URL, "//", "//"+address, 1)}
			if address == "" {
				r.Authentication = &kind.Authentication{Type: kind.AuthBasic, Username: "canary-key", EmptyPassword: true}
			}
			message, err := send(t, r)
			require.NoError(t, err)
			require.Equal(t, "Basic "+base64.StdEncoding.EncodeToString([]byte("canary-key:")), <-seen)
			require.Contains(t, message, " Body: …: Basic …")
			requireNoCanary(t, message)
		})
	}
}

func TestAuthorizationInTheRequestItselfIsSent(t *testing.T) {
	t.Parallel()
	s, requests := recording(t)
	_, err := send(t, kind.Request{URI: s.URL, Headers: job.Members{{Name: "Authorization", Value: "Bearer mine"}}})
	require.NoError(t, err)
	require.Equal(t, []string{"Bearer mine"}, (<-requests).Header.Values("Authorization"))
	_, err = send(t, kind.Request{URI: strings.Replace(s.URL, "//", "//me:mine@", 1)})
	require.NoError(t, err)
	require.Equal(t, []string{"Basic bWU6bWluZQ=="}, (<-requests).Header.Values("Authorization"))
}

// clientCertificate returns an authentication with a new certificate, even if the name is the same.
func clientCertificate(t *testing.T, name string) *kind.Authentication {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	file, err := pkcs12.Modern2023.Encode(key, leaf, nil, "password of "+name)
	require.NoError(t, err)
	return &kind.Authentication{
		Type: kind.AuthClientCertificate, Pfx: base64.StdEncoding.EncodeToString(file), Password: "password of " + name,
	}
}

// A visit is the client and connection of a request.
type visit struct{ client, connection, protocol string }

// secured is a host that asks for client certificates.
type secured struct {
	*httptest.Server

	mu     sync.Mutex
	visits []visit
}

// serveSecured starts such a host, with or without HTTP/2.
func serveSecured(t *testing.T, http2 bool, c *tls.Config, h http.HandlerFunc) *secured {
	t.Helper()
	s := &secured{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := visit{connection: r.RemoteAddr, protocol: r.Proto}
		for _, c := range r.TLS.PeerCertificates {
			v.client = c.Subject.CommonName
		}
		s.mu.Lock()
		s.visits = append(s.visits, v)
		s.mu.Unlock()
		if h != nil {
			h(w, r)
		}
	}))
	s.EnableHTTP2, s.TLS, s.Config.ErrorLog = http2, c, quiet
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// sender returns a sender that trusts the host.
func (s *secured) sender() *senders.HTTP {
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return senders.NewHTTP(senders.Options{Guard: sendertest.Anywhere, RootCAs: roots})
}

func (s *secured) last() visit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.visits[len(s.visits)-1]
}

func TestClientCertificateIsShown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		http2    bool
		config   *tls.Config
		protocol string
	}{
		{"HTTP/2", true, &tls.Config{ClientAuth: tls.RequireAnyClientCert}, "HTTP/2.0"},
		{"HTTP/1.1", false, &tls.Config{ClientAuth: tls.RequireAnyClientCert}, "HTTP/1.1"},
		{"TLS 1.2", false, &tls.Config{ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12}, "HTTP/1.1"},
		{"host that names other authorities", true, &tls.Config{ClientAuth: tls.RequireAnyClientCert, ClientCAs: someAuthority(t)}, "HTTP/2.0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := serveSecured(t, tt.http2, tt.config, nil)
			_, err := s.sender().Send(t.Context(), sendertest.Execution, action(kind.Request{URI: s.URL, Method: "POST", Body: "x", Authentication: clientCertificate(t, "me")}))
			require.NoError(t, err)
			require.Equal(t, "me", s.last().client)
			require.Equal(t, tt.protocol, s.last().protocol)
		})
	}
}

func someAuthority(t *testing.T) *x509.CertPool {
	t.Helper()
	opened, err := clientCertificate(t, "authority").Certificate()
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(opened.Leaf)
	return pool
}

func TestConnectionsServeOneCertificateEach(t *testing.T) {
	t.Parallel()
	for _, http2 := range []bool{true, false} {
		s := serveSecured(t, http2, &tls.Config{ClientAuth: tls.RequestClientCert}, nil)
		h := s.sender()
		one, other := clientCertificate(t, "one"), clientCertificate(t, "other")
		copied := *one // as in another job
		connections := map[string]string{}
		for _, tt := range []struct {
			a    *kind.Authentication
			want string
		}{
			{nil, ""}, {one, "one"}, {other, "other"}, {nil, ""}, {&copied, "one"}, {other, "other"}, {one, "one"},
			{&kind.Authentication{Type: kind.AuthBasic, Username: "me"}, ""},
		} {
			_, err := h.Send(t.Context(), sendertest.Execution, action(kind.Request{URI: s.URL, Authentication: tt.a}))
			require.NoError(t, err)
			got := s.last()
			require.Equal(t, tt.want, got.client)
			if connections[tt.want] == "" {
				connections[tt.want] = got.connection
			}
			require.Equal(t, connections[tt.want], got.connection, "%q comes over one connection", tt.want)
		}
	}
}

func TestCertificatesUsedLongAgoAreForgotten(t *testing.T) {
	t.Parallel()
	closed := make(chan string, 1000)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.RemoteAddr) }))
	s.TLS, s.Config.ErrorLog = &tls.Config{ClientAuth: tls.RequireAnyClientCert}, quiet
	s.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			closed <- c.RemoteAddr().String()
		}
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	h := senders.NewHTTP(senders.Options{Guard: sendertest.Anywhere, RootCAs: roots})
	connection := func(a *kind.Authentication) string {
		message, err := h.Send(t.Context(), sendertest.Execution, action(kind.Request{URI: s.URL, Authentication: a}))
		require.NoError(t, err)
		_, body, _ := strings.Cut(message, " Body: ")
		return body
	}

	kept, first := clientCertificate(t, "kept"), clientCertificate(t, "first")
	keptConnection, firstConnection := connection(kept), connection(first)
	for range 63 {
		connection(clientCertificate(t, "more"))
		require.Equal(t, keptConnection, connection(kept), "what is used stays")
	}
	select {
	case got := <-closed:
		require.Equal(t, firstConnection, got)
	case <-time.After(30 * time.Second): // the transport would close it after 45 s
		require.Fail(t, "the connection is kept")
	}
	require.NotEqual(t, firstConnection, connection(first), "it is opened again")
}

func TestHostsThatDoNotAcceptTheClient(t *testing.T) {
	t.Parallel()
	const ended = "TLS: the host ended the handshake: "
	// With TLS 1.3 the request may leave before the host sees the certificate. If the host then closes
	// the connection unread, its reason may get lost.
	const lost = "the host reset the connection; it may have read the request"
	demanding := &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	refusing := &tls.Config{ClientAuth: tls.RequireAnyClientCert, VerifyPeerCertificate: func([][]byte, [][]*x509.Certificate) error {
		return errors.New("unwanted")
	}}
	for _, tt := range []struct {
		name    string
		config  *tls.Config
		version uint16
		a       *kind.Authentication
		want    []string // one of these
	}{
		{"no certificate, TLS 1.2", demanding, tls.VersionTLS12, nil, []string{ended + "handshake failure"}},
		{"no certificate, TLS 1.3", demanding, tls.VersionTLS13, nil, []string{ended + "certificate required", lost}},
		{"unwanted certificate, TLS 1.2", refusing, tls.VersionTLS12, clientCertificate(t, "me"), []string{ended + "bad certificate"}},
		{"unwanted certificate, TLS 1.3", refusing, tls.VersionTLS13, clientCertificate(t, "me"), []string{ended + "bad certificate", lost}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			config := tt.config.Clone()
			config.MinVersion, config.MaxVersion = tt.version, tt.version
			s := serveSecured(t, false, config, nil)
			_, err := s.sender().Send(t.Context(), sendertest.Execution, action(kind.Request{URI: s.URL, Authentication: tt.a}))
			require.Error(t, err)
			require.Contains(t, tt.want, err.Error())
			sendertest.RequirePermanent(t, false, err)
		})
	}
}

func TestAuthenticationsThatCannotBeUsedFailPermanently(t *testing.T) {
	t.Parallel()
	good := clientCertificate(t, "me")
	wrongPassword := *good
	wrongPassword.Password = "topsecret"
	for _, tt := range []struct {
		name, scheme string
		a            *kind.Authentication
		want         string
	}{
		{"wrong password", "https", &wrongPassword, "the client certificate cannot be read; allowed: the password of the PFX file"},
		{"no PFX file", "https", &kind.Authentication{Type: kind.AuthClientCertificate, Pfx: "topsecret"},
			"the client certificate cannot be read; allowed: a PFX file (PKCS #12, in base64) of one certificate, its private key and at most its chain"},
		{"certificate without TLS", "http", good, "a client certificate can only be shown over https, which the uri is to begin with"},
		{"unknown type", "http", &kind.Authentication{Type: "Kerberos", Password: "topsecret"}, `"Kerberos" is not a type of authentication`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for range 2 { // the second time with the cached client
				message, err := send(t, kind.Request{URI: tt.scheme + "://host.invalid/?sig=topsecret", Authentication: tt.a})
				require.EqualError(t, err, tt.want)
				sendertest.RequirePermanent(t, true, err)
				require.Equal(t, "Http Action - Request to host 'host.invalid' cannot be authenticated: "+tt.want, message)
			}
		})
	}
}

func TestRequestWithACertificateIsNotRepeatedOnALostConnection(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	s := serveSecured(t, false, &tls.Config{ClientAuth: tls.RequireAnyClientCert}, func(http.ResponseWriter, *http.Request) {
		if requests.Add(1) == 1 {
			return // leaves a reusable connection
		}
		panic(http.ErrAbortHandler) // closes the connection without a response
	})
	h := s.sender()
	a := action(kind.Request{URI: s.URL, Method: "PUT", Body: "x", Authentication: clientCertificate(t, "me")})
	_, err := h.Send(t.Context(), sendertest.Execution, a)
	require.NoError(t, err)
	_, err = h.Send(t.Context(), sendertest.Execution, a)
	require.EqualError(t, err, "the host closed the connection before its answer was complete; it may have read the request")
	require.EqualValues(t, 2, requests.Load(), "the second request is seen once")
}
