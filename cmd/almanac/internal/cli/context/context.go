// Package context is the commands that keep places to work at.
package context

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"almanac/access/issuer"
	"almanac/client"
	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/contexts"
	"almanac/cmd/almanac/internal/cli/credentials"
	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/cli/output"
	"almanac/cmd/almanac/internal/flags"
)

// Command returns the command context.
func Command(getenv base.Lookup) *cobra.Command {
	return base.Group(&cobra.Command{
		Use:   "context",
		Short: "Keep places to work at: the URL of an API, who calls it, and where names are",
		Long: `Keep places to work at: the URL of an API, who calls it, and where names are. They are in
a file that only you may read, by default contexts.yaml in the directory almanac of your
configuration; $ALMANAC_CONTEXTS names another. A token stays in its own file, and so does
what almanac login keeps.`,
		Example: `  almanac context add prod --url https://jobs.example.com --token-file ~/.almanac-token
  almanac context use prod
  almanac --help`,
	}, add(getenv), list(getenv), use(getenv), remove(getenv))
}

func add(getenv base.Lookup) *cobra.Command {
	var c contexts.Context
	var stay bool
	return base.Local(&cobra.Command{
		Use:   "add NAME",
		Short: "Add a context, or replace one, and use it",
		Long: `Add a context, or replace the one of this name, and use it from now on. The API is not
called.`,
		Example: "  almanac context add prod --url https://jobs.example.com --token-file ~/.almanac-token",
		Args:    cobra.ExactArgs(1),
	}, getenv, []flags.Group{{Name: "Context", Settings: []*flags.Setting{
		{Flag: "url", Value: flags.Text("URL", &c.URL), Help: "URL of the API."},
		{Flag: "token-file", Value: flags.File(&c.TokenFile), Help: "File with the token to call with."},
		{Flag: "ca-file", Value: flags.File(&c.CAFile),
			Help: "PEM file of further certificate authorities that the API's certificate may be of."},
		{Flag: "subscription", Value: flags.Text("id", &c.Subscription), Help: "Subscription of the resource group."},
		{Flag: "resource-group", Short: "g", Value: flags.Text("name", &c.ResourceGroup),
			Help: "Resource group of the job collections."},
		{Flag: "collection", Short: "c", Value: flags.Text("name", &c.Collection),
			Help: "Job collection of the jobs that are named without one."},
		{Flag: "oidc-issuer", Value: flags.Text("URL", &c.OIDCIssuer),
			Help: "OpenID Connect issuer at which almanac login logs in, if the API does not say."},
		{Flag: "oidc-client-id", Value: flags.Text("text", &c.OIDCClientID),
			Help: "ID by which that issuer knows the command line."},
		{Flag: "oidc-scopes", Value: flags.List("texts", &c.OIDCScopes, func([]string) error { return nil }),
			Help: "Scopes to ask that issuer for, besides openid; offline_access is for a login that lasts."},
		{Flag: "stay", Value: flags.Bool(&stay), Help: "Do not use it yet."},
	}}}, func(_ context.Context, s *base.Session, args []string) error {
		if err := complete(&c); err != nil {
			return exit.With(exit.Usage, err)
		}
		err := contexts.Change(contexts.Path(getenv), func(f *contexts.File) error {
			f.Contexts[args[0]] = c
			if !stay || len(f.Contexts) == 1 {
				f.Current = args[0]
			}
			return nil
		})
		if err != nil {
			return err
		}
		return s.Done("context", args[0], "added")
	})
}

// complete checks a context, and makes its files' names ones that do not depend on the directory.
func complete(c *contexts.Context) (err error) {
	if c.URL == "" {
		return errors.New("--url: say where the API is")
	}
	if err := contexts.CheckURL(c.URL); err != nil {
		return fmt.Errorf("--url: %w", err)
	}
	if _, err := client.New(c.URL, client.Options{}); err != nil {
		return fmt.Errorf("--url: %w", err)
	}
	if (c.OIDCIssuer == "") != (c.OIDCClientID == "") || c.OIDCIssuer == "" && len(c.OIDCScopes) > 0 {
		return errors.New("--oidc-issuer and --oidc-client-id need each other, and --oidc-scopes needs both")
	}
	if c.OIDCIssuer != "" {
		if err := issuer.CheckURL(c.OIDCIssuer); err != nil {
			return fmt.Errorf("--oidc-issuer: %w", err)
		}
	}
	for flag, file := range map[string]*string{"--token-file": &c.TokenFile, "--ca-file": &c.CAFile} {
		if *file == "" {
			continue
		}
		if *file, err = filepath.Abs(*file); err != nil {
			return fmt.Errorf("%s: %w", flag, err)
		}
		if _, err := os.Stat(*file); err != nil {
			return fmt.Errorf("%s: %w", flag, err)
		}
	}
	return nil
}

// A named is a context with its name.
type named struct {
	Name    string `json:"name"`
	Current bool   `json:"current"`
	contexts.Context
}

func list(getenv base.Lookup) *cobra.Command {
	return base.Local(&cobra.Command{
		Use:   "list",
		Short: "List the contexts",
	}, getenv, nil, func(_ context.Context, s *base.Session, _ []string) error {
		f, err := contexts.Load(contexts.Path(getenv))
		if err != nil {
			return err
		}
		var all []named
		for _, name := range f.Names() {
			all = append(all, named{name, name == f.Current, f.Contexts[name]})
		}
		if len(all) == 0 && s.Format.ForPeople() {
			s.Say("There are no contexts: commands call %s", base.DefaultURL)
		}
		return output.List(&s.Printer, view, all)
	})
}

var view = output.View[named]{
	Name: func(n named) string { return n.Name },
	Columns: []output.Column[named]{
		{Head: "", Of: func(n named) output.Cell {
			if n.Current {
				return output.Cell{Text: "*", Mark: output.Good}
			}
			return output.Cell{Text: " "}
		}},
		{Head: "NAME", Of: func(n named) output.Cell { return output.Cell{Text: n.Name} }},
		{Head: "URL", Shrink: true, Of: func(n named) output.Cell { return output.Cell{Text: n.URL} }},
		{Head: "COLLECTION", Of: func(n named) output.Cell { return output.Cell{Text: n.Collection} }},
		{Head: "TOKEN FILE", Shrink: true, Of: func(n named) output.Cell { return output.Cell{Text: n.TokenFile} }},
		{Head: "RESOURCE GROUP", Wide: true, Of: func(n named) output.Cell { return output.Cell{Text: n.ResourceGroup} }},
		{Head: "SUBSCRIPTION", Wide: true, Of: func(n named) output.Cell { return output.Cell{Text: n.Subscription} }},
	},
}

func use(getenv base.Lookup) *cobra.Command {
	return base.Local(&cobra.Command{
		Use:               "use NAME",
		Short:             "Work in a context from now on",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: base.CompleteContexts(getenv),
	}, getenv, nil, func(_ context.Context, s *base.Session, args []string) error {
		err := contexts.Change(contexts.Path(getenv), func(f *contexts.File) error {
			f.Current = args[0]
			return exists(f, args[0])
		})
		if err != nil {
			return err
		}
		return s.Done("context", args[0], "in use")
	})
}

func remove(getenv base.Lookup) *cobra.Command {
	return base.Local(&cobra.Command{
		Use:               "remove NAME",
		Short:             "Remove a context",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: base.CompleteContexts(getenv),
	}, getenv, nil, func(_ context.Context, s *base.Session, args []string) error {
		err := contexts.Change(contexts.Path(getenv), func(f *contexts.File) error {
			if err := exists(f, args[0]); err != nil {
				return err
			}
			if err := credentials.Remove(credentials.Path(contexts.Path(getenv), args[0])); err != nil {
				return err
			}
			delete(f.Contexts, args[0])
			if f.Current == args[0] {
				f.Current = ""
			}
			return nil
		})
		if err != nil {
			return err
		}
		return s.Done("context", args[0], "removed")
	})
}

// exists returns an error if there is no context of a name.
func exists(f *contexts.File, name string) error {
	_, err := f.Find(name)
	return exit.With(exit.NotFound, err)
}
