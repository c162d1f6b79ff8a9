package access

import (
	"crypto/x509"
	"net/http"
	"slices"
	"time"
)

// Certificates authenticates callers by their client certificates, which the listener has verified. A certificate
// counts as one of its authority: another authority may have given the same names to somebody else.
type Certificates struct {
	// Revoked returns the lists of revoked certificates in force. Nil means that revocation is not checked.
	Revoked func() *Revocations
	Now     func() time.Time // nil means [time.Now]
}

// Authenticate returns the caller of a certificate that one of the listener's authorities signed. Since a connection
// may be open for long, it looks with each request whether the certificate still counts.
func (c Certificates) Authenticate(r *http.Request) (*Principal, error) {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 || len(r.TLS.VerifiedChains[0]) == 0 {
		return nil, nil
	}
	var authorities []Authority
	var refused error
	for _, chain := range r.TLS.VerifiedChains {
		if err := c.check(chain); err != nil {
			refused = err
			continue
		}
		if a := AuthorityOf(chain[len(chain)-1]); !slices.Contains(authorities, a) {
			authorities = append(authorities, a)
		}
	}
	if len(authorities) == 0 {
		return nil, refused
	}
	return principalOf(r.TLS.VerifiedChains[0][0], authorities)
}

func (c Certificates) check(chain []*x509.Certificate) error {
	now := time.Now()
	if c.Now != nil {
		now = c.Now()
	}
	for _, cert := range chain {
		if !cert.NotAfter.IsZero() && now.After(cert.NotAfter) {
			return &CredentialError{Problem: "The client certificate, or that of its authority, has expired."}
		}
	}
	if c.Revoked == nil {
		return nil
	}
	return c.Revoked().Check(chain, now)
}

// principalOf returns the holder of a certificate of some authorities.
func principalOf(shown *x509.Certificate, authorities []Authority) (*Principal, error) {
	p := &Principal{Kind: KindCertificate, Issuer: authorities[0].String()}
	add := func(kind Kind, value string) {
		if value == "" {
			return
		}
		if p.Name == "" {
			p.Name = value
		}
		for _, a := range authorities {
			p.Selectors = append(p.Selectors, Selector{Kind: kind, Issuer: a.ID, Value: value})
		}
	}
	add(KindCertificate, nameText(shown.RawSubject))
	for _, u := range shown.URIs {
		add(KindSAN, "URI:"+u.String())
	}
	for _, name := range shown.DNSNames {
		add(KindSAN, "DNS:"+name)
	}
	for _, address := range shown.EmailAddresses {
		add(KindSAN, "email:"+address)
	}
	switch {
	case p.Name == "":
		return nil, &CredentialError{Problem: "The client certificate has neither a subject nor an alternative name."}
	case len(p.Name) > maxSubject:
		return nil, &CredentialError{Problem: "The client certificate has a subject, or a first alternative name, of more than 512 bytes."}
	}
	return p, nil
}

// maxSubject is the size limit of the name of a certificate's holder, in bytes: each change keeps the name.
const maxSubject = 512
