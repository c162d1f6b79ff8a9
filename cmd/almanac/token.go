package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"almanac/access"
	"almanac/access/token"
	"almanac/cmd/almanac/internal/config"
	"almanac/internal/files"
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
	if err := addToken(c, e); err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.Out, secret)
	return err
}

// addToken adds a token to the file, which is made if it does not exist. The rest of the file stays as it is.
func addToken(c *config.Config, e token.Entry) error {
	err := files.Change(c.TokenFile, true, func(text []byte) ([]byte, error) { return token.Add(text, e, c.Token.Scope, config.AccessDefaults) })
	if taken, ok := errors.AsType[*token.TakenError](err); ok {
		return c.Setting("name").Wrong(fmt.Errorf("%s has a token named %s", c.TokenFile, taken.Name), "another name, or this one after almanac token revoke "+e.Name)
	}
	if err != nil {
		return wrongTokens(c, err)
	}
	set, err := readTokens(c)
	if err == nil && set.Find(e.Hash) == nil {
		err = fmt.Errorf("%s: another program has changed the file meanwhile, and the token is not in it", c.TokenFile)
	}
	return err
}

// wrongTokens returns an error about the file of tokens.
func wrongTokens(c *config.Config, err error) error {
	if _, named := errors.AsType[*fs.PathError](err); !named {
		err = fmt.Errorf("%s: %w", c.TokenFile, err)
	}
	return c.Setting("token-file").Wrong(err, "")
}

// errNoTokenFile is the error of a command that needs a file.
var errNoTokenFile = errors.New("no file is given")

// readTokens reads the file of tokens.
func readTokens(c *config.Config) (*token.Set, error) {
	if c.TokenFile == "" {
		return nil, c.Setting("token-file").Wrong(errNoTokenFile, "the file that the API was started with")
	}
	text, err := files.Read(c.TokenFile)
	if err != nil {
		return nil, wrongTokens(c, err)
	}
	set, err := token.Parse(text, config.AccessDefaults)
	if err != nil {
		return nil, wrongTokens(c, err)
	}
	return set, nil
}

func listTokens(c *config.Config) error {
	set, err := readTokens(c)
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
	if c.TokenFile == "" {
		return c.Setting("token-file").Wrong(errNoTokenFile, "the file that the API was started with")
	}
	err := files.Change(c.TokenFile, false, func(text []byte) ([]byte, error) { return token.Remove(text, name, config.AccessDefaults) })
	if errors.Is(err, token.ErrNoToken) {
		return fmt.Errorf("%s: %q: %w", c.TokenFile, name, err)
	}
	if err != nil {
		return wrongTokens(c, err)
	}
	set, err := readTokens(c)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(set.Entries(), func(e token.Entry) bool { return e.Name == name }) {
		return fmt.Errorf("%s: another program has changed the file meanwhile, and the token %s is in it: it counts", c.TokenFile, name)
	}
	_, err = fmt.Fprintf(c.Out, "The token %s is no longer in %s. An API that reads this file takes the token for another 2 s at most; its log then has \"a changed file is in force\".\n", name, c.TokenFile)
	return err
}
