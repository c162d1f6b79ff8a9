package config

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"almanac/access"
	"almanac/access/issuer"
	"almanac/access/login"
	"almanac/access/session"
	"almanac/internal/audit/refusals"
	"almanac/internal/callers"
	"almanac/internal/files"
	"almanac/internal/settings"
)

// Variables with secrets of logins.
const (
	clientSecretVariable = "ALMANAC_OIDC_CLIENT_SECRET"
	sessionKeyVariable   = "ALMANAC_SESSION_KEY"
)

// A loginConfig says how people log in with a browser.
type loginConfig struct {
	issuer, clientID, clientSecret, clientSecretFile string
	scopes                                           []string
	lifetime                                         time.Duration
	keyFile, keyText                                 string
	key                                              *session.Key
}

// loginSettings are the settings of logins with a browser.
func (c *Config) loginSettings() []*settings.Setting {
	l := &c.access.login
	return []*settings.Setting{
		{Flag: "oidc-client-id", Variable: "ALMANAC_OIDC_CLIENT_ID", Commands: "dev server api", Value: settings.Text("text", &l.clientID), Check: c.checkLogin,
			Help: "ID that an issuer knows Almanac by, for people who log in with a browser.",
			More: "The issuer leads back to `--public-url` with `/login/callback`, which has to be registered there. Without an ID, the login page takes tokens only. [Access](access.md#login-with-a-browser) has the rest."},
		{Flag: "oidc-client-secret-file", Variable: "ALMANAC_OIDC_CLIENT_SECRET_FILE", Commands: "dev server api", Value: settings.File(&l.clientSecretFile),
			Help: "File with the secret of that client; or use $" + clientSecretVariable + ".",
			More: "A public client has none: PKCE is always used."},
		{Variable: clientSecretVariable, Commands: "dev server api", Value: settings.Text("secret", &l.clientSecret),
			Help: "The secret of that client itself, instead of a file."},
		{Flag: "oidc-login-issuer", Variable: "ALMANAC_OIDC_LOGIN_ISSUER", Commands: "dev server api", Value: settings.Text("URL", &l.issuer),
			Help: "The one of the issuers at which people log in. The default is the first.",
			More: "It is one of `--oidc-issuer`."},
		{Flag: "oidc-scopes", Variable: "ALMANAC_OIDC_SCOPES", Commands: "dev server api", Value: settings.List("texts", &l.scopes, func([]string) error { return nil }),
			Help: "Scopes to ask the issuer for at a login, besides openid.",
			More: "Such as `groups`, without which dex tells no groups."},
		{Flag: "session-lifetime", Variable: "ALMANAC_SESSION_LIFETIME", Commands: "dev server api", Value: settings.Duration(&l.lifetime, 5*time.Minute, 7*24*time.Hour), Default: "8h",
			Help: "Time after which a browser has to log in again.",
			More: "The session of a token ends with the token, too."},
		{Flag: "session-key-file", Variable: "ALMANAC_SESSION_KEY_FILE", Commands: "dev server api", Value: settings.File(&l.keyFile), Check: c.readSessionKey,
			Help: "File with the secret that encrypts session cookies; or use $" + sessionKeyVariable + ".",
			More: "At least 32 bytes, as `openssl rand -base64 32` prints them. Processes of `api` behind one address need the same one. Without it each process makes one when it starts, which ends all sessions."},
		{Variable: sessionKeyVariable, Commands: "dev server api", Value: settings.Text("secret", &l.keyText),
			Help: "The secret itself, instead of a file."},
	}
}

// checkLogin checks the settings of the client of an issuer, and reads its secret.
func (c *Config) checkLogin() (err error) {
	a, l := &c.access, &c.access.login
	id, secretFile, from := c.settings.Get("oidc-client-id"), c.settings.Get("oidc-client-secret-file"), c.settings.Get("oidc-login-issuer")
	switch {
	case l.clientID != "" && len(a.issuers) == 0:
		return id.Wrong(errors.New("no issuer is given"), "a client with --oidc-issuer")
	case l.clientID == "" && l.clientSecretFile != "":
		return secretFile.Wrong(errors.New("no client is given"), "a secret with --oidc-client-id")
	case l.clientID == "" && l.clientSecret != "":
		return c.settings.Get(clientSecretVariable).Wrong(errors.New("no client is given"), "a secret with --oidc-client-id")
	case l.issuer != "" && !slices.Contains(a.issuers, l.issuer):
		return from.Wrong(fmt.Errorf("%.200q is not one of --oidc-issuer", l.issuer), "one of those issuers, byte by byte")
	case l.issuer == "" && len(a.issuers) > 0:
		l.issuer = a.issuers[0]
	}
	l.clientSecret, err = secretOf(secretFile, l.clientSecretFile, clientSecretVariable, l.clientSecret)
	return err
}

// secretOf returns the secret that is in a file or in a variable; "" if it is in neither.
func secretOf(setting *settings.Setting, file, variable, text string) (string, error) {
	switch {
	case file == "":
		return text, nil
	case text != "":
		return "", setting.Wrong(fmt.Errorf("$%s is set, too", variable), "one of them")
	}
	content, err := files.Read(file)
	if err != nil {
		return "", setting.Wrong(err, "")
	}
	return strings.TrimRight(string(content), "\r\n"), nil
}

// readSessionKey sets the key of session cookies.
func (c *Config) readSessionKey() error {
	l := &c.access.login
	source := c.settings.Get("session-key-file")
	secret, err := secretOf(source, l.keyFile, sessionKeyVariable, l.keyText)
	if err != nil {
		return err
	}
	if l.keyFile == "" {
		if l.keyText == "" {
			l.key = session.RandomKey()
			return nil
		}
		source = c.settings.Get(sessionKeyVariable)
	}
	if l.key, err = session.NewKey(secret); err != nil {
		return source.Wrong(fmt.Errorf("the secret is too short: %w", err), fmt.Sprintf("a random text of at least %d bytes", session.MinSecret))
	}
	return nil
}

// pages returns the login pages of a server that browsers reach at a URL, and what knows their sessions. Both are nil if there is
// nothing to log in with.
func (c *Config) pages(public *url.URL, home string, limits *callers.Limiter, tokens []access.Authenticator, issuers *issuer.Authenticator) (*login.Handler, *session.Authenticator) {
	l := &c.access.login
	if len(tokens) == 0 {
		return nil, nil
	}
	same, err := session.NewSameOrigin(public)
	if err != nil { // the setting has been checked: it is a URL
		c.Log.Error("there is no login page", "error", err)
		return nil, nil
	}
	sessions := &session.Authenticator{Key: l.key, Tokens: tokens, Same: same}
	o := login.Options{Sessions: sessions, Lifetime: l.lifetime, PublicURL: public, Home: home, Callers: limits, Log: c.Log, Refused: c.auditRefused}
	if l.clientID != "" {
		sessions.Issuer = l.issuer
		o.Provider = &login.Provider{Issuer: l.issuer, ClientID: l.clientID, ClientSecret: l.clientSecret, Scopes: l.scopes, Client: c.access.client, Tokens: issuers}
	}
	return login.New(o), sessions
}

// auditRefused writes to the audit log, if there is one, that a login or a request to the Web UI was refused.
func (c *Config) auditRefused(r *http.Request, principal string, status int, code string) {
	if c.refusals == nil {
		return
	}
	err := c.refusals.Write(refusals.Refusal{Time: time.Now(), Principal: principal, Client: callers.ByAddress(r), Method: r.Method, Path: r.URL.Path, Status: status, Code: code})
	if err != nil {
		c.Log.ErrorContext(r.Context(), "a refused request is missing in the audit log", "error", err)
	}
}
