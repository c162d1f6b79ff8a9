package egress_test

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/internal/egress"
)

// An authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *rsa.PrivateKey
}

func newKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	return key
}

// sign returns the certificate that a template describes; by is nil for one that signs itself.
func sign(t *testing.T, template x509.Certificate, key *rsa.PrivateKey, by *authority) *x509.Certificate {
	t.Helper()
	template.SerialNumber, template.BasicConstraintsValid = big.NewInt(time.Now().UnixNano()), true
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(time.Hour)
	}
	parent, signer := &template, key
	if by != nil {
		parent, signer = by.certificate, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, parent, key.Public(), signer)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return certificate
}

// withSHA1 returns a certificate signed again with SHA-1, which package x509 no longer does.
func withSHA1(t *testing.T, c *x509.Certificate, by *authority) *x509.Certificate {
	t.Helper()
	sha1RSA, sha256RSA := []byte("\x2a\x86\x48\x86\xf7\x0d\x01\x01\x05"), []byte("\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b")
	require.Equal(t, x509.SHA256WithRSA, c.SignatureAlgorithm)
	signed := bytes.ReplaceAll(c.RawTBSCertificate, sha256RSA, sha1RSA)
	digest := crypto.SHA1.New()
	digest.Write(signed)
	signature, err := rsa.SignPKCS1v15(nil, by.key, crypto.SHA1, digest.Sum(nil))
	require.NoError(t, err)
	der := bytes.ReplaceAll(c.Raw, c.RawTBSCertificate, signed)
	der = bytes.ReplaceAll(bytes.ReplaceAll(der, sha256RSA, sha1RSA), c.Signature, signature)
	weak, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	require.Equal(t, x509.SHA1WithRSA, weak.SignatureAlgorithm)
	return weak
}

// Go calls each certificate whose signature it does not accept one of an unknown authority.
func TestACertificateThatIsNotAccepted(t *testing.T) {
	t.Parallel()
	newAuthority := func(name string) *authority {
		key := newKey(t)
		template := x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true, KeyUsage: x509.KeyUsageCertSign}
		return &authority{sign(t, template, key, nil), key}
	}
	root, namesake, stranger := newAuthority("Old Root"), newAuthority("Old Root"), newAuthority("Stranger")
	key := newKey(t)
	leaf := x509.Certificate{Subject: pkix.Name{CommonName: "host"}, DNSNames: []string{"target.example"}}
	expired := leaf
	expired.NotAfter = time.Now().Add(-time.Minute)
	for _, tt := range []struct {
		name        string
		certificate *x509.Certificate
		want        string
	}{
		{"an unknown authority", sign(t, leaf, key, stranger), "TLS: the certificate is signed by an authority that is not trusted here"},
		{"SHA-1", withSHA1(t, sign(t, leaf, key, root), root), "TLS: the certificate is not accepted: cannot verify signature: insecure algorithm SHA1-RSA (signed by 'Old Root')"},
		{"an authority of the same name", sign(t, leaf, key, namesake), "TLS: the certificate is not accepted: crypto/rsa: verification error (signed by 'Old Root')"},
		{"expired", sign(t, expired, key, root), "TLS: the certificate is not accepted: certificate has expired or is not yet valid: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewUnstartedServer(http.NotFoundHandler())
			s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{tt.certificate.Raw}, PrivateKey: key}}}
			s.Config.ErrorLog = log.New(io.Discard, "", 0)
			s.StartTLS()
			t.Cleanup(s.Close)
			roots := x509.NewCertPool()
			roots.AddCert(root.certificate)
			c, err := tls.Dial("tcp", s.Listener.Addr().String(), &tls.Config{RootCAs: roots, ServerName: "target.example"})
			if err == nil {
				c.Close()
			}
			require.Contains(t, egress.Reason(err), tt.want)
		})
	}
}
