package access_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
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
	made := a.issue(&x509.Certificate{Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign})
	a.cert, a.key = made.Leaf, made.PrivateKey.(*ecdsa.PrivateKey)
	return a
}

func (a *authority) issue(template *x509.Certificate) tls.Certificate {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	if template.SerialNumber == nil {
		template.SerialNumber = big.NewInt(1)
	}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
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
	signer := access.AuthorityOf(trusted.cert)
	require.Equal(t, &access.Principal{Kind: access.KindCertificate, Name: "CN=ci,O=Example", Issuer: signer.String(), Selectors: []access.Selector{
		{Kind: access.KindCertificate, Issuer: signer.ID, Value: "CN=ci,O=Example"}, {Kind: access.KindSAN, Issuer: signer.ID, Value: "URI:spiffe://example/ci"},
		{Kind: access.KindSAN, Issuer: signer.ID, Value: "DNS:ci.internal"},
	}}, got)
	require.Regexp(t, `^certificate:CN=ci,O=Example \(CN=authority sha256:[0-9a-f]{16}\)$`, got.ID())

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

// verified returns a request over a connection whose listener has verified certificates.
func verified(chains ...[]*x509.Certificate) *http.Request {
	return &http.Request{TLS: &tls.ConnectionState{PeerCertificates: chains[0], VerifiedChains: chains}}
}

func (a *authority) holder(t *testing.T, shown *x509.Certificate) *access.Principal {
	t.Helper()
	p, err := access.Certificates{}.Authenticate(verified([]*x509.Certificate{shown, a.cert}))
	require.NoError(t, err)
	return p
}

func TestTwoAuthoritiesThatGiveTheSameNamesVouchForTwoCallers(t *testing.T) {
	t.Parallel()
	one, two := newAuthority(t), newAuthority(t) // of the same name, too
	template := func() *x509.Certificate {
		return &x509.Certificate{Subject: pkix.Name{CommonName: "ci"}, DNSNames: []string{"ci.internal"}}
	}
	a, b := one.holder(t, one.issue(template()).Leaf), two.holder(t, two.issue(template()).Leaf)
	require.NotEqual(t, a.ID(), b.ID())
	for i := range a.Selectors {
		require.NotContains(t, b.Selectors, a.Selectors[i])
	}
	file := func(issuer string, authorities ...access.Authority) (*access.Policy, error) {
		return access.ParsePolicy([]byte(`assignments: [{principal: {certificate: CN=ci`+issuer+`}, role: owner, scope: /}]`), access.FileOptions{Authorities: authorities})
	}
	first, second := access.AuthorityOf(one.cert), access.AuthorityOf(two.cert)
	policy, err := file("", first)
	require.NoError(t, err)
	require.Equal(t, access.Owner, policy.For(a).Role(access.Everything))
	require.Zero(t, policy.For(b).Role(access.Everything), "the assignment is for the authority that was the only one")

	_, err = file("", first, second)
	require.ErrorContains(t, err, "principal.issuer")
	_, err = file(", issuer: CN=authority", first, second)
	require.ErrorContains(t, err, second.ID, "the error has what tells them apart")
	policy, err = file(", issuer: "+second.ID, first, second)
	require.NoError(t, err)
	require.Zero(t, policy.For(a).Role(access.Everything))
	require.Equal(t, access.Owner, policy.For(b).Role(access.Everything))
	_, err = file(", issuer: CN=other", first)
	require.ErrorContains(t, err, `"CN=other" is no authority in --client-ca`)
	_, err = file("")
	require.ErrorContains(t, err, "no --client-ca is given")

	cross, err := access.Certificates{}.Authenticate(verified([]*x509.Certificate{one.issue(template()).Leaf, one.cert}, []*x509.Certificate{one.issue(template()).Leaf, two.cert}))
	require.NoError(t, err)
	require.Len(t, cross.Selectors, 4, "both authorities vouch for it")
}

func TestAFileOfAuthoritiesNamesEachKeyOnce(t *testing.T) {
	t.Parallel()
	one, two := newAuthority(t), newAuthority(t)
	var text []byte
	for _, a := range []*authority{one, two, one} {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})...)
	}
	all, err := access.ParseAuthorities(text)
	require.NoError(t, err)
	require.Equal(t, []access.Authority{access.AuthorityOf(one.cert), access.AuthorityOf(two.cert)}, all)
	_, err = access.ParseAuthorities([]byte("nothing"))
	require.Error(t, err)
}

func TestSubjectsThatDifferAreTwoCallers(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	attribute := func(oid asn1.ObjectIdentifier, value any) pkix.AttributeTypeAndValue {
		return pkix.AttributeTypeAndValue{Type: oid, Value: value}
	}
	cn, o, ou := asn1.ObjectIdentifier{2, 5, 4, 3}, asn1.ObjectIdentifier{2, 5, 4, 10}, asn1.ObjectIdentifier{2, 5, 4, 11}
	raw := func(tag int, text string) asn1.RawValue { return asn1.RawValue{Tag: tag, Bytes: []byte(text)} }
	names := map[string]pkix.RDNSequence{
		"CN=ci,O=Example":       {{attribute(o, "Example")}, {attribute(cn, "ci")}},
		"O=Example,CN=ci":       {{attribute(cn, "ci")}, {attribute(o, "Example")}},
		"CN=ci+O=Example":       {{attribute(cn, "ci"), attribute(o, "Example")}},
		`CN=ci\,O=Example`:      {{attribute(cn, "ci,O=Example")}},
		"OU=a,OU=b":             {{attribute(ou, "b")}, {attribute(ou, "a")}},
		"OU=b,OU=a":             {{attribute(ou, "a")}, {attribute(ou, "b")}},
		"OU=a+OU=b":             {{attribute(ou, "a"), attribute(ou, "b")}},
		"CN=#1e0400630069":      {{attribute(cn, raw(asn1.TagBMPString, "\x00c\x00i"))}},
		"CN=#14026369":          {{attribute(cn, raw(asn1.TagT61String, "ci"))}},
		`CN=\#14026369`:         {{attribute(cn, "#14026369")}},
		`CN=\ ci\ `:             {{attribute(cn, " ci ")}},
		`CN=ci\0a`:              {{attribute(cn, raw(asn1.TagUTF8String, "ci\n"))}},
		"1.2.3.4=#0c026369":     {{attribute(asn1.ObjectIdentifier{1, 2, 3, 4}, raw(asn1.TagUTF8String, "ci"))}},
		"CN=täglich":            {{attribute(cn, "täglich")}},
		"emailAddress=a@b.test": {{attribute(asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 1}, raw(asn1.TagIA5String, "a@b.test"))}},
	}
	for want, sequence := range names {
		der, err := asn1.Marshal(sequence)
		require.NoError(t, err)
		shown := a.issue(&x509.Certificate{RawSubject: der}).Leaf
		require.Equal(t, want, a.holder(t, shown).Name)
	}
	_, err := access.Certificates{}.Authenticate(verified([]*x509.Certificate{a.issue(&x509.Certificate{Subject: pkix.Name{CommonName: strings.Repeat("x", 600)}}).Leaf, a.cert}))
	require.ErrorContains(t, err, "more than 512 bytes")
}

func (a *authority) revoke(number int64, expires time.Time, serials ...int64) []byte {
	a.t.Helper()
	list := &x509.RevocationList{Number: big.NewInt(number), ThisUpdate: time.Now().Add(-time.Hour + time.Duration(number)*time.Second), NextUpdate: expires}
	for _, serial := range serials {
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: big.NewInt(serial), RevocationTime: time.Now()})
	}
	der, err := x509.CreateRevocationList(rand.Reader, list, a.cert, a.key)
	require.NoError(a.t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: der})
}

func TestARevokedCertificateIsNoCredential(t *testing.T) {
	t.Parallel()
	a, stranger := newAuthority(t), newAuthority(t)
	serial := func(n int64) []*x509.Certificate {
		return []*x509.Certificate{a.issue(&x509.Certificate{SerialNumber: big.NewInt(n), Subject: pkix.Name{CommonName: "ci"}}).Leaf, a.cert}
	}
	later := time.Now().Add(time.Hour)
	ask := func(lists []byte, n int64) error {
		parsed, err := access.ParseRevocations(lists)
		require.NoError(t, err)
		_, err = access.Certificates{Revoked: func() *access.Revocations { return parsed }}.Authenticate(verified(serial(n)))
		if err != nil {
			_, bad := errors.AsType[*access.CredentialError](err)
			require.True(t, bad)
		}
		return err
	}
	list := a.revoke(1, later, 7, 8)
	require.ErrorContains(t, ask(list, 7), "was revoked")
	require.NoError(t, ask(list, 9))
	require.ErrorContains(t, ask(stranger.revoke(1, later, 9), 9), "no revocation list", "a list counts for whom it is signed by")
	require.ErrorContains(t, ask(a.revoke(1, time.Now().Add(-time.Minute)), 9), "has expired")
	require.ErrorContains(t, ask(append(a.revoke(2, later, 9), list...), 9), "was revoked", "the newest counts")
	require.NoError(t, ask(append(a.revoke(2, later, 9), list...), 7), "which may take a certificate back")

	block, _ := pem.Decode(list)
	require.ErrorContains(t, ask(block.Bytes, 7), "was revoked", "DER")
	for _, bad := range []string{"", "text", "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n"} {
		_, err := access.ParseRevocations([]byte(bad))
		require.Error(t, err, bad)
	}
	expired, err := access.ParseRevocations(a.revoke(1, time.Now().Add(-time.Minute)))
	require.NoError(t, err)
	require.Contains(t, expired.Problem(nil, time.Now()), `"CN=authority" has expired`)
	replaced, err := access.ParseRevocations(append(a.revoke(1, time.Now().Add(-time.Minute)), a.revoke(2, later)...))
	require.NoError(t, err)
	require.Empty(t, replaced.Problem([]*x509.Certificate{a.cert}, time.Now()))
	require.Equal(t, `there is no revocation list of "CN=authority": callers with certificates of that authority are refused`,
		replaced.Problem([]*x509.Certificate{a.cert, stranger.cert}, time.Now()), "another of the same name")

	partial, err := x509.CreateRevocationList(rand.Reader, &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: time.Now(), NextUpdate: later,
		ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 28}, Critical: true, Value: []byte{0x30, 0}}}}, a.cert, a.key)
	require.NoError(t, err)
	_, err = access.ParseRevocations(partial)
	require.ErrorContains(t, err, "partial or indirect")
}

func TestACertificateThatExpiresCountsNoMoreOverAnOpenConnection(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	chain := []*x509.Certificate{a.issue(&x509.Certificate{Subject: pkix.Name{CommonName: "ci"}}).Leaf, a.cert}
	_, err := access.Certificates{Now: func() time.Time { return time.Now().Add(2 * time.Hour) }}.Authenticate(verified(chain))
	require.ErrorContains(t, err, "has expired")
}
