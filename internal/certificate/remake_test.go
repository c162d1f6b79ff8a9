package certificate_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"software.sslmate.com/src/go-pkcs12"

	"almanac/internal/certificate"
)

// The files are of OpenSSL 3.0, all with the password hush. Those in BER have the same content with indefinite lengths
// and octet strings in parts of a kilobyte, as old Windows, NSS and Apple's keychain write it: all of it, or the
// envelope alone. The option -nomac leaves out the MAC.
func TestPFXFilesOfOtherProgramsAreRead(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.pfx")
	require.NoError(t, err)
	require.Len(t, files, 10)
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			file, err := os.ReadFile(name)
			require.NoError(t, err)
			text := base64.StdEncoding.EncodeToString(file)
			got, err := certificate.Read(text, "hush")
			require.NoError(t, err)
			require.Equal(t, "CN=x", got.Leaf.Subject.String())
			_, err = certificate.Read(text, "Hush")
			require.ErrorIs(t, err, certificate.ErrPassword)
			_, err = certificate.Read(text, "")
			require.ErrorIs(t, err, certificate.ErrPassword)
			for i := 0; i < len(file); i += 7 { // whatever is damaged, nothing else happens than an error
				damaged := strings.Clone(string(file))
				damaged = damaged[:i] + string(damaged[i]^0x55) + damaged[i+1:]
				_, _ = certificate.Read(base64.StdEncoding.EncodeToString([]byte(damaged)), "hush")
				_, err = certificate.Read(base64.StdEncoding.EncodeToString(file[:i]), "hush")
				require.Error(t, err)
			}
		})
	}
}

// The error says what the file has that is not read, and what to do about it, not what every PFX file is.
func TestPFXFilesThatAreNotReadSayWhy(t *testing.T) {
	t.Parallel()
	const form, key, parts = "a PFX file with a MAC by SHA-1 or SHA-2, and keys and certificates encrypted by AES in CBC mode, or by 3DES or RC2 as PKCS #12 defines them, with passwords hashed by SHA-1, SHA-256 or SHA-512 where PBES2 or PBMAC1 does it; to convert this one, run openssl", "a PFX file whose key is of RSA, Ed25519 or one of the curves", "a PFX file with one private key, and in at most two parts; to convert this one, run openssl"
	for name, want := range map[string]string{
		"cipher-rc4": form, "mac-sm3": form, "mac-sm3-in-ber": form, "cipher-des3-of-pbes2": form, "prf-sha384": form, "prf-sha224-of-the-key": form,
		"key-rsa-pss": key, "key-secp256k1": key, "key-explicit-curve": key, "three-parts": parts, "two-keys": parts,
		"two-passwords": "a PFX file whose private key is encrypted with the password of the file; this one's key has another",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, err := os.ReadFile("testdata/refused/" + name + ".pfx")
			require.NoError(t, err)
			password := "hush"
			if name == "two-keys" { // of keytool, which takes no shorter one
				password = "hushhush"
			}
			_, err = certificate.Read(base64.StdEncoding.EncodeToString(file), password)
			require.ErrorContains(t, err, want)
		})
	}
}

func TestACertificateThatAFileHasTwiceIsSentOnce(t *testing.T) {
	t.Parallel()
	authority := sign(t, "authority", nil)
	leaf := sign(t, "leaf", authority)
	file, err := pkcs12.Modern2023.Encode(leaf.PrivateKey, leaf.Leaf, []*x509.Certificate{authority.Leaf, leaf.Leaf, authority.Leaf}, "hush")
	require.NoError(t, err)
	got, err := certificate.Read(base64.StdEncoding.EncodeToString(file), "hush")
	require.NoError(t, err)
	require.Equal(t, [][]byte{leaf.Leaf.Raw, authority.Leaf.Raw}, got.Certificate)
}

// sign returns a new certificate of an authority; nil means its own.
func sign(t *testing.T, name string, authority *tls.Certificate) *tls.Certificate {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	c := &tls.Certificate{PrivateKey: private}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true}
	parent, signer := template, any(private)
	if authority != nil {
		parent, signer = authority.Leaf, authority.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, signer)
	require.NoError(t, err)
	c.Leaf, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	return c
}

// Values within values may be many: none is converted more than once.
func TestADeeplyNestedFileIsReadOnce(t *testing.T) {
	t.Parallel()
	file := []byte{0x04, 0x01, 0x00}
	for range 40 {
		inner := append([]byte{0x30, 0x80, 0x06, 0x01, 0x2a, 0x30, 0x00, 0xa0, 0x80}, file...)
		file = append(inner, 0, 0, 0, 0)
	}
	for cut := range 40 {
		_, err := certificate.Read(base64.StdEncoding.EncodeToString(file[cut*9:len(file)-cut*4]), "hush")
		require.Error(t, err)
	}
}

func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/*.pfx")
	require.NoError(f, err)
	for _, name := range files {
		file, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(file)
	}
	f.Fuzz(func(_ *testing.T, file []byte) {
		_, _ = certificate.Read(base64.StdEncoding.EncodeToString(file), "hush")
	})
}
