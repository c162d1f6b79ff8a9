package job

import (
	"crypto/tls"
	"fmt"

	"almanac/internal/certificate"
)

// Certificate returns the client certificate of an Authentication of type ClientCertificate: the leaf, its
// private key, and the chain as far as the PFX file has it, in the order of TLS. The error shows nothing of
// the file.
func (a *Authentication) Certificate() (tls.Certificate, error) {
	c, err := certificate.Read(a.Pfx, a.Password)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("the client certificate cannot be read; allowed: %w", err)
	}
	return c, nil
}
