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
	"almanac/cmd/almanac/internal/config"
	"almanac/internal/settings"
)

func newToken(getenv config.Lookup) *cobra.Command {
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
	}, getenv, func(_ *cobra.Command, _ []string, c *config.Config) error { return createToken(c) })
	list := command(&cobra.Command{
		Use:         "list",
		Short:       "List the tokens of a file",
		Args:        cobra.NoArgs,
		Annotations: map[string]string{settings.CommandName: "token-list"},
	}, getenv, func(_ *cobra.Command, _ []string, c *config.Config) error { return listTokens(c) })
	revoke := command(&cobra.Command{
		Use:         "revoke NAME",
		Short:       "Remove a token from a file, so that it counts no more",
		Args:        cobra.ExactArgs(1),
		Annotations: map[string]string{settings.CommandName: "token-revoke"},
	}, getenv, func(_ *cobra.Command, args []string, c *config.Config) error { return revokeToken(c, args[0]) })
	cmd.AddCommand(create, list, revoke)
	return cmd
}

func createToken(c *config.Config) error {
	t := &c.Token
	if err := token.CheckName(t.Name); err != nil {
		return c.Setting("name").Wrong(err, token.AllowedNames)
	}
	secret := token.New()
	e := token.Entry{Name: t.Name, Hash: token.HashOf(secret), Grant: access.Grant{Role: access.ParseRole(t.Role)}}
	var err error
	if e.Grant.Scope, err = access.ParseScope(t.Scope, config.AccessDefaults); err != nil {
		return c.Setting("scope").Wrong(err, access.AllowedScopes)
	}
	if t.Expires > 0 {
		e.Expires = time.Now().Add(t.Expires).Truncate(time.Second)
	}
	if c.TokenFile == "" {
		_, err = fmt.Fprintf(c.Out, "%s\n%s\n", secret, e.Line(t.Scope))
		return err
	}
	if err := appendToken(c, e); err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.Out, secret)
	return err
}

// appendToken adds a token to the file, which is made if it does not exist. The rest of the file stays as it is.
func appendToken(c *config.Config, e token.Entry) error {
	text, set, err := readTokens(c)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if set != nil {
		for _, other := range set.Entries() {
			if other.Name == e.Name {
				return c.Setting("name").Wrong(fmt.Errorf("%s has a token named %s", c.TokenFile, e.Name), "another name, or this one after almanac token revoke "+e.Name)
			}
		}
	}
	line := token.Append(text, e, c.Token.Scope)[len(text):]
	f, err := os.OpenFile(c.TokenFile, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return c.Setting("token-file").Wrong(err, "")
	}
	_, err = f.Write(line)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return c.Setting("token-file").Wrong(err, "")
	}
	return nil
}

// readTokens reads the file of tokens.
func readTokens(c *config.Config) (text []byte, set *token.Set, err error) {
	file := c.Setting("token-file")
	if c.TokenFile == "" {
		return nil, nil, file.Wrong(errors.New("no file is given"), "the file that the API was started with")
	}
	if text, err = os.ReadFile(c.TokenFile); err != nil {
		return nil, nil, file.Wrong(err, "")
	}
	if set, err = token.Parse(text, config.AccessDefaults); err != nil {
		return nil, nil, file.Wrong(fmt.Errorf("%s: %w", c.TokenFile, err), "")
	}
	return text, set, nil
}

func listTokens(c *config.Config) error {
	_, set, err := readTokens(c)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
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

func revokeToken(c *config.Config, name string) error {
	text, set, err := readTokens(c)
	if err != nil {
		return err
	}
	left, err := set.Without(text, name)
	if err != nil {
		return fmt.Errorf("%s: %q: %w", c.TokenFile, name, err)
	}
	if err := replaceFile(c.TokenFile, left); err != nil {
		return c.Setting("token-file").Wrong(err, "")
	}
	_, err = fmt.Fprintf(c.Out, "The token %s is revoked. A running API takes it for another 2 s at most.\n", name)
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
