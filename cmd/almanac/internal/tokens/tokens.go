// Package tokens is the command that creates, lists and revokes tokens.
package tokens

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
	"almanac/cmd/almanac/internal/flags"
	"almanac/cmd/almanac/internal/settings"
	"almanac/cmd/almanac/internal/wiring"
	"almanac/internal/build"
	"almanac/internal/files"
)

// Command returns the command token of a program that was built from that.
func Command(getenv settings.Lookup, built build.Info) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Create, list and revoke tokens, with which callers of the API say who they are",
		Long: `Create, list and revoke tokens. The file of tokens holds their hashes alone, so a token
is shown once. A running API takes a change of its --token-file within 2 s.`,
		Example: "  almanac token create --name me --role owner --token-file tokens.yaml\n  almanac dev --token-file tokens.yaml",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	creating := wiring.Command(&cobra.Command{
		Use:   "create",
		Short: "Create a token, and print it",
		Long: `Create a token, and print it. It is not shown again. With --token-file, a line with its
hash is added to that file; otherwise the line is printed, too.`,
		Example:     "  almanac token create --name ci --role operator --scope /jobCollections/payroll --expires 90d --token-file tokens.yaml",
		Args:        cobra.NoArgs,
		Annotations: map[string]string{flags.CommandName: "token-create"},
	}, getenv, built, func(_ *cobra.Command, _ []string, p *wiring.Process) error { return create(p) })
	listing := wiring.Command(&cobra.Command{
		Use:         "list",
		Short:       "List the tokens of a file",
		Args:        cobra.NoArgs,
		Annotations: map[string]string{flags.CommandName: "token-list"},
	}, getenv, built, func(_ *cobra.Command, _ []string, p *wiring.Process) error { return list(p) })
	revoking := wiring.Command(&cobra.Command{
		Use:         "revoke NAME",
		Short:       "Remove a token from a file, so that it counts no more",
		Args:        cobra.ExactArgs(1),
		Annotations: map[string]string{flags.CommandName: "token-revoke"},
	}, getenv, built, func(_ *cobra.Command, args []string, p *wiring.Process) error { return revoke(p, args[0]) })
	cmd.AddCommand(creating, listing, revoking)
	return cmd
}

func create(p *wiring.Process) error {
	t := &p.Token
	if err := token.CheckName(t.Name); err != nil {
		return p.Setting("name").Wrong(err, token.AllowedNames)
	}
	secret := token.New()
	e := token.Entry{Name: t.Name, Hash: token.HashOf(secret), Grant: access.Grant{Role: access.ParseRole(t.Role)}}
	var err error
	if e.Grant.Scope, err = access.ParseScope(t.Scope, settings.AccessDefaults); err != nil {
		return p.Setting("scope").Wrong(err, access.AllowedScopes)
	}
	if t.Expires > 0 {
		e.Expires = time.Now().Add(t.Expires).Truncate(time.Second)
	}
	if p.TokenFile == "" {
		_, err = fmt.Fprintf(p.Out, "%s\n%s\n", secret, e.Line(t.Scope))
		return err
	}
	if err := add(p, e); err != nil {
		return err
	}
	_, err = fmt.Fprintln(p.Out, secret)
	return err
}

// add adds a token to the file, which is made if it does not exist. The rest of the file stays as it is.
func add(p *wiring.Process, e token.Entry) error {
	err := files.Change(p.TokenFile, true, func(text []byte) ([]byte, error) {
		return token.Add(text, e, p.Token.Scope, settings.AccessDefaults)
	})
	if taken, ok := errors.AsType[*token.TakenError](err); ok {
		return p.Setting("name").Wrong(fmt.Errorf("%s has a token named %s", p.TokenFile, taken.Name),
			"another name, or this one after almanac token revoke "+e.Name)
	}
	if err != nil {
		return wrong(p, err)
	}
	set, err := read(p)
	if err == nil && set.Find(e.Hash) == nil {
		err = fmt.Errorf("%s: another program has changed the file meanwhile, and the token is not in it", p.TokenFile)
	}
	return err
}

// wrong returns an error about the file of tokens.
func wrong(p *wiring.Process, err error) error {
	if _, named := errors.AsType[*fs.PathError](err); !named {
		err = fmt.Errorf("%s: %w", p.TokenFile, err)
	}
	return p.Setting("token-file").Wrong(err, "")
}

// errNoTokenFile is the error of a command that needs a file.
var errNoTokenFile = errors.New("no file is given")

// read reads the file of tokens.
func read(p *wiring.Process) (*token.Set, error) {
	if p.TokenFile == "" {
		return nil, p.Setting("token-file").Wrong(errNoTokenFile, "the file that the API was started with")
	}
	text, err := files.Read(p.TokenFile)
	if err != nil {
		return nil, wrong(p, err)
	}
	set, err := token.Parse(text, settings.AccessDefaults)
	if err != nil {
		return nil, wrong(p, err)
	}
	return set, nil
}

func list(p *wiring.Process) error {
	set, err := read(p)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(p.Out, 0, 0, 2, ' ', 0)
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

func revoke(p *wiring.Process, name string) error {
	if p.TokenFile == "" {
		return p.Setting("token-file").Wrong(errNoTokenFile, "the file that the API was started with")
	}
	err := files.Change(p.TokenFile, false, func(text []byte) ([]byte, error) {
		return token.Remove(text, name, settings.AccessDefaults)
	})
	if errors.Is(err, token.ErrNoToken) {
		return fmt.Errorf("%s: %q: %w", p.TokenFile, name, err)
	}
	if err != nil {
		return wrong(p, err)
	}
	set, err := read(p)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(set.Entries(), func(e token.Entry) bool { return e.Name == name }) {
		return fmt.Errorf("%s: another program has changed the file meanwhile, and the token %s is in it: it counts",
			p.TokenFile, name)
	}
	_, err = fmt.Fprintf(p.Out, "The token %s is no longer in %s. An API that reads this file takes the token for "+
		"another 2 s at most; its log then has \"a changed file is in force\".\n", name, p.TokenFile)
	return err
}
