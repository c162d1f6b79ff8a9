package input_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha1"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"software.sslmate.com/src/go-pkcs12"

	"almanac/job"
	"almanac/job/input"
	"almanac/job/kind"
)

// A certified is a private key with its certificate.
type certified struct {
	key         crypto.Signer
	certificate *x509.Certificate
}

// certify makes a certificate with a subject, encoded in the given order. It is self-signed if issuer is
// nil.
func certify(t testing.TB, subject pkix.RDNSequence, issuer *certified) certified {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	name, err := asn1.Marshal(subject)
	require.NoError(t, err)
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: serial, RawSubject: name, BasicConstraintsValid: true, IsCA: true,
		NotBefore: now, NotAfter: time.Date(2031, 1, 1, 7, 0, 0, 0, time.UTC),
	}
	parent, signer := template, crypto.Signer(key)
	if issuer != nil {
		parent, signer = issuer.certificate, issuer.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return certified{key, certificate}
}

var (
	oidCN = asn1.ObjectIdentifier{2, 5, 4, 3}
	oidO  = asn1.ObjectIdentifier{2, 5, 4, 10}
)

// named returns a subject in encoded order: an organization, then a common name.
func named(commonName string) pkix.RDNSequence {
	return pkix.RDNSequence{{{Type: oidO, Value: "Org"}}, {{Type: oidCN, Value: commonName}}}
}

// pfx returns the base64 of a PFX file.
func pfx(t testing.TB, e *pkcs12.Encoder, key any, password string, certificates ...*x509.Certificate) string {
	t.Helper()
	der, err := e.Encode(key, certificates[0], certificates[1:], password)
	require.NoError(t, err)
	return base64.StdEncoding.EncodeToString(der)
}

// canaryPFX returns a PFX file whose password is the canary.
func canaryPFX(t testing.TB) string {
	t.Helper()
	leaf := certify(t, named("host"), nil)
	return pfx(t, pkcs12.Modern2023, leaf.key, canary, leaf.certificate)
}

// describedAs returns the members that describe a certificate in answers.
func describedAs(c *x509.Certificate, subject string) string {
	return fmt.Sprintf(`"certificateThumbprint":"%X","certificateExpiration":"2031-01-01T07:00:00Z","certificateSubjectName":%q`, sha1.Sum(c.Raw), subject)
}

func withCertificate(pfx, password string) string {
	return authenticated(fmt.Sprintf(`{"type":"ClientCertificate","pfx":%q,"password":%q}`, pfx, password))
}

func TestClientCertificatesAreDescribed(t *testing.T) {
	t.Parallel()
	leaf := certify(t, named("host"), nil)
	for _, tt := range []struct {
		name, pfx, password string
	}{
		{"of today's programs", pfx(t, pkcs12.Modern2023, leaf.key, "canary", leaf.certificate), "canary"},
		{"of tomorrow's", pfx(t, pkcs12.Modern2026, leaf.key, "canary", leaf.certificate), "canary"},
		{"of yesterday's", pfx(t, pkcs12.LegacyDES, leaf.key, "canary", leaf.certificate), "canary"},
		{"of the service's days", pfx(t, pkcs12.LegacyRC2, leaf.key, "cänary", leaf.certificate), "cänary"},
		{"with an empty password", pfx(t, pkcs12.Modern2023, leaf.key, "", leaf.certificate), ""},
		{"in clear", pfx(t, pkcs12.Passwordless, leaf.key, "", leaf.certificate), ""},
		{"in lines", " " + strings.Join(strings.SplitAfter(pfx(t, pkcs12.LegacyDES, leaf.key, "canary", leaf.certificate), "A"), "\r\n ") + "\t", "canary"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := mustParse(t, withAction(withErrorAction(withCertificate(tt.pfx, tt.password))))
			shown := compactJSON(t, d.Redacted().Action)
			want := `"authentication":{` + describedAs(leaf.certificate, "CN=host, O=Org") + `,"type":"ClientCertificate"}`
			require.Equal(t, 2, strings.Count(shown, want), shown)

			got, err := d.Action.Request.Authentication.Certificate()
			require.NoError(t, err)
			require.Equal(t, [][]byte{leaf.certificate.Raw}, got.Certificate)
			require.Equal(t, leaf.key, got.PrivateKey)
		})
	}
	t.Run("without a password", func(t *testing.T) {
		t.Parallel()
		d := mustParse(t, withAction(authenticated(`{"type":"ClientCertificate","pfx":"`+pfx(t, pkcs12.Modern2023, leaf.key, "", leaf.certificate)+`"}`)))
		require.Contains(t, compactJSON(t, d), describedAs(leaf.certificate, "CN=host, O=Org"))
	})
}

func TestClientCertificatesWithTheirChain(t *testing.T) {
	t.Parallel()
	root := certify(t, named("root"), nil)
	middle := certify(t, named("middle"), &root)
	leaf := certify(t, named("leaf"), &middle)
	stranger := certify(t, named("stranger"), nil)
	// A file may hold its certificates in any order, here with the leaf last.
	text := pfx(t, pkcs12.Modern2023, leaf.key, "", root.certificate, stranger.certificate, middle.certificate, leaf.certificate)
	d := mustParse(t, withAction(withCertificate(text, "")))
	auth := d.Action.Request.Authentication
	require.Equal(t, "CN=leaf, O=Org", auth.CertificateSubjectName)

	got, err := auth.Certificate()
	require.NoError(t, err)
	require.Equal(t, [][]byte{leaf.certificate.Raw, middle.certificate.Raw, root.certificate.Raw}, got.Certificate)
	require.Equal(t, leaf.certificate.Raw, got.Leaf.Raw)
}

func TestAServerSeesTheClientCertificate(t *testing.T) {
	t.Parallel()
	leaf := certify(t, named("host"), nil)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.TLS.PeerCertificates[0].Subject.CommonName)
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	defer server.Close()

	auth := kind.Authentication{Type: kind.AuthClientCertificate, Pfx: pfx(t, pkcs12.Legacy, leaf.key, "canary", leaf.certificate), Password: "canary"}
	certificate, err := auth.Certificate()
	require.NoError(t, err)
	client := server.Client()
	client.Transport.(*http.Transport).TLSClientConfig.Certificates = []tls.Certificate{certificate}
	answer, err := client.Get(server.URL)
	require.NoError(t, err)
	defer answer.Body.Close()
	var body bytes.Buffer
	_, err = body.ReadFrom(answer.Body)
	require.NoError(t, err)
	require.Equal(t, "host", body.String())
}

func TestClientCertificatesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	const (
		notPFX   = ".pfx: the value is not valid; allowed: a PFX file (PKCS #12, in base64) of one certificate, its private key and at most its chain"
		password = ".password: the value is not valid; allowed: the password of the PFX file"
	)
	leaf, other := certify(t, named("host"), nil), certify(t, named("host"), nil)
	good := pfx(t, pkcs12.Modern2023, leaf.key, "canary", leaf.certificate)
	trust, err := pkcs12.Modern2023.EncodeTrustStore([]*x509.Certificate{leaf.certificate}, "canary")
	require.NoError(t, err)
	for _, tt := range []struct{ name, pfx, password, want string }{
		{"no base64", "canary!", "canary", ".pfx: the value is not valid; allowed: a PFX file in base64"},
		{"something else", base64.StdEncoding.EncodeToString([]byte("canary")), "canary", notPFX},
		{"half a file", good[:400], "canary", notPFX},
		{"another password", good, "Canary", password},
		{"no password", good, "", password},
		{"another key's certificate", pfx(t, pkcs12.Modern2023, leaf.key, "canary", other.certificate), "canary", notPFX},
		{"no private key", base64.StdEncoding.EncodeToString(trust), "canary", notPFX},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			body := withAction(withErrorAction(withCertificate(tt.pfx, tt.password)))
			_, err := input.ParseDefinition([]byte(body), input.ParseOptions{Now: now, Limits: roomy()})
			got := complaints(t, err)
			require.Equal(t, lines("properties.action.request.authentication"+tt.want, "properties.action.errorAction.request.authentication"+tt.want), got)

			_, err = (&kind.Authentication{Type: kind.AuthClientCertificate, Pfx: tt.pfx, Password: tt.password}).Certificate()
			require.ErrorContains(t, err, "the client certificate cannot be read; allowed: ")
			require.NotContains(t, err.Error(), canary)
		})
	}
}

// TestAPFXFileCannotAskForEndlessWork raises each number of hashing rounds in a PFX file.
func TestAPFXFileCannotAskForEndlessWork(t *testing.T) {
	t.Parallel()
	const rounds = 1 << 16
	few, many := []byte{2, 3, 1, 0, 0}, []byte{2, 3, 0x7f, 0xff, 0xff} // in DER: 256, and eight million
	leaf := certify(t, named("host"), nil)
	for _, tt := range []struct {
		name    string
		encoder *pkcs12.Encoder
	}{
		{"of today's programs", pkcs12.Modern2023},
		{"of tomorrow's", pkcs12.Modern2026},
		{"of yesterday's", pkcs12.LegacyDES},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file, err := base64.StdEncoding.DecodeString(pfx(t, tt.encoder.WithIterations(rounds), leaf.key, "canary", leaf.certificate))
			require.NoError(t, err)
			places := bytes.Count(file, few)
			require.GreaterOrEqual(t, places, 3, "the certificate's, the key's and the file's own")
			for n := range places {
				parts := bytes.SplitAfterN(file, few, n+2)
				before := bytes.TrimSuffix(bytes.Join(parts[:n+1], nil), few)
				costly := bytes.Join([][]byte{before, many, parts[n+1]}, nil)
				_, err := parse(withAction(withCertificate(base64.StdEncoding.EncodeToString(costly), "canary")))
				require.Contains(t, complaints(t, err),
					"properties.action.request.authentication.pfx: the value is not valid; allowed: a PFX file whose password is hashed at most 1000000 times; to convert this one, run openssl", n)
			}
		})
	}
}

func TestSubjectNamesAreWrittenAsTheServiceDid(t *testing.T) {
	t.Parallel()
	oidC, oidST, oidOU, oidE := asn1.ObjectIdentifier{2, 5, 4, 6}, asn1.ObjectIdentifier{2, 5, 4, 8}, asn1.ObjectIdentifier{2, 5, 4, 11}, asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 1}
	one := func(oid asn1.ObjectIdentifier, value string) pkix.RelativeDistinguishedNameSET {
		return pkix.RelativeDistinguishedNameSET{{Type: oid, Value: value}}
	}
	for _, tt := range []struct {
		want    string
		subject pkix.RDNSequence
	}{
		{"", nil},
		{"CN=May14SchedulerMgmt", pkix.RDNSequence{one(oidCN, "May14SchedulerMgmt")}},
		{
			"E=a@example.com, CN=host, OU=Dept, O=Org, S=Skåne, C=SE",
			pkix.RDNSequence{one(oidC, "SE"), one(oidST, "Skåne"), one(oidO, "Org"), one(oidOU, "Dept"), one(oidCN, "host"), one(oidE, "a@example.com")},
		},
		{`CN="a, ""b"""`, pkix.RDNSequence{one(oidCN, `a, "b"`)}},
		{`CN=" x", O=""`, pkix.RDNSequence{one(oidO, ""), one(oidCN, " x")}},
		{"OID.2.5.4.97=x", pkix.RDNSequence{one(asn1.ObjectIdentifier{2, 5, 4, 97}, "x")}},
		{"CN=a + OU=b", pkix.RDNSequence{{{Type: oidCN, Value: "a"}, {Type: oidOU, Value: "b"}}}},
	} {
		t.Run(tt.want, func(t *testing.T) {
			t.Parallel()
			leaf := certify(t, tt.subject, nil)
			d := mustParse(t, withAction(withCertificate(pfx(t, pkcs12.Modern2023, leaf.key, "", leaf.certificate), "")))
			require.Equal(t, tt.want, d.Action.Request.Authentication.CertificateSubjectName)
		})
	}
}

func TestACertificateKeepsItsDescriptionUntilThereIsANewOne(t *testing.T) {
	t.Parallel()
	leaf, renewed := certify(t, named("host"), nil), certify(t, named("renewed"), nil)
	d := mustParse(t, withAction(withCertificate(pfx(t, pkcs12.Modern2023, leaf.key, "canary", leaf.certificate), "canary")))
	thumbprint := d.Action.Request.Authentication.CertificateThumbprint
	shown := d.Redacted()
	read := func(authentication string) (job.Definition, error) {
		return input.ParseDefinition([]byte(withAction(authenticated(authentication))), input.ParseOptions{Now: now, Stored: &shown})
	}

	for _, same := range []string{
		`{"type":"ClientCertificate"}`,
		`{"type":"ClientCertificate","pfx":"","password":""}`,
		`{"type":"clientcertificate","certificateThumbprint":"` + strings.ToLower(thumbprint) + `","certificateExpirationDate":"x","certificateExpiration":"x","certificateSubjectName":"y"}`,
	} {
		got, err := read(same)
		require.NoError(t, err)
		filled, err := input.KeepSecrets(got, &d, false)
		require.NoError(t, err)
		require.Equal(t, compactJSON(t, d), compactJSON(t, filled))
	}

	open := pfx(t, pkcs12.Passwordless, renewed.key, "", renewed.certificate)
	got, err := read(`{"type":"ClientCertificate","pfx":"` + open + `","certificateThumbprint":"` + thumbprint + `"}`)
	require.NoError(t, err)
	filled, err := input.KeepSecrets(got, &d, false)
	require.NoError(t, err)
	require.Equal(t, `{"pfx":"`+open+`",`+describedAs(renewed.certificate, "CN=renewed, O=Org")+`,"type":"ClientCertificate"}`,
		compactJSON(t, filled.Action.Request.Authentication), "a new certificate without a password must not get the old one's")

	_, err = read(`{"type":"ClientCertificate","password":"canary"}`)
	require.Equal(t, "properties.action.request.authentication.pfx: required; allowed: a PFX file in base64; a password belongs to the file that is sent with it", complaints(t, err),
		"nobody could tell whether a new password opens the old file")
}

// What cannot be read is said, and how to convert it, instead of a description of what the user has.
func TestAPFXFileThatCannotBeReadCanBeConverted(t *testing.T) {
	t.Parallel()
	const run = "; to convert this one, run openssl pkcs12 -in old.pfx -nodes -out all.pem, then openssl pkcs12 -export -in all.pem -out new.pfx, and delete all.pem; OpenSSL 3 reads files with RC2, RC4 or DES if the first has -legacy, too"
	leaf := certify(t, named("host"), nil)
	der, err := base64.StdEncoding.DecodeString(pfx(t, pkcs12.Modern2023, leaf.key, "canary", leaf.certificate))
	require.NoError(t, err)
	sha256, sha3 := []byte("\x60\x86\x48\x01\x65\x03\x04\x02\x01"), []byte("\x60\x86\x48\x01\x65\x03\x04\x02\x0a")
	at := bytes.LastIndex(der, sha256)
	require.Positive(t, at)
	otherMAC := slices.Concat(der[:at], sha3, der[at+len(sha3):])
	for _, tt := range []struct {
		name, password, want string
		der                  []byte
	}{
		{"a MAC by SHA-3", "canary", "a PFX file with a MAC by SHA-1 or SHA-2, and keys and certificates encrypted by AES in CBC mode, or by 3DES or RC2 as PKCS #12 defines them, with passwords hashed by SHA-1, SHA-256 or SHA-512 where PBES2 or PBMAC1 does it", otherMAC},
		{"a password with an emoji", "canary😀", "a PFX file whose password has no emoji and no other characters beyond U+FFFF", der},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(withAction(withCertificate(base64.StdEncoding.EncodeToString(tt.der), tt.password)))
			require.Equal(t, "properties.action.request.authentication.pfx: the value is not valid; allowed: "+tt.want+run, complaints(t, err))
		})
	}
	require.Equal(t, byte(0x82), der[1])
	ber := slices.Concat([]byte{0x30, 0x80}, der[4:], []byte{0, 0})
	_, err = parse(withAction(withCertificate(base64.StdEncoding.EncodeToString(ber), "canary")))
	require.NoError(t, err)
}
