// Package certificate reads certificates: those of clients from PFX files (PKCS #12), and those of authorities
// from PEM files.
package certificate

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"software.sslmate.com/src/go-pkcs12"
)

// Errors of [Read]. Their texts say what is allowed, and show nothing of the file.
var (
	ErrPassword = errors.New("the password of the PFX file")
	errNotPFX   = errors.New("a PFX file (PKCS #12, in base64) of one certificate, its private key and at most its chain")
	errBER      = errors.New("a PFX file whose parts are in DER when they are decrypted" + convert)
	errEmoji    = errors.New("a PFX file whose password has no emoji and no other characters beyond U+FFFF" + convert)
	errForm     = errors.New("a PFX file with a MAC by SHA-1 or SHA-2, and keys and certificates encrypted by AES in " +
		"CBC mode, or by 3DES or RC2 as PKCS #12 defines them, with passwords hashed by SHA-1, SHA-256 or SHA-512 where " +
		"PBES2 or PBMAC1 does it" + convert)
	errParts = errors.New("a PFX file with one private key, and in at most two parts" + convert)
	errKey   = errors.New("a PFX file whose key is of RSA, Ed25519 or one of the curves P-256, P-384 and " +
		"P-521, given by its name; others, such as RSA-PSS, need a new certificate")
	errTwoWords = errors.New("a PFX file whose private key is encrypted with the password of the file; this one's key " +
		"has another, which keytool -importkeystore changes with -destkeypass")
	errCostly = fmt.Errorf("a PFX file whose password is hashed at most %d times%s", maxRounds, convert)
)

// convert says how to make a PFX file that can be read of one that cannot.
const convert = "; to convert this one, run openssl pkcs12 -in old.pfx -nodes -out all.pem, then openssl pkcs12 " +
	"-export -in all.pem -out new.pfx, and delete all.pem; OpenSSL 3 reads files with RC2, RC4 or DES if the first " +
	"has -legacy, too"

// Decode decodes the base64 of a PFX file. It ignores blanks and line breaks, as Azure Scheduler did,
// because clients sent them.
func Decode(text string) ([]byte, error) {
	return base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
}

// Read returns the certificate in a PFX file, in base64, that belongs to the file's private key: the leaf,
// its private key, and the chain as far as the file has it, in the order of TLS. An empty password also opens
// a file without a password. The error is ErrPassword if only the password is wrong.
func Read(text, password string) (tls.Certificate, error) {
	der, err := Decode(text)
	if err != nil {
		return tls.Certificate{}, errNotPFX
	}
	var file asn1.RawValue // without what follows it, which OpenSSL does not read either
	if rest, err := asn1.Unmarshal(der, &file); err == nil && len(rest) > 0 {
		der = file.FullBytes
	}
	if pfxRounds(der) > maxRounds {
		return tls.Certificate{}, errCostly
	}
	if strings.ContainsFunc(password, func(r rune) bool { return r > 0xffff }) {
		return tls.Certificate{}, errEmoji
	}
	remade, signed := needsRemake(der), hasMAC(der)
	if remade {
		switch der, err = remake(der, password); {
		case errors.Is(err, ErrPassword), errors.Is(err, errForm):
			return tls.Certificate{}, err
		case err != nil:
			return tls.Certificate{}, errNotPFX
		case pfxRounds(der) > maxRounds: // of parts that were in BER
			return tls.Certificate{}, errCostly
		}
	}
	key, first, others, err := pkcs12.DecodeChain(der, password)
	switch {
	case errors.Is(err, pkcs12.ErrIncorrectPassword), isDecryption(err) && !signed:
		return tls.Certificate{}, ErrPassword
	case isUnsupported(err):
		return tls.Certificate{}, errForm
	case isDivided(err):
		return tls.Certificate{}, errParts
	case isDecryption(err):
		return tls.Certificate{}, errTwoWords
	case isKey(err):
		return tls.Certificate{}, errKey
	case err != nil && remade:
		return tls.Certificate{}, errBER
	case err != nil:
		return tls.Certificate{}, errNotPFX
	}
	if ec, ok := key.(*ecdsa.PrivateKey); ok && ec.Curve == elliptic.P224() { // TLS has it no more
		return tls.Certificate{}, errKey
	}
	// The order of the certificates in a file has no meaning.
	chain := chainOf(key, append([]*x509.Certificate{first}, others...))
	if chain == nil {
		return tls.Certificate{}, errNotPFX
	}
	c := tls.Certificate{PrivateKey: key, Leaf: chain[0]}
	for _, link := range chain {
		c.Certificate = append(c.Certificate, link.Raw)
	}
	return c, nil
}

// isUnsupported reports whether an error is that of an algorithm which is not supported. Package pkcs12 has only a text
// for that of a key.
func isUnsupported(err error) bool {
	unsupported, ok := errors.AsType[pkcs12.NotImplementedError](err)
	return ok && (strings.Contains(string(unsupported), "algorithm") || strings.HasSuffix(string(unsupported), "is not supported")) ||
		err != nil && strings.Contains(err.Error(), "shrouded key bag") && strings.HasSuffix(err.Error(), "is not supported")
}

// isDivided reports whether an error is that of a file with more parts or private keys than package pkcs12 reads.
func isDivided(err error) bool {
	unsupported, ok := errors.AsType[pkcs12.NotImplementedError](err)
	return ok && strings.Contains(string(unsupported), "items in the authenticated safe") ||
		err != nil && strings.Contains(err.Error(), "exactly one key bag")
}

// isDecryption reports whether an error is that of a part which the password does not decrypt. Package pkcs12 has only
// a text for those of keys.
func isDecryption(err error) bool {
	return err != nil && strings.Contains(err.Error(), pkcs12.ErrDecryption.Error())
}

// isKey reports whether an error is that of a key of a kind which is not supported.
func isKey(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "error parsing PKCS#8 private key: ") ||
		strings.Contains(err.Error(), "elliptic curve") || strings.Contains(err.Error(), "ECDSA parameters"))
}

// chainOf returns the certificate of the private key, followed by its issuer, the issuer's issuer, and so
// on; nil if no certificate belongs to the key.
func chainOf(key any, certificates []*x509.Certificate) []*x509.Certificate {
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil
	}
	public, ok := signer.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !ok {
		return nil
	}
	next := func(c *x509.Certificate) bool { return public.Equal(c.PublicKey) }
	var chain []*x509.Certificate
	for {
		i := slices.IndexFunc(certificates, next)
		if i < 0 {
			return chain
		}
		last := certificates[i]
		chain = append(chain, last)
		// some files have it twice
		certificates = slices.DeleteFunc(certificates, func(c *x509.Certificate) bool { return c.Equal(last) })
		next = func(c *x509.Certificate) bool { return bytes.Equal(c.RawSubject, last.RawIssuer) }
	}
}
