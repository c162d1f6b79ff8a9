package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"almanac/access/session"
	"almanac/cmd/almanac/internal/flags"
	"almanac/internal/files"
)

// Variables with secrets of logins.
const (
	clientSecretVariable = "ALMANAC_OIDC_CLIENT_SECRET"
	sessionKeyVariable   = "ALMANAC_SESSION_KEY"
)

// Login says how people log in with a browser.
type Login struct {
	Issuer, ClientID, ClientSecret string
	Scopes                         []string
	CommandLine                    CommandLine
	Lifetime                       time.Duration
	Key                            *session.Key

	clientSecretFile, keyFile, keyText string
}

// A CommandLine says how people log in at a command line.
type CommandLine struct {
	ClientID string
	Scopes   []string
}

// loginSettings are the settings of logins with a browser.
func (c *Config) loginSettings() []*flags.Setting {
	l := &c.Access.Login
	return []*flags.Setting{
		{Flag: "oidc-client-id", Variable: "ALMANAC_OIDC_CLIENT_ID", Commands: "dev server api",
			Value: flags.Text("text", &l.ClientID), Check: c.checkLogin,
			Help: "ID that an issuer knows Almanac by, for people who log in with a browser.",
			More: "The issuer leads back to `--public-url` with `/login/callback`, which has to be registered there. " +
				"Without an ID, the login page takes tokens only. [Access](access.md#login-with-a-browser) has the " +
				"rest."},
		{Flag: "oidc-client-secret-file", Variable: "ALMANAC_OIDC_CLIENT_SECRET_FILE", Commands: "dev server api",
			Value: flags.File(&l.clientSecretFile),
			Help:  "File with the secret of that client; or use $" + clientSecretVariable + ".",
			More:  "A public client has none: PKCE is always used."},
		{Variable: clientSecretVariable, Commands: "dev server api", Value: flags.Text("secret", &l.ClientSecret),
			Help: "The secret of that client itself, instead of a file."},
		{Flag: "oidc-login-issuer", Variable: "ALMANAC_OIDC_LOGIN_ISSUER", Commands: "dev server api",
			Value: flags.Text("URL", &l.Issuer),
			Help:  "The one of the issuers at which people log in. The default is the first.",
			More:  "It is one of `--oidc-issuer`."},
		{Flag: "oidc-scopes", Variable: "ALMANAC_OIDC_SCOPES", Commands: "dev server api",
			Value: flags.List("texts", &l.Scopes, func([]string) error { return nil }),
			Help:  "Scopes to ask the issuer for at a login, besides openid.",
			More:  "Such as `groups`, without which dex tells no groups."},
		{Flag: "oidc-cli-client-id", Variable: "ALMANAC_OIDC_CLI_CLIENT_ID", Commands: "dev server api",
			Value: flags.Text("text", &l.CommandLine.ClientID), Check: c.checkCommandLine,
			Help: "ID that an issuer knows Almanac's command line by, for `almanac login`.",
			More: "A public client, without a secret, that may use the device flow of `--oidc-login-issuer`. " +
				"[Access](access.md#login-of-the-command-line) has the rest."},
		{Flag: "oidc-cli-scopes", Variable: "ALMANAC_OIDC_CLI_SCOPES", Commands: "dev server api",
			Value: flags.List("texts", &l.CommandLine.Scopes, func([]string) error { return nil }), Default: "offline_access",
			Help: "Scopes that `almanac login` asks the issuer for, besides openid.",
			More: "`offline_access` is for a refresh token, without which a login ends with its first token. An issuer whose " +
				"tokens are for an audience that a scope selects needs that scope, too, such as `api://almanac/.default`."},
		{Flag: "session-lifetime", Variable: "ALMANAC_SESSION_LIFETIME", Commands: "dev server api",
			Value: flags.Duration(&l.Lifetime, 5*time.Minute, 7*24*time.Hour), Default: "8h",
			Help: "Time after which a browser has to log in again.",
			More: "The session of a token ends with the token, too."},
		{Flag: "session-key-file", Variable: "ALMANAC_SESSION_KEY_FILE", Commands: "dev server api",
			Value: flags.File(&l.keyFile), Check: c.readSessionKey,
			Help: "File with the secret that encrypts session cookies; or use $" + sessionKeyVariable + ".",
			More: "At least 32 bytes, as `openssl rand -base64 32` prints them. Processes of `api` behind one address " +
				"need the same one. Without it each process makes one when it starts, which ends all sessions."},
		{Variable: sessionKeyVariable, Commands: "dev server api", Value: flags.Text("secret", &l.keyText),
			Help: "The secret itself, instead of a file."},
	}
}

// checkLogin checks the settings of the client of an issuer, and reads its secret.
func (c *Config) checkLogin() (err error) {
	a, l := &c.Access, &c.Access.Login
	id, secretFile, from := c.set.Get("oidc-client-id"), c.set.Get("oidc-client-secret-file"), c.set.Get("oidc-login-issuer")
	switch {
	case l.ClientID != "" && len(a.Issuers) == 0:
		return id.Wrong(errors.New("no issuer is given"), "a client with --oidc-issuer")
	case l.ClientID == "" && l.clientSecretFile != "":
		return secretFile.Wrong(errors.New("no client is given"), "a secret with --oidc-client-id")
	case l.ClientID == "" && l.ClientSecret != "":
		return c.set.Get(clientSecretVariable).Wrong(errors.New("no client is given"), "a secret with --oidc-client-id")
	case l.Issuer != "" && !slices.Contains(a.Issuers, l.Issuer):
		return from.Wrong(fmt.Errorf("%.200q is not one of --oidc-issuer", l.Issuer), "one of those issuers, byte by byte")
	case l.Issuer == "" && len(a.Issuers) > 0:
		l.Issuer = a.Issuers[0]
	}
	l.ClientSecret, err = secretOf(secretFile, l.clientSecretFile, clientSecretVariable, l.ClientSecret)
	return err
}

// checkCommandLine checks that the client of the command line has an issuer.
func (c *Config) checkCommandLine() error {
	if c.Access.Login.CommandLine.ClientID != "" && len(c.Access.Issuers) == 0 {
		return c.set.Get("oidc-cli-client-id").Wrong(errors.New("no issuer is given"), "a client with --oidc-issuer")
	}
	return nil
}

// secretOf returns the secret that is in a file or in a variable; "" if it is in neither.
func secretOf(setting *flags.Setting, file, variable, text string) (string, error) {
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
	l := &c.Access.Login
	source := c.set.Get("session-key-file")
	secret, err := secretOf(source, l.keyFile, sessionKeyVariable, l.keyText)
	if err != nil {
		return err
	}
	if l.keyFile == "" {
		if l.keyText == "" {
			l.Key = session.RandomKey()
			return nil
		}
		source = c.set.Get(sessionKeyVariable)
	}
	if l.Key, err = session.NewKey(secret); err != nil {
		return source.Wrong(fmt.Errorf("the secret is too short: %w", err), fmt.Sprintf("a random text of at least %d bytes", session.MinSecret))
	}
	return nil
}
