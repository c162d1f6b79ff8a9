package access_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/access"
)

// An authority issues certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	made := a.issue(&x509.Certificate{Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	a.cert, a.key = made.Leaf, made.PrivateKey.(*ecdsa.PrivateKey)
	return a
}

func (a *authority) issue(template *x509.Certificate) tls.Certificate {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(1), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	parent, signer := template, key
	if a.cert != nil {
		parent, signer = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	require.NoError(a.t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(a.t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

func TestACallerIsKnownByAVerifiedClientCertificate(t *testing.T) {
	t.Parallel()
	trusted, other := newAuthority(t), newAuthority(t)
	var got *access.Principal
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got, _ = access.Certificates{}.Authenticate(r)
	}))
	pool := x509.NewCertPool()
	pool.AddCert(trusted.cert)
	server.TLS = &tls.Config{ClientCAs: pool, ClientAuth: tls.VerifyClientCertIfGiven, MinVersion: tls.VersionTLS12}
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it refuses a certificate, which is wanted
	server.StartTLS()
	defer server.Close()
	call := func(shown ...tls.Certificate) error {
		got = nil
		transport := server.Client().Transport.(*http.Transport).Clone()
		transport.TLSClientConfig.Certificates = shown
		answer, err := (&http.Client{Transport: transport}).Get(server.URL)
		if err == nil {
			answer.Body.Close()
		}
		return err
	}
	id, err := url.Parse("spiffe://example/ci")
	require.NoError(t, err)
	template := func() *x509.Certificate {
		return &x509.Certificate{Subject: pkix.Name{CommonName: "ci", Organization: []string{"Example"}}, DNSNames: []string{"ci.internal"}, URIs: []*url.URL{id}}
	}
	require.NoError(t, call(trusted.issue(template())))
	require.Equal(t, &access.Principal{Kind: access.KindCertificate, Name: "CN=ci,O=Example", Selectors: []access.Selector{
		{Kind: access.KindCertificate, Value: "CN=ci,O=Example"}, {Kind: access.KindSAN, Value: "URI:spiffe://example/ci"}, {Kind: access.KindSAN, Value: "DNS:ci.internal"},
	}}, got)

	require.NoError(t, call())
	require.Nil(t, got, "no certificate is no credential")
	_ = call(other.issue(template())) // the handshake may fail, or the first request
	require.Nil(t, got, "an authority that is not trusted vouches for nobody")

	require.NoError(t, call(trusted.issue(&x509.Certificate{DNSNames: []string{"only.internal"}})))
	require.Equal(t, "DNS:only.internal", got.Name)
	_, err = access.Certificates{}.Authenticate(&http.Request{TLS: &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{{}}}}})
	require.ErrorContains(t, err, "neither a subject nor an alternative name")
	p, err := access.Certificates{}.Authenticate(&http.Request{TLS: &tls.ConnectionState{PeerCertificates: []*x509.Certificate{trusted.cert}}})
	require.NoError(t, err)
	require.Nil(t, p, "a certificate that was not verified says nothing")
}
