package config

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"time"

	"almanac/access"
	"almanac/access/issuer"
	"almanac/access/login"
	"almanac/access/session"
	"almanac/access/token"
	"almanac/api"
	"almanac/api/guard"
	"almanac/internal/callers"
	"almanac/internal/files"
	"almanac/internal/settings"
)

// An accessConfig says who may call the API.
type accessConfig struct {
	policyFile         string
	issuers, audiences []string

	login         loginConfig
	hideResponses bool

	tokens *files.Watched[*token.Set]     // nil without a file
	policy *files.Watched[*access.Policy] // likewise

	revokedFile string
	revoked     *files.Watched[*access.Revocations] // likewise
	client      *http.Client                        // for issuers, made by wire

	authenticators []access.Authenticator // of tokens, set by OpenDoor
	issuer         *issuer.Authenticator  // nil without an issuer
}

// The defaults for the short paths, /jobCollections/….
const (
	DefaultSubscription  = "00000000-0000-0000-0000-000000000000"
	DefaultResourceGroup = "default"
	DefaultCollection    = "default"
)

// AccessDefaults are where short scopes are.
var AccessDefaults = access.Defaults{Subscription: DefaultSubscription, ResourceGroup: DefaultResourceGroup}

// accessSettings are the settings of who may call the API.
func (c *Config) accessSettings() settings.Group {
	a := &c.access
	group := settings.Group{Name: "Access", Settings: []*settings.Setting{
		{Flag: "token-file", Variable: "ALMANAC_TOKEN_FILE", Commands: "dev server api token-create token-list token-revoke", Value: settings.File(&c.TokenFile),
			Help: "File of the tokens that the API accepts; it holds their hashes.",
			More: "`almanac token create` writes it. A change is in force within 2 s. [Access](access.md) has the rest."},
		{Flag: "oidc-issuer", Variable: "ALMANAC_OIDC_ISSUER", Commands: "dev server api", Value: settings.List("URLs", &a.issuers, checkIssuers), Check: c.checkIssuers,
			Help: "OpenID Connect issuers whose tokens the API accepts, as tokens spell them.",
			More: "By https, or http on this machine. Their keys are found by discovery."},
		{Flag: "oidc-audience", Variable: "ALMANAC_OIDC_AUDIENCE", Commands: "dev server api", Value: settings.List("texts", &a.audiences, func([]string) error { return nil }),
			Help: "Audiences (aud) one of which an issuer's token must be for, byte by byte.",
			More: "Azure's SDKs ask for tokens for `https://management.azure.com/`, the same without the slash at the end, or `https://management.core.windows.net/`."},
		{Flag: "access", Variable: "ALMANAC_ACCESS", Commands: "dev server api", Value: settings.File(&a.policyFile), Check: c.readAccess,
			Help: "YAML file that says which callers have which role in which scope.",
			More: "A change is in force within 2 s. Without it, only the roles in `--token-file` count."},
		{Flag: "hide-responses", Variable: "ALMANAC_HIDE_RESPONSES", Commands: "dev server api", Value: settings.Bool(&a.hideResponses), Check: c.checkHidden,
			Help: "Show what targets answer to contributors and owners only.",
			More: "Readers and operators see the status of a response, and not its headers and its body: [Access](access.md#responses-of-targets)."},
	}}
	group.Settings = append(group.Settings, c.loginSettings()...)
	return group
}

// checkHidden checks that there are roles to hide responses from.
func (c *Config) checkHidden() error {
	if c.access.hideResponses && !c.authenticating() {
		return c.settings.Get("hide-responses").Wrong(errors.New("nothing tells who calls"), "it beside --token-file, --oidc-issuer or --client-ca")
	}
	return nil
}

// authenticating reports whether the API asks who calls.
func (c *Config) authenticating() bool {
	return c.AsksForToken() || c.settings.Get("client-ca").Text() != ""
}

// AsksForToken reports whether callers may show a token.
func (c *Config) AsksForToken() bool { return c.TokenFile != "" || len(c.access.issuers) > 0 }

// CurlLogin returns the options by which a caller shows who it is in a command of curl, with a blank after them; "" if nothing asks for that.
func (c *Config) CurlLogin() string {
	switch {
	case c.AsksForToken():
		return `-H "Authorization: Bearer $TOKEN" `
	case c.authenticating():
		return "--cert client.pem --key client.key "
	}
	return ""
}

func checkIssuers(issuers []string) error {
	var errs []error
	for _, name := range issuers {
		errs = append(errs, issuer.CheckURL(name))
	}
	return errors.Join(errs...)
}

// checkIssuers checks that issuers and audiences are given together.
func (c *Config) checkIssuers() error {
	issuers, audiences := c.settings.Get("oidc-issuer"), c.settings.Get("oidc-audience")
	switch given := len(c.access.audiences) > 0; {
	case len(c.access.issuers) > 0 && !given:
		return issuers.Wrong(errors.New("no audience is given, so tokens for any other service of the issuer would count"), "an issuer with --oidc-audience")
	case len(c.access.issuers) == 0 && given:
		return audiences.Wrong(errors.New("no issuer is given"), "an audience with --oidc-issuer")
	}
	return nil
}

// readAccess reads the files that say who may call, and checks that the settings agree.
func (c *Config) readAccess() error {
	a := &c.access
	if !c.authenticating() {
		if a.policyFile != "" {
			return c.settings.Get("access").Wrong(errors.New("nothing tells who calls"), "it beside --token-file, --oidc-issuer or --client-ca")
		}
		return nil
	}
	if c.UIListen != "" && !c.settings.Get("ui-listen").Given() {
		c.UIListen = "" // it is for owners
	}
	var errs []error
	if c.keepSecrets {
		errs = append(errs, c.settings.Get("allow-secret-retargeting").Wrong(errors.New("it lets callers have secrets sent to a target of their own"),
			"it without --token-file, --oidc-issuer and --client-ca"))
	}
	var err error
	if c.TokenFile != "" {
		c.warnOfWriters(c.TokenFile)
		if a.tokens, err = files.Open(c.TokenFile, func(text []byte) (*token.Set, error) { return token.Parse(text, AccessDefaults) }); err != nil {
			errs = append(errs, c.settings.Get("token-file").Wrong(err, ""))
		}
	}
	if a.policyFile != "" {
		c.warnOfWriters(a.policyFile)
		if a.policy, err = files.Open(a.policyFile, c.parsePolicy); err != nil {
			errs = append(errs, c.settings.Get("access").Wrong(err, ""))
		}
	}
	return errors.Join(errs...)
}

// parsePolicy reads a file of assignments, which may name the authorities of certificates.
func (c *Config) parsePolicy(text []byte) (*access.Policy, error) {
	o := access.FileOptions{Defaults: AccessDefaults, Issuers: c.access.issuers}
	if name := c.settings.Get("client-ca").Text(); name != "" {
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
	a := &c.access
	switch {
	case a.revokedFile == "":
		return nil
	case c.settings.Get("client-ca").Text() == "":
		return c.settings.Get("client-crl").Wrong(errors.New("no certificates of callers are accepted"), "it beside --client-ca")
	}
	c.warnOfWriters(a.revokedFile)
	if a.revoked, err = files.Open(a.revokedFile, access.ParseRevocations); err != nil {
		return c.settings.Get("client-crl").Wrong(err, "a file of certificate revocation lists in PEM or DER")
	}
	return nil
}

// warnOfWriters warns about a file that others than its owner may write: who writes it decides who may call.
func (c *Config) warnOfWriters(name string) {
	if info, err := os.Stat(name); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		c.warnings = append(c.warnings, fmt.Sprintf("other users of this machine may write %s, which has the permissions %#o: chmod 600 it", name, info.Mode().Perm()))
	}
}

// OpenDoor makes what tells who calls by a token. It watches the files until ctx ends.
func (c *Config) OpenDoor(ctx context.Context) {
	a := &c.access
	if a.tokens != nil {
		go a.tokens.Watch(ctx, c.Log)
		a.authenticators = append(a.authenticators, &token.Authenticator{Tokens: a.tokens.Value})
	}
	if len(a.issuers) > 0 {
		a.issuer = issuer.New(issuer.Options{Issuers: a.issuers, Audiences: a.audiences, Client: a.client, Log: c.Log})
		a.authenticators = append(a.authenticators, a.issuer)
	}
	if a.policy != nil {
		go a.policy.Watch(ctx, c.Log)
	}
	if a.revoked != nil {
		go a.revoked.Watch(ctx, c.Log)
	}
}

// assignments returns the assignments in force; nil if there is no file of them.
func (a *accessConfig) assignments() *access.Policy {
	if a.policy == nil {
		return nil
	}
	return a.policy.Value()
}

// withSessions returns what tells who calls, in the order in which it is asked.
func (a *accessConfig) withSessions(sessions *session.Authenticator) []access.Authenticator {
	all := slices.Clone(a.authenticators)
	if sessions != nil {
		all = append(all, sessions)
	}
	certificates := access.Certificates{}
	if a.revoked != nil {
		certificates.Revoked = a.revoked.Value
	}
	return append(all, certificates)
}

// protectAPI adds to the options of the API who may call it, and returns its login pages; nil if there are none. OpenDoor has been
// called.
func (c *Config) protectAPI(o *api.Options) *login.Handler {
	a := &c.access
	o.Problems = c.problems
	if !c.authenticating() {
		return nil
	}
	pages, sessions := c.pages(c.publicURL, "/docs", o.Callers, a.authenticators, a.issuer)
	o.Access = &guard.Access{Authenticators: a.withSessions(sessions), Policy: a.assignments}
	return pages
}

// problems returns what is wrong although jobs can be stored and run.
func (c *Config) problems() (found []string) {
	for _, problem := range append(c.access.problems(), c.refusals.Problem) {
		if text := problem(); text != "" {
			found = append(found, text)
		}
	}
	return found
}

// problems returns what says that a file cannot be used.
func (a *accessConfig) problems() (all []func() string) {
	if a.tokens != nil {
		all = append(all, a.tokens.Problem)
	}
	if a.policy != nil {
		all = append(all, a.policy.Problem)
	}
	if a.revoked != nil {
		all = append(all, a.revoked.Problem, func() string { return a.revoked.Value().Problem(time.Now()) })
	}
	return all
}

// ProtectUI returns what lets only owners reach the Web UI; nil if nothing asks who calls. OpenDoor has been called.
func (c *Config) ProtectUI() func(http.Handler) http.Handler {
	a := &c.access
	if !c.authenticating() {
		return nil
	}
	limits := callers.NewLimiter(c.perCaller)
	pages, sessions := c.pages(nil, "/", limits, a.authenticators, a.issuer)
	gate := &login.Gate{Authenticators: a.withSessions(sessions), Policy: a.assignments, Pages: pages, Callers: limits, Log: c.Log, Refused: c.auditRefused}
	return func(next http.Handler) http.Handler { return c.proxies.Resolve(gate.Before(next)) }
}
