package access

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Revocations are lists of certificates that their authorities have revoked. They are safe for concurrent use. A nil
// Revocations is none.
type Revocations struct{ lists []*revocationList }

type revocationList struct {
	*x509.RevocationList
	serials map[string]struct{}
	signed  sync.Map // whether an authority signed it, by its whole certificate
}

// ParseRevocations reads certificate revocation lists: several in PEM, or one in DER.
func ParseRevocations(text []byte) (*Revocations, error) {
	r := new(Revocations)
	der := [][]byte{text}
	if bytes.Contains(text, []byte("-----BEGIN")) {
		der = nil
		for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
			if block.Type == "X509 CRL" {
				der = append(der, block.Bytes)
			}
		}
	}
	for _, raw := range der {
		parsed, err := x509.ParseRevocationList(raw)
		if err != nil {
			return nil, fmt.Errorf("it is no certificate revocation list: %w", err)
		}
		list := &revocationList{RevocationList: parsed, serials: map[string]struct{}{}}
		if err := list.read(); err != nil {
			return nil, err
		}
		r.lists = append(r.lists, list)
	}
	if len(r.lists) == 0 {
		return nil, errors.New("it has no certificate revocation list, which begins with -----BEGIN X509 CRL-----")
	}
	return r, nil
}

// read notes the serial numbers. A list with an extension that changes its meaning, and that is critical therefore, is
// an error: one that is partial, is of changes, or is about certificates of others.
func (l *revocationList) read() error {
	for _, e := range l.Extensions {
		if e.Critical {
			return fmt.Errorf("the revocation list of %q is partial or indirect (extension %s), which is not supported", nameText(l.RawIssuer), e.Id)
		}
	}
	for _, entry := range l.RevokedCertificateEntries {
		for _, e := range entry.Extensions {
			if e.Critical {
				return fmt.Errorf("the revocation list of %q has an entry with an extension that is not supported (%s)", nameText(l.RawIssuer), e.Id)
			}
		}
		l.serials[string(entry.SerialNumber.Bytes())] = struct{}{}
	}
	return nil
}

// Check returns a [CredentialError] if a certificate of a verified chain is revoked, or if that is not known, since
// there is no list of its authority or only one that has expired.
func (r *Revocations) Check(chain []*x509.Certificate, now time.Time) error {
	if r == nil {
		return nil
	}
	for i, cert := range chain[:len(chain)-1] {
		authority := chain[i+1]
		newest := r.newest(authority, now)
		switch {
		case newest == nil:
			return &CredentialError{
				Problem: "The client certificate is refused: there is no revocation list of its authority.",
				Err:     errors.New(nameText(authority.RawSubject)),
			}
		case newest.expired(now):
			return &CredentialError{
				Problem: "The client certificate is refused: the revocation list of its authority has expired.",
				Err:     errors.New(nameText(authority.RawSubject)),
			}
		}
		if _, revoked := newest.serials[string(cert.SerialNumber.Bytes())]; revoked {
			return &CredentialError{Problem: "The client certificate, or that of its authority, was revoked."}
		}
	}
	return nil
}

// newest returns the newest list of an authority that has begun to be valid; nil if there is none.
func (r *Revocations) newest(authority *x509.Certificate, now time.Time) (newest *revocationList) {
	for _, l := range r.lists {
		if !l.isOf(authority) || l.ThisUpdate.After(now.Add(clockLeeway)) {
			continue
		}
		if newest == nil || l.ThisUpdate.After(newest.ThisUpdate) {
			newest = l
		}
	}
	return newest
}

// clockLeeway is how far the clocks of an authority and of this machine may differ.
const clockLeeway = time.Minute

func (l *revocationList) isOf(authority *x509.Certificate) bool {
	if !bytes.Equal(l.RawIssuer, authority.RawSubject) {
		return false
	}
	key := string(authority.Raw)
	if signed, known := l.signed.Load(key); known {
		return signed.(bool)
	}
	signed := l.CheckSignatureFrom(authority) == nil
	l.signed.Store(key, signed)
	return signed
}

func (l *revocationList) expired(now time.Time) bool {
	return !l.NextUpdate.IsZero() && now.After(l.NextUpdate)
}

// Problem says that a list has expired, or that there is none of one of the authorities; "" if all is well.
func (r *Revocations) Problem(authorities []*x509.Certificate, now time.Time) string {
	if r == nil {
		return ""
	}
	const refused = "callers with certificates of that authority are refused"
	for _, l := range r.lists {
		if l.expired(now) && !r.replaced(l) {
			return fmt.Sprintf("the revocation list of %q has expired at %s: %s",
				nameText(l.RawIssuer), l.NextUpdate.UTC().Format(time.RFC3339), refused)
		}
	}
	for _, authority := range authorities {
		if r.newest(authority, now) == nil {
			return fmt.Sprintf("there is no revocation list of %q: %s", nameText(authority.RawSubject), refused)
		}
	}
	return ""
}

// replaced reports whether there is a newer list of the same authority.
func (r *Revocations) replaced(l *revocationList) bool {
	for _, other := range r.lists {
		if bytes.Equal(other.RawIssuer, l.RawIssuer) && bytes.Equal(other.AuthorityKeyId, l.AuthorityKeyId) && other.ThisUpdate.After(l.ThisUpdate) {
			return true
		}
	}
	return false
}
