package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"almanac/access"
	"almanac/access/token"
	"almanac/internal/settings"
)

// A tokenConfig is the token to create.
type tokenConfig struct {
	name, role, scope string
	expires           time.Duration // 0: never
}

// maxExpires is the longest life of a token that has an end.
const maxExpires = 3650 * 24 * time.Hour

func (c *config) tokenSettings() settings.Group {
	t := &c.token
	return settings.Group{Name: "Token", Settings: []*settings.Setting{
		{Flag: "name", Commands: "token-create", Value: settings.Text("name", &t.name),
			Help: "Name of the token, by which assignments, logs and changes know the caller.", More: "Allowed are " + token.AllowedNames + "."},
		{Flag: "role", Commands: "token-create", Value: settings.Choice(&t.role, access.RoleNames()...),
			Help: "Role of the token in the scope. Without one, only --access gives it roles."},
		{Flag: "scope", Commands: "token-create", Value: settings.Text("path", &t.scope), Default: "/",
			Help: "Scope of the role, such as /jobCollections/payroll; / is everything.", More: "Allowed are " + access.AllowedScopes + "."},
		{Flag: "expires", Commands: "token-create", Value: settings.Optional(settings.Duration(&t.expires, time.Minute, maxExpires)), Default: "90d",
			Help: "How long the token counts. If it is empty, it never expires."},
	}}
}

func newToken(getenv lookup) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Create, list and revoke tokens, with which callers of the API say who they are",
		Long: `Create, list and revoke tokens. The file of tokens holds their hashes alone, so a token
is shown once. A running API takes a change of its --token-file within 2 s.`,
		Example: "  almanac token create --name me --role owner --token-file tokens.yaml\n  almanac dev --token-file tokens.yaml",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	create := command(&cobra.Command{
		Use:   "create",
		Short: "Create a token, and print it",
		Long: `Create a token, and print it. It is not shown again. With --token-file, a line with its
hash is added to that file; otherwise the line is printed, too.`,
		Example:     "  almanac token create --name ci --role operator --scope /jobCollections/payroll --expires 90d --token-file tokens.yaml",
		Args:        cobra.NoArgs,
		Annotations: map[string]string{settings.CommandName: "token-create"},
	}, getenv, func(_ *cobra.Command, _ []string, c *config) error { return c.createToken() })
	list := command(&cobra.Command{
		Use:         "list",
		Short:       "List the tokens of a file",
		Args:        cobra.NoArgs,
		Annotations: map[string]string{settings.CommandName: "token-list"},
	}, getenv, func(_ *cobra.Command, _ []string, c *config) error { return c.listTokens() })
	revoke := command(&cobra.Command{
		Use:         "revoke NAME",
		Short:       "Remove a token from a file, so that it counts no more",
		Args:        cobra.ExactArgs(1),
		Annotations: map[string]string{settings.CommandName: "token-revoke"},
	}, getenv, func(_ *cobra.Command, args []string, c *config) error { return c.revokeToken(args[0]) })
	cmd.AddCommand(create, list, revoke)
	return cmd
}

func (c *config) createToken() error {
	t := &c.token
	if err := token.CheckName(t.name); err != nil {
		return c.settings.Get("name").Wrong(err, token.AllowedNames)
	}
	secret := token.New()
	e := token.Entry{Name: t.name, Hash: token.HashOf(secret), Grant: access.Grant{Role: access.ParseRole(t.role)}}
	var err error
	if e.Grant.Scope, err = access.ParseScope(t.scope, accessDefaults); err != nil {
		return c.settings.Get("scope").Wrong(err, access.AllowedScopes)
	}
	if t.expires > 0 {
		e.Expires = time.Now().Add(t.expires).Truncate(time.Second)
	}
	if c.access.tokenFile == "" {
		_, err = fmt.Fprintf(c.out, "%s\n%s\n", secret, e.Line(t.scope))
		return err
	}
	if err := c.appendToken(e); err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.out, secret)
	return err
}

// appendToken adds a token to the file, which is made if it does not exist. The rest of the file stays as it is.
func (c *config) appendToken(e token.Entry) error {
	text, set, err := c.readTokens()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if set != nil {
		for _, other := range set.Entries() {
			if other.Name == e.Name {
				return c.settings.Get("name").Wrong(fmt.Errorf("%s has a token named %s", c.access.tokenFile, e.Name), "another name, or this one after almanac token revoke "+e.Name)
			}
		}
	}
	line := token.Append(text, e, c.token.scope)[len(text):]
	f, err := os.OpenFile(c.access.tokenFile, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return c.settings.Get("token-file").Wrong(err, "")
	}
	_, err = f.Write(line)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return c.settings.Get("token-file").Wrong(err, "")
	}
	return nil
}

// readTokens reads the file of tokens.
func (c *config) readTokens() (text []byte, set *token.Set, err error) {
	file := c.settings.Get("token-file")
	if c.access.tokenFile == "" {
		return nil, nil, file.Wrong(errors.New("no file is given"), "the file that the API was started with")
	}
	if text, err = os.ReadFile(c.access.tokenFile); err != nil {
		return nil, nil, file.Wrong(err, "")
	}
	if set, err = token.Parse(text, accessDefaults); err != nil {
		return nil, nil, file.Wrong(fmt.Errorf("%s: %w", c.access.tokenFile, err), "")
	}
	return text, set, nil
}

func (c *config) listTokens() error {
	_, set, err := c.readTokens()
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tROLE\tSCOPE\tEXPIRES")
	for _, e := range set.Entries() {
		scope, expires := "", "never"
		if e.Grant.Role > 0 {
			scope = e.Grant.Scope.String()
		}
		if !e.Expires.IsZero() {
			expires = e.Expires.UTC().Format(time.RFC3339)
		}
		if e.Expired(time.Now()) {
			expires += " (expired)"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", e.Name, e.Grant.Role, cmp.Or(scope, "-"), expires)
	}
	return w.Flush()
}

func (c *config) revokeToken(name string) error {
	text, set, err := c.readTokens()
	if err != nil {
		return err
	}
	left, err := set.Without(text, name)
	if err != nil {
		return fmt.Errorf("%s: %q: %w", c.access.tokenFile, name, err)
	}
	if err := replaceFile(c.access.tokenFile, left); err != nil {
		return c.settings.Get("token-file").Wrong(err, "")
	}
	_, err = fmt.Fprintf(c.out, "The token %s is revoked. A running API takes it for another 2 s at most.\n", name)
	return err
}

// replaceFile replaces the content of a file at once, so that no reader sees half of it. Its permissions stay.
func replaceFile(name string, content []byte) error {
	name, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // it is gone if all went well
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(info.Mode().Perm()), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
