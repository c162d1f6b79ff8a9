package kind

import (
	"cmp"
	"crypto/sha1"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"almanac/internal/certificate"
	"almanac/internal/fields"
	"almanac/internal/iso8601"
)

// Authentication authenticates a request. Type decides which members are used. Password, Pfx and Secret are
// secrets.
type Authentication struct {
	Username string `json:"username,omitempty" field:"in=Basic,required,empty"`
	Password string `json:"password,omitempty" field:"in=Basic|ClientCertificate,secret"`
	// EmptyPassword says that the password is empty; otherwise an empty Password means a stored one.
	EmptyPassword bool `json:"emptyPassword,omitempty" field:"in=Basic"`

	Pfx                    string `json:"pfx,omitempty" field:"in=ClientCertificate,secret,rule=pfx"` // in base64
	CertificateThumbprint  string `json:"certificateThumbprint,omitempty" field:"in=ClientCertificate"`
	CertificateExpiration  string `json:"certificateExpiration,omitempty" field:"in=ClientCertificate,readonly"`
	CertificateSubjectName string `json:"certificateSubjectName,omitempty" field:"in=ClientCertificate,readonly"`

	Secret   string `json:"secret,omitempty" field:"in=ActiveDirectoryOAuth,secret"`
	Tenant   string `json:"tenant,omitempty" field:"in=ActiveDirectoryOAuth,required"`
	Audience string `json:"audience,omitempty" field:"in=ActiveDirectoryOAuth,required"`
	ClientID string `json:"clientId,omitempty" field:"in=ActiveDirectoryOAuth,required"`

	Type AuthType `json:"type" field:"variant,required,enum=Basic|ClientCertificate|ActiveDirectoryOAuth|NotSpecified"`

	_ struct{} `ignore:"certificateExpirationDate"`
}

// MarshalJSON implements [json.Marshaler]. An empty user of basic authentication is shown, since the member is
// required.
func (a Authentication) MarshalJSON() ([]byte, error) {
	type plain Authentication
	if a.Type != AuthBasic || a.Username != "" {
		return json.Marshal(plain(a))
	}
	return json.Marshal(struct {
		Username string `json:"username"`
		plain
	}{plain: plain(a)})
}

// An AuthType names a way to authenticate a request.
type AuthType string

// The ways to authenticate.
const (
	AuthBasic             AuthType = "Basic"
	AuthClientCertificate AuthType = "ClientCertificate"
	AuthOAuth             AuthType = "ActiveDirectoryOAuth"

	authNone AuthType = "NotSpecified"
)

const (
	wantPFX        = "a PFX file in base64"
	maxPfxPassword = 256
)

var pfxRule = fields.Rule{Allowed: wantPFX, Valid: func(s string) bool {
	_, err := certificate.Decode(s)
	return err == nil
}}

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

// check checks the credentials of basic authentication (RFC 7617).
func (a *Authentication) check(c *Checker) {
	if a.Type != AuthBasic {
		return
	}
	c.Add("authentication.username", checkUser(a.Username))
	if strings.ContainsFunc(a.Password, unicode.IsControl) {
		c.Fail("authentication.password", fields.Invalid, "a password without control characters", "")
	}
	if a.EmptyPassword && a.Password != "" {
		c.Fail("authentication.emptyPassword", fields.Forbidden, "",
			"there is a password beside it: leave one of them out")
	}
}

// Secrets implements [Parameters].
func (r *Request) Secrets(old Parameters) []Secret {
	auth := r.Authentication
	if auth == nil {
		return nil
	}
	stored, _ := old.(*Request)
	was := &Authentication{}
	if stored != nil {
		was = cmp.Or(stored.Authentication, was)
	}
	needed := func(t AuthType, allowed string) string { return map[AuthType]string{t: allowed}[auth.Type] }
	keeps := r.keeps(stored)
	password := Secret{
		Path: "authentication.password", Value: &auth.Password, Stored: was.Password, Kept: keeps,
		Allowed: needed(AuthBasic, `a password ("" is an empty one)`),
	}
	password.Kept.Identity = keeps.Identity && auth.Pfx == "" // a new certificate has its own password
	if auth.Type == AuthBasic {
		password.Empty, password.StoredEmpty = &auth.EmptyPassword, was.EmptyPassword
	}
	return []Secret{
		password,
		{
			Path: "authentication.pfx", Value: &auth.Pfx, Stored: was.Pfx, Kept: keeps,
			Allowed:  needed(AuthClientCertificate, wantPFX),
			Together: func() { auth.describedAs(was) },
		},
		{
			Path: "authentication.secret", Value: &auth.Secret, Stored: was.Secret, Kept: keeps,
			Allowed: needed(AuthOAuth, "the client's secret"),
		},
	}
}

// keeps reports whether the secrets of old, which may be nil, may be kept.
func (r *Request) keeps(old *Request) Kept {
	if old == nil || old.Authentication == nil || r.Authentication.Type != old.Authentication.Type {
		return Kept{}
	}
	var k Kept
	a, o := r.Authentication, old.Authentication
	switch a.Type {
	case AuthBasic:
		k.Identity = a.Username == o.Username
	case AuthClientCertificate:
		k.Identity = a.CertificateThumbprint == "" || fields.SameName(a.CertificateThumbprint, o.CertificateThumbprint)
	case AuthOAuth:
		k.Identity = a.ClientID == o.ClientID
		k.move("tenant", a.Tenant, o.Tenant)
		k.move("audience", a.Audience, o.Audience)
	}
	if r.URI != "" { // an action without a URI sends nothing
		k.move("scheme, host or port of uri", origin(r.URI), origin(old.URI))
	}
	k.move("header Host", r.Headers.Get("Host"), old.Headers.Get("Host"))
	return k
}

// Describe implements [Describer]. It checks a client certificate and sets the members that describe it: they come
// from old if its certificate is kept, and from the certificate otherwise.
func (r *Request) Describe(c *Checker, old Parameters) {
	a := r.Authentication
	if a == nil || a.Type != AuthClientCertificate {
		return
	}
	const pfx, password = "authentication.pfx", "authentication.password"
	if utf8.RuneCountInString(a.Password) > maxPfxPassword {
		c.Fail(password, fields.TooLong, fmt.Sprintf("at most %d characters", maxPfxPassword), "")
	}
	switch {
	case c.Has(pfx), c.Has(password): // errors already
	case a.Pfx == "" && a.Password != "": // whether it opens the stored file cannot be checked here
		c.Fail(pfx, fields.Required, wantPFX, "a password belongs to the file that is sent with it")
	case a.Pfx == "":
		if stored, _ := old.(*Request); stored != nil && stored.Authentication != nil { // otherwise it is kept later, or missing
			a.describedAs(stored.Authentication)
		}
	default:
		if err := a.describe(); errors.Is(err, certificate.ErrPassword) {
			c.Fail(password, fields.Invalid, err.Error(), "")
		} else if err != nil {
			c.Fail(pfx, fields.Invalid, err.Error(), "")
		}
	}
}

// describedAs takes the members that describe a certificate.
func (a *Authentication) describedAs(was *Authentication) {
	a.CertificateThumbprint = was.CertificateThumbprint
	a.CertificateExpiration = was.CertificateExpiration
	a.CertificateSubjectName = was.CertificateSubjectName
}

// describe sets the members that describe the certificate in the PFX file.
func (a *Authentication) describe() error {
	c, err := certificate.Read(a.Pfx, a.Password)
	if err != nil {
		return err
	}
	a.CertificateThumbprint = fmt.Sprintf("%X", sha1.Sum(c.Leaf.Raw))
	a.CertificateExpiration = iso8601.Time{Time: c.Leaf.NotAfter}.String()
	a.CertificateSubjectName = certificate.Subject(c.Leaf)
	return nil
}
