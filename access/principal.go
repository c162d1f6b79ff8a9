package access

import (
	"cmp"
	"context"
)

// A Kind is what a [Selector] compares.
type Kind string

// The kinds of selectors, by their names in the file of assignments.
const (
	KindToken       Kind = "token"       // the name of a token
	KindSubject     Kind = "subject"     // the claim sub of a JWT
	KindObject      Kind = "object"      // oid: a user's or an application's object in Entra ID
	KindApplication Kind = "application" // appid, azp or client_id: the client that asked for the JWT
	KindGroup       Kind = "group"       // one of groups
	KindAppRole     Kind = "appRole"     // one of roles
	KindCertificate Kind = "certificate" // the subject of a client certificate, such as CN=ci,O=Example
	KindSAN         Kind = "san"         // an alternative name of it, such as DNS:ci.internal
)

// kinds are all kinds.
var kinds = []Kind{KindToken, KindSubject, KindObject, KindApplication, KindGroup, KindAppRole, KindCertificate, KindSAN}

// ofIssuer reports whether values of the kind belong to the issuer of a JWT.
func (k Kind) ofIssuer() bool {
	switch k {
	case KindSubject, KindObject, KindApplication, KindGroup, KindAppRole:
		return true
	}
	return false
}

// A Selector selects the principals that have a value. Values compare byte by byte.
type Selector struct {
	Kind   Kind
	Issuer string // of a JWT, or the [Authority.ID] of a certificate's; else ""
	Value  string
}

// A Principal is the sender of a request. It is immutable.
type Principal struct {
	Kind      Kind   // [KindToken], [KindSubject] or [KindCertificate]: how it authenticated
	Name      string // for people: the name of the token, the subject, the subject of the certificate
	Issuer    string // of a JWT; of a certificate, its authority for people
	Tenant    string // the claim tid
	Object    string // the claim oid
	Selectors []Selector
	Grant     Grant // what its token file gives it, besides assignments
}

// ID returns a unique id of the principal: how it authenticated, and its name, such as token:ci,
// https://login.example.com#alice or certificate:CN=ci (CN=authority sha256:0123456789abcdef).
func (p *Principal) ID() string {
	switch {
	case p.Kind == KindSubject:
		return p.Issuer + "#" + p.Name
	case p.Kind == KindCertificate && p.Issuer != "":
		return "certificate:" + p.Name + " (" + p.Issuer + ")"
	}
	return cmp.Or(string(p.Kind), "caller") + ":" + p.Name
}

// A Grant is a role in a scope, and all that is below the scope.
type Grant struct {
	Role  Role
	Scope Scope
}

type principalKey struct{}

// WithPrincipal returns a context of a request that p sent.
func WithPrincipal(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalOf returns the sender of the request of a context; nil without authentication.
func PrincipalOf(ctx context.Context) *Principal {
	p, _ := ctx.Value(principalKey{}).(*Principal)
	return p
}
