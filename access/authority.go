package access

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// An Authority signs certificates of callers. Two are the same if they have the same key, whatever their names.
type Authority struct {
	ID   string // sha256: and the SHA-256 of its public key, in hexadecimal digits
	Name string // its subject
}

// AuthorityOf returns the authority that a certificate is of.
func AuthorityOf(cert *x509.Certificate) Authority {
	hash := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	return Authority{ID: keyPrefix + hex.EncodeToString(hash[:]), Name: nameText(cert.RawSubject)}
}

const keyPrefix = "sha256:"

// String returns a unique name of the authority for people.
func (a Authority) String() string { return a.Name + " " + a.ID[:len(keyPrefix)+16] }

// ParseAuthorities returns the authorities of a file of certificates in PEM.
func ParseAuthorities(text []byte) (all []Authority, err error) {
	certificates, err := ParseCertificates(text)
	for _, cert := range certificates {
		if a := AuthorityOf(cert); !slices.ContainsFunc(all, func(b Authority) bool { return b.ID == a.ID }) {
			all = append(all, a)
		}
	}
	return all, err
}

// ParseCertificates returns the certificates of a file in PEM.
func ParseCertificates(text []byte) (all []*x509.Certificate, err error) {
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			continue // [x509.CertPool] leaves it out, too
		}
		all = append(all, cert)
	}
	if len(all) == 0 {
		return nil, errors.New("the file has no certificate in PEM")
	}
	return all, nil
}

// resolve returns the one of some authorities that a text names: by its subject, or by its key. "" names the only one.
func resolve(all []Authority, text string) (id, problem, allowed string) {
	var found []Authority
	for _, a := range all {
		if text == "" || text == a.ID || text == a.Name {
			found = append(found, a)
		}
	}
	var names, keys []string
	for _, a := range all {
		names = append(names, fmt.Sprintf("%q", a.Name))
	}
	for _, a := range found {
		keys = append(keys, a.ID)
	}
	switch {
	case len(found) == 1:
		return found[0].ID, "", ""
	case len(all) == 0:
		return "", "no --client-ca is given, so nobody shows a certificate", "a token, or what an issuer of tokens says"
	case text == "":
		return "", "it is missing, and there are several authorities, which may give the same names", strings.Join(names, ", ")
	case len(found) > 1:
		return "", fmt.Sprintf("several authorities in --client-ca are named %.100q", text),
			"the SHA-256 of the public key of one: " + strings.Join(keys, ", ")
	}
	return "", fmt.Sprintf("%.100q is no authority in --client-ca", text), strings.Join(names, ", ")
}
