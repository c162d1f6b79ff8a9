package issuer

import (
	"context"
	"crypto/subtle"

	"almanac/access"
)

// An Identity is what an issuer says about somebody, in the names of OpenID Connect and of Entra ID. It is less than a
// token: its JSON is short, and proves nothing.
type Identity struct {
	Issuer  string `json:"iss"`
	Subject string `json:"sub"`
	Tenant  string `json:"tid,omitempty"`
	Object  string `json:"oid,omitempty"`
	Groups  many   `json:"groups,omitempty"`
	Roles   many   `json:"roles,omitempty"`
}

// Principal returns the caller whom an issuer describes.
func (i *Identity) Principal() *access.Principal {
	p := &access.Principal{
		Kind: access.KindSubject, Name: i.Subject, Issuer: i.Issuer, Tenant: i.Tenant, Object: i.Object,
		Selectors: make([]access.Selector, 0, 4+len(i.Groups)+len(i.Roles)),
	}
	i.selects(p, access.KindSubject, i.Subject)
	i.selects(p, access.KindObject, i.Object)
	i.selects(p, access.KindGroup, i.Groups...)
	i.selects(p, access.KindAppRole, i.Roles...)
	if i.Object != "" {
		p.Name = i.Object // the subject differs from application to application
	}
	return p
}

// selects adds selectors to a principal.
func (i *Identity) selects(p *access.Principal, kind access.Kind, values ...string) {
	for _, v := range values {
		if v != "" {
			p.Selectors = append(p.Selectors, access.Selector{Kind: kind, Issuer: i.Issuer, Value: v})
		}
	}
}

// Identity verifies the ID token that an issuer sent to a client, which had asked for it with a nonce. The error is an
// [access.CredentialError] unless the issuer could not be asked for its keys.
func (a *Authenticator) Identity(ctx context.Context, from, client, nonce, raw string) (*Identity, error) {
	said, _, err := a.verify(ctx, raw)
	if err != nil {
		return nil, err
	}
	if said.Issuer != from {
		return nil, refuse("The ID token is of another issuer than the one that was asked.", nil)
	}
	if problem := a.problem(said, []string{client}); problem != "" {
		return nil, refuse(problem, nil)
	}
	switch {
	case nonce == "" || subtle.ConstantTimeCompare([]byte(said.Nonce), []byte(nonce)) != 1:
		return nil, refuse("The ID token is of another login: its nonce differs.", nil)
	case len(said.Audience) > 1 && said.AppV2 == "", said.AppV2 != "" && said.AppV2 != client:
		return nil, refuse("The ID token was issued to another client (azp).", nil)
	}
	return &said.Identity, nil
}
