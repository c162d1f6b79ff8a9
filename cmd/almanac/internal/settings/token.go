package settings

import (
	"time"

	"almanac/access"
	"almanac/access/token"
	"almanac/cmd/almanac/internal/flags"
)

// A tokenConfig is the token to create.
type tokenConfig struct {
	Name, Role, Scope string
	Expires           time.Duration // 0: never
}

// maxExpires is the longest life of a token that has an end.
const maxExpires = 3650 * 24 * time.Hour

func (c *Config) tokenSettings() flags.Group {
	t := &c.Token
	return flags.Group{Name: "Token", Settings: []*flags.Setting{
		{Flag: "name", Commands: "token-create", Value: flags.Text("name", &t.Name),
			Help: "Name of the token, by which assignments, logs and changes know the caller.", More: "Allowed are " + token.AllowedNames + "."},
		{Flag: "role", Commands: "token-create", Value: flags.Choice(&t.Role, access.RoleNames()...),
			Help: "Role of the token in the scope. Without one, only --access gives it roles."},
		{Flag: "scope", Commands: "token-create", Value: flags.Text("path", &t.Scope), Default: "/",
			Help: "Scope of the role, such as /jobCollections/payroll; / is everything.", More: "Allowed are " + access.AllowedScopes + "."},
		{Flag: "expires", Commands: "token-create",
			Value: flags.Optional(flags.Duration(&t.Expires, time.Minute, maxExpires)), Default: "90d",
			Help: "How long the token counts. If it is empty, it never expires."},
	}}
}
