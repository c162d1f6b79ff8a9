package certificate_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"software.sslmate.com/src/go-pkcs12"

	"almanac/internal/certificate"
)

// pfxOf returns a PFX file with a key of a curve and its certificate.
func pfxOf(t *testing.T, curve elliptic.Curve) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	file, err := pkcs12.Modern2023.Encode(key, leaf, nil, "p")
	require.NoError(t, err)
	return file
}

func TestACurveThatTLSDoesNotHaveIsRefused(t *testing.T) {
	t.Parallel()
	for _, curve := range []elliptic.Curve{elliptic.P256(), elliptic.P384(), elliptic.P521()} {
		_, err := certificate.Read(base64.StdEncoding.EncodeToString(pfxOf(t, curve)), "p")
		require.NoError(t, err, curve.Params().Name)
	}
	_, err := certificate.Read(base64.StdEncoding.EncodeToString(pfxOf(t, elliptic.P224())), "p")
	require.ErrorContains(t, err, "one of the curves P-256, P-384 and P-521")
}

func TestWhatFollowsAPFXFileIsNotRead(t *testing.T) {
	t.Parallel()
	for name, tail := range map[string]string{"a line end": "\n", "zeros": string(make([]byte, 16)), "text": "canary"} {
		file := append(pfxOf(t, elliptic.P256()), tail...)
		_, err := certificate.Read(base64.StdEncoding.EncodeToString(file), "p")
		require.NoError(t, err, name)
		_, err = certificate.Read(base64.StdEncoding.EncodeToString(file), "another")
		require.ErrorIs(t, err, certificate.ErrPassword, name)
	}
}
