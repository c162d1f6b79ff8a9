// Package login is the commands that log a user in at the issuer of an API, and out.
package login

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/contexts"
	"almanac/cmd/almanac/internal/cli/credentials"
	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/cli/output"
	"almanac/cmd/almanac/internal/flags"
)

// In returns the command login.
func In(getenv base.Lookup) *cobra.Command {
	return command(&cobra.Command{
		Use:   "login [CONTEXT]",
		Short: "Log in at the OpenID Connect issuer of an API",
		Long: `Log in at the OpenID Connect issuer of an API, for the commands that call it in this
context. It prints the address of a page and a code, which may be entered in any browser on
any machine, and waits. The login is in a file that only you may read, is renewed when it
expires, and ends with almanac logout or when the issuer says so.

The API says which issuer it is. For one that does not, almanac context add has
--oidc-issuer and --oidc-client-id.

` + exit.Help,
		Example: `  almanac context add prod --url https://jobs.example.com
  almanac login
  almanac job list`,
	}, getenv, in)
}

// Out returns the command logout.
func Out(getenv base.Lookup) *cobra.Command {
	return command(&cobra.Command{
		Use:   "logout [CONTEXT]",
		Short: "Remove a login, and have the issuer end it",
		Long: `Remove the login of a context. If the issuer can do that, it is asked to end it, so that a
copy counts no more once its token expires; without an answer the login is removed, too.

` + exit.Help,
	}, getenv, out)
}

// A here is a context in which somebody logs in or out.
type here struct {
	contexts.Context

	name      string
	path      string // of the login
	transport http.RoundTripper
}

func command(cmd *cobra.Command, getenv base.Lookup, run func(context.Context, *base.Session, here) error) *cobra.Command {
	var chosen string
	cmd.Args = cobra.MaximumNArgs(1)
	cmd.ValidArgsFunction = base.CompleteContexts(getenv)
	return base.Local(cmd, getenv, []flags.Group{{Name: "Connection", Settings: []*flags.Setting{
		{Flag: "context", Variable: "ALMANAC_CONTEXT", Value: flags.Text("name", &chosen),
			Help: "The context, in place of the current one, if it is no argument."},
	}}}, func(ctx context.Context, s *base.Session, args []string) error {
		if len(args) > 0 {
			chosen = args[0]
		}
		h, err := find(getenv, chosen)
		if err != nil {
			return err
		}
		s.URL = h.URL
		return run(ctx, s, h)
	})
}

// find returns the context of a name, or the current one.
func find(getenv base.Lookup, name string) (h here, err error) {
	file := contexts.Path(getenv)
	known, err := contexts.Load(file)
	if err != nil {
		return h, exit.With(exit.Usage, err)
	}
	h.name = cmp.Or(name, known.Current)
	if h.name == "" {
		return h, exit.With(exit.Usage, errors.New("a login is kept with a context, and none is in use: "+
			"\"almanac context add NAME --url URL\" makes one"))
	}
	if h.Context, err = known.Find(h.name); err != nil {
		return h, exit.With(exit.NotFound, err)
	}
	h.path = credentials.Path(file, h.name)
	h.transport, err = base.Transport(h.CAFile)
	return h, exit.With(exit.Usage, err)
}

func in(ctx context.Context, s *base.Session, h here) error {
	if h.TokenFile != "" {
		return exit.With(exit.Usage, errors.New("the context "+h.name+" has a token file, which says who calls: "+
			"\"almanac context add\" replaces the context by one without"))
	}
	at := credentials.Place{Issuer: h.OIDCIssuer, ClientID: h.OIDCClientID, Scopes: h.OIDCScopes}
	if at.Issuer == "" {
		var err error
		if at, err = credentials.Ask(ctx, h.transport, h.URL); err != nil {
			return err
		}
	}
	l, err := credentials.Request(ctx, h.transport, at, h.URL, func(c credentials.Code) { show(s, c) })
	if err != nil {
		return err
	}
	if err := accepted(ctx, h, l.Token); err != nil {
		return err
	}
	if err := credentials.Save(h.path, l); err != nil {
		return err
	}
	if l.RefreshToken == "" && !l.Expires.IsZero() {
		s.Say("The issuer has given no refresh token (scope offline_access): the login ends %s", l.Expires.In(s.Zone).Format(time.DateTime))
	}
	return s.Done("context", h.name, "logged in")
}

// show says what a person has to do.
func show(s *base.Session, c credentials.Code) {
	s.Say("Open %s in a browser, on any machine, and enter the code\n\n  %s\n", c.Address, output.Line(c.Code))
	if c.Complete != "" {
		s.Say("or open %s", c.Complete)
	}
	if c.Expires.IsZero() {
		s.Say("Waiting for you …")
		return
	}
	s.Say("Waiting for you until %s …", c.Expires.In(s.Zone).Format(time.TimeOnly))
}

// accepted returns the error of an API that does not accept a token.
func accepted(ctx context.Context, h here, token string) error {
	c, err := client.New(h.URL, client.Options{Token: token, Transport: h.transport})
	if err != nil {
		return err
	}
	_, err = c.CollectionsPage(ctx, client.List{Top: 1})
	if client.StatusOf(err) == http.StatusForbidden || client.IsNotFound(err) { // it knows who calls
		return nil
	}
	return err
}

func out(ctx context.Context, s *base.Session, h here) error {
	l, err := credentials.Load(h.path, h.URL)
	if err != nil {
		s.Say("%v", err)
	}
	if err := credentials.Remove(h.path); err != nil {
		return err
	}
	if l == nil {
		return s.Done("context", h.name, "not logged in")
	}
	if err := credentials.Revoke(ctx, h.transport, l); err != nil {
		s.Say("The login is removed here, but the issuer was not told: %v", err)
	}
	return s.Done("context", h.name, "logged out")
}
