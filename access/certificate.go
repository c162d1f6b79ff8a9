package access

import "net/http"

// Certificates knows callers by their client certificates. The listener has verified them.
type Certificates struct{}

// Authenticate tells who showed a certificate that one of the listener's authorities vouches for.
func (Certificates) Authenticate(r *http.Request) (*Principal, error) {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 || len(r.TLS.VerifiedChains[0]) == 0 {
		return nil, nil
	}
	shown := r.TLS.VerifiedChains[0][0]
	p := &Principal{Kind: KindCertificate}
	add := func(kind Kind, value string) {
		if value == "" {
			return
		}
		if p.Name == "" {
			p.Name = value
		}
		p.Selectors = append(p.Selectors, Selector{Kind: kind, Value: value})
	}
	add(KindCertificate, shown.Subject.String())
	for _, u := range shown.URIs {
		add(KindSAN, "URI:"+u.String())
	}
	for _, name := range shown.DNSNames {
		add(KindSAN, "DNS:"+name)
	}
	for _, address := range shown.EmailAddresses {
		add(KindSAN, "email:"+address)
	}
	if p.Name == "" {
		return nil, &CredentialError{Problem: "The client certificate has neither a subject nor an alternative name."}
	}
	return p, nil
}
