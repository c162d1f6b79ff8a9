package certificate

import (
	"crypto/x509"
	"fmt"

	"almanac/internal/files"
)

// Roots returns the system's certificate authorities plus those in a PEM file; nil, for the system's,
// without a file.
func Roots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := files.Read(file)
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // the system has none
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s has no certificate", file)
	}
	return pool, nil
}
