package settings

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"runtime"

	"almanac/access"
	"almanac/access/issuer"
	"almanac/access/token"
	"almanac/cmd/almanac/internal/flags"
	"almanac/internal/files"
)

// Access says who may call the API.
type Access struct {
	Tokens  *files.Watched[*token.Set]          // nil without a file
	Policy  *files.Watched[*access.Policy]      // nil without a file
	Revoked *files.Watched[*access.Revocations] // nil without a file
	Signers *files.Watched[[]*x509.Certificate] // the authorities of which there should be lists; nil likewise

	Issuers, Audiences []string
	Login              Login
	HideResponses      bool

	policyFile, revokedFile string
}

// The defaults for the short paths, /jobCollections/….
const (
	DefaultSubscription  = "00000000-0000-0000-0000-000000000000"
	DefaultResourceGroup = "default"
	DefaultCollection    = "default"
)

// AccessDefaults are where short scopes are.
var AccessDefaults = access.Defaults{Subscription: DefaultSubscription, ResourceGroup: DefaultResourceGroup}

// accessSettings are the settings of authentication and roles.
func (c *Config) accessSettings() flags.Group {
	a := &c.Access
	group := flags.Group{Name: "Access", Settings: []*flags.Setting{
		{Flag: "token-file", Variable: "ALMANAC_TOKEN_FILE",
			Commands: "dev server api token-create token-list token-revoke", Value: flags.File(&c.TokenFile),
			Help: "File of the tokens that the API accepts; it holds their hashes.",
			More: "`almanac token create` writes it. A change is in force within 2 s. [Access](access.md) has the rest."},
		{Flag: "oidc-issuer", Variable: "ALMANAC_OIDC_ISSUER", Commands: "dev server api",
			Value: flags.List("URLs", &a.Issuers, checkIssuers), Check: c.checkIssuers,
			Help: "OpenID Connect issuers whose tokens the API accepts, as tokens spell them.",
			More: "By https, or http on this machine. Their keys are found by discovery."},
		{Flag: "oidc-audience", Variable: "ALMANAC_OIDC_AUDIENCE", Commands: "dev server api",
			Value: flags.List("texts", &a.Audiences, func([]string) error { return nil }),
			Help:  "Audiences (aud) one of which an issuer's token must be for, byte by byte.",
			More: "Azure's SDKs ask for tokens for `https://management.azure.com/`, the same without the slash at the " +
				"end, or `https://management.core.windows.net/`."},
		{Flag: "access", Variable: "ALMANAC_ACCESS", Commands: "dev server api",
			Value: flags.File(&a.policyFile), Check: c.readAccess,
			Help: "YAML file that says which callers have which role in which scope.",
			More: "A change is in force within 2 s. Without it, only the roles in `--token-file` count."},
		{Flag: "hide-responses", Variable: "ALMANAC_HIDE_RESPONSES", Commands: "dev server api",
			Value: flags.Bool(&a.HideResponses), Check: c.checkHidden,
			Help: "Show what targets answer to contributors and owners only.",
			More: "Readers and operators see the status of a response, and not its headers and its body: [Access](access.md#responses-of-targets)."},
	}}
	group.Settings = append(group.Settings, c.loginSettings()...)
	return group
}

// checkHidden checks that there are roles to hide responses from.
func (c *Config) checkHidden() error {
	if c.Access.HideResponses && !c.Authenticating() {
		return c.set.Get("hide-responses").Wrong(errors.New("nothing tells who calls"), "it beside --token-file, --oidc-issuer or --client-ca")
	}
	return nil
}

// Authenticating reports whether callers of the API need a credential.
func (c *Config) Authenticating() bool {
	return c.AsksForToken() || c.set.Get("client-ca").Text() != ""
}

// AsksForToken reports whether callers may show a token.
func (c *Config) AsksForToken() bool { return c.TokenFile != "" || len(c.Access.Issuers) > 0 }

func checkIssuers(issuers []string) error {
	var errs []error
	for _, name := range issuers {
		errs = append(errs, issuer.CheckURL(name))
	}
	return errors.Join(errs...)
}

// checkIssuers checks that issuers and audiences are given together.
func (c *Config) checkIssuers() error {
	issuers, audiences := c.set.Get("oidc-issuer"), c.set.Get("oidc-audience")
	switch given := len(c.Access.Audiences) > 0; {
	case len(c.Access.Issuers) > 0 && !given:
		return issuers.Wrong(errors.New("no audience is given, so tokens for any other service of the issuer would "+
			"count"), "an issuer with --oidc-audience")
	case len(c.Access.Issuers) == 0 && given:
		return audiences.Wrong(errors.New("no issuer is given"), "an audience with --oidc-issuer")
	}
	return nil
}

// readAccess reads the files of tokens and assignments, and checks that the settings agree.
func (c *Config) readAccess() error {
	a := &c.Access
	if !c.Authenticating() {
		if a.policyFile != "" {
			return c.set.Get("access").Wrong(errors.New("nothing tells who calls"), "it beside --token-file, --oidc-issuer or --client-ca")
		}
		return nil
	}
	if c.UIListen != "" && !c.set.Get("ui-listen").Given() {
		c.UIListen = "" // it is for owners
	}
	var errs []error
	if c.keepSecrets {
		errs = append(errs, c.set.Get("allow-secret-retargeting").Wrong(errors.New("it lets callers have secrets sent to a target of their own"),
			"it without --token-file, --oidc-issuer and --client-ca"))
	}
	var err error
	if c.TokenFile != "" {
		c.warnOfWriters(c.TokenFile)
		if a.Tokens, err = files.Open(c.TokenFile, func(text []byte) (*token.Set, error) { return token.Parse(text, AccessDefaults) }); err != nil {
			errs = append(errs, c.set.Get("token-file").Wrong(err, ""))
		}
	}
	if a.policyFile != "" {
		c.warnOfWriters(a.policyFile)
		if a.Policy, err = files.Open(a.policyFile, c.parsePolicy); err != nil {
			errs = append(errs, c.set.Get("access").Wrong(err, ""))
		}
	}
	return errors.Join(errs...)
}

// parsePolicy reads a file of assignments, which may name the authorities of certificates.
func (c *Config) parsePolicy(text []byte) (*access.Policy, error) {
	o := access.FileOptions{Defaults: AccessDefaults, Issuers: c.Access.Issuers}
	if name := c.set.Get("client-ca").Text(); name != "" {
		content, err := files.Read(name)
		if err != nil {
			return nil, fmt.Errorf("--client-ca: %w", err)
		}
		if o.Authorities, err = access.ParseAuthorities(content); err != nil {
			return nil, fmt.Errorf("--client-ca: %w", err)
		}
	}
	return access.ParsePolicy(text, o)
}

// readRevocations reads the lists of revoked certificates.
func (c *Config) readRevocations() (err error) {
	a := &c.Access
	switch {
	case a.revokedFile == "":
		return nil
	case c.set.Get("client-ca").Text() == "":
		return c.set.Get("client-crl").Wrong(errors.New("no certificates of callers are accepted"), "it beside --client-ca")
	}
	c.warnOfWriters(a.revokedFile)
	if a.Revoked, err = files.Open(a.revokedFile, access.ParseRevocations); err != nil {
		return c.set.Get("client-crl").Wrong(err, "a file of certificate revocation lists in PEM or DER")
	}
	a.Signers, _ = files.Open(c.set.Get("client-ca").Text(), access.ParseCertificates) // the check of that setting says what is wrong
	return nil
}

// warnOfWriters warns about a file that other users may write, since its content decides who may call.
func (c *Config) warnOfWriters(name string) {
	if info, err := os.Stat(name); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("other users of this machine may write %s, which has the "+
			"permissions %#o: chmod 600 it", name, info.Mode().Perm()))
	}
}
