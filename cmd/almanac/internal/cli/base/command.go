// Package base is what all commands of the client share: where the API is and who calls it, how answers are printed,
// questions to the user, and the status with which the program ends.
//
//	base.Command(&cobra.Command{Use: "get NAME…", …}, getenv, nil, func(ctx context.Context, s *base.Session, args []string) error {
//		found, err := s.Client.Job(ctx, s.Collection, args[0])
//		…
//		return output.One(&s.Printer, view, found)
//	})
//
// Errors have a status by package exit. Errors of the API and of the connection have theirs without further ado.
package base

import (
	"cmp"
	"context"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/contexts"
	"almanac/cmd/almanac/internal/cli/credentials"
	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/cli/output"
	"almanac/cmd/almanac/internal/flags"
)

// A Lookup finds an environment variable, as [os.LookupEnv] does.
type Lookup func(name string) (value string, set bool)

// A Session is a command that runs.
type Session struct {
	output.Printer // of standard output

	Client     *client.Client
	URL        string // of the API
	Collection string // in which names are that have none
	Group      ResourceGroup
	Context    string // its name; "" if there is none

	In     io.Reader
	Err    io.Writer // for people: questions, progress and warnings
	Yes    bool      // nothing is asked
	Getenv Lookup

	Flags flags.Set
	asks  bool // a person is at the terminal
}

// A Run does what a command is for.
type Run func(ctx context.Context, s *Session, args []string) error

// Command returns a command with the flags of the connection and of the output, and with further ones, whose members
// Commands are not needed. One of them may replace a flag of the output. Its help says what the statuses mean.
func Command(cmd *cobra.Command, getenv Lookup, more []flags.Group, run Run) *cobra.Command {
	var o options
	set := declare(cmd, getenv, append(more, without(o.outputFlags(), more), o.connectionFlags()))
	if cmd.Args == nil {
		cmd.Args = cobra.NoArgs
	}
	cmd.Long += "\n\n" + exit.Help
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := set.Load(); err != nil {
			return exit.With(exit.Usage, err)
		}
		s, err := o.session(cmd, getenv, set)
		if err != nil {
			return err
		}
		return explained(s, run(cmd.Context(), s, args))
	}
	return cmd
}

// without returns a group without the flags that others have.
func without(g flags.Group, others []flags.Group) flags.Group {
	g.Settings = slices.DeleteFunc(g.Settings, func(s *flags.Setting) bool {
		return slices.ContainsFunc(others, func(o flags.Group) bool {
			return slices.ContainsFunc(o.Settings, func(other *flags.Setting) bool { return other.Flag == s.Flag })
		})
	})
	return g
}

// Local returns a command that calls no API, with the flags of the output and further ones.
func Local(cmd *cobra.Command, getenv Lookup, more []flags.Group, run Run) *cobra.Command {
	var o options
	set := declare(cmd, getenv, append(more, o.outputFlags()))
	if cmd.Args == nil {
		cmd.Args = cobra.NoArgs
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := set.Load(); err != nil {
			return exit.With(exit.Usage, err)
		}
		s := o.local(cmd, getenv, set)
		return explained(s, run(cmd.Context(), s, args))
	}
	return cmd
}

// Group returns a command that has others below it.
func Group(cmd *cobra.Command, below ...*cobra.Command) *cobra.Command {
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(below...)
	return cmd
}

func declare(cmd *cobra.Command, getenv Lookup, groups []flags.Group) flags.Set {
	for _, g := range groups {
		for _, s := range g.Settings {
			s.Commands = cmd.Name()
		}
	}
	return flags.Declare(cmd, groups, getenv)
}

// local returns the session of a command that calls no API.
func (o *options) local(cmd *cobra.Command, getenv Lookup, set flags.Set) *Session {
	s := &Session{
		In: cmd.InOrStdin(), Err: cmd.ErrOrStderr(), Yes: o.yes, Getenv: getenv, Flags: set,
		Printer: output.Printer{
			Out: cmd.OutOrStdout(), Format: o.format, NoHeads: o.noHeads, Now: time.Now(), Zone: time.Local,
		},
	}
	if o.utc {
		s.Zone = time.UTC
	}
	s.Width, s.Terminal = terminal(s.Out, getenv)
	s.Colour = s.Terminal && coloured(getenv)
	_, in := terminal(s.In, getenv)
	_, err := terminal(s.Err, getenv)
	s.asks = in && err
	return s
}

// session returns the session of a command that calls an API.
func (o *options) session(cmd *cobra.Command, getenv Lookup, set flags.Set) (*Session, error) {
	s := o.local(cmd, getenv, set)
	file := contexts.Path(getenv)
	known, err := contexts.Load(file)
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	at, name, err := o.place(known, set, func(name, at string) (string, error) {
		path := credentials.Path(file, name)
		l, err := credentials.Load(path, at)
		if l == nil || err != nil {
			return "", err
		}
		return path, nil
	})
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	token, err := at.token()
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	transport, err := at.transport()
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	if token == "" && at.login != "" {
		transport = &credentials.Transport{Path: at.login, API: at.URL, Context: name, Base: transport}
	}
	s.URL, s.Collection, s.Context = at.URL, at.Collection, name
	s.Group = ResourceGroup{cmp.Or(at.Subscription, client.DefaultSubscription), cmp.Or(at.ResourceGroup, client.DefaultResourceGroup)}
	s.Client, err = client.New(at.URL, client.Options{
		Token: token, Transport: transport, Subscription: at.Subscription, ResourceGroup: at.ResourceGroup,
	})
	return s, exit.With(exit.Usage, err)
}

// terminal reports whether a file is a terminal, and how many columns it has.
func terminal(of any, getenv Lookup) (columns int, is bool) {
	f, ok := of.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	if text, _ := getenv("COLUMNS"); text != "" {
		if n, err := strconv.Atoi(text); err == nil && n > 0 {
			return n, true
		}
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		columns = 0
	}
	return columns, true
}

// coloured reports whether the user of a terminal wants colours.
func coloured(getenv Lookup) bool {
	no, _ := getenv("NO_COLOR")
	kind, _ := getenv("TERM")
	return no == "" && kind != "dumb"
}
