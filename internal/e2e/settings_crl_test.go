package e2e_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/internal/emulators"
)

func anAPIRefusesRevokedCertificates(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	now := time.Now()
	template := func(serial int64, name string) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
			KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, BasicConstraintsValid: true,
		}
	}
	root := template(1, "root")
	root.IsCA, root.KeyUsage, root.ExtKeyUsage = true, x509.KeyUsageCertSign|x509.KeyUsageCRLSign, nil
	der, err := x509.CreateCertificate(rand.Reader, root, root, &key.PublicKey, key)
	require.NoError(t, err)
	root, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	list, err := x509.CreateRevocationList(rand.Reader, &x509.RevocationList{
		Number: big.NewInt(1), ThisUpdate: now.Add(-time.Hour), NextUpdate: now.Add(24 * time.Hour),
		RevokedCertificateEntries: []x509.RevocationListEntry{{SerialNumber: big.NewInt(3), RevocationTime: now.Add(-time.Minute)}},
	}, root, key)
	require.NoError(t, err)
	client := func(serial int64, name string) *http.Client {
		leaf, err := x509.CreateCertificate(rand.Reader, template(serial, name), root, &key.PublicKey, key)
		require.NoError(t, err)
		return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{{Certificate: [][]byte{leaf}, PrivateKey: key}}}}}
	}
	cert, tlsKey, err := emulators.WriteCertificate(t.TempDir(), "jobs.example.com")
	require.NoError(t, err)
	_, at := apiOf(t, nil, "--tls-cert", cert, "--tls-key", tlsKey, "--client-ca", written(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))),
		"--client-crl", written(t, string(pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: list}))),
		"--access", written(t, "assignments:\n- {principal: {certificate: 'CN=good'}, role: reader, scope: /}\n- {principal: {certificate: 'CN=revoked'}, role: reader, scope: /}\n"))
	require.Equal(t, http.StatusOK, statusOf(t, client(2, "good"), at))
	require.Equal(t, http.StatusUnauthorized, statusOf(t, client(3, "revoked"), at))
}
