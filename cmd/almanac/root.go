package main

import (
	"fmt"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"almanac/cmd/almanac/internal/cli"
	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/flags"
	"almanac/cmd/almanac/internal/preview"
	"almanac/cmd/almanac/internal/settings"
	"almanac/cmd/almanac/internal/tokens"
	"almanac/cmd/almanac/internal/wiring"
	"almanac/internal/build"
)

// version and commit are set by the build of a release.
var version, commit string

// built returns what this program was built from.
var built = sync.OnceValue(func() build.Info { return build.Read(version, commit) })

// command returns cmd with its flags. It loads the configuration and calls run.
func command(cmd *cobra.Command, getenv settings.Lookup, run func(cmd *cobra.Command, args []string, p *wiring.Process) error) *cobra.Command {
	return wiring.Command(cmd, getenv, built(), run)
}

// rootFor returns the command with those below it that a command line needs: a command of the client has to start at
// once, and the others take a while to make.
func rootFor(args []string, getenv settings.Lookup) *cobra.Command {
	if len(args) > 2 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		args = args[1:]
	}
	root := newRootAlone()
	addClient(root, getenv)
	for _, c := range root.Commands() {
		if len(args) > 0 && (c.Name() == args[0] || c.HasAlias(args[0])) {
			return root
		}
	}
	return newRoot(getenv)
}

func newRoot(getenv settings.Lookup) *cobra.Command {
	root := newRootAlone()
	addClient(root, getenv)
	root.AddCommand(newDev(getenv), newServer(getenv), newAPI(getenv), newWorker(getenv), newSetup(getenv),
		newBackup(getenv), newRestore(getenv), newCodec(getenv), tokens.Command(getenv, built()),
		preview.Command(getenv, built()), newHealthcheck(getenv), newVersion(getenv))
	return root
}

// addClient adds the commands of the client, which help lists together.
func addClient(root *cobra.Command, getenv settings.Lookup) {
	const group = "client"
	root.AddGroup(&cobra.Group{ID: group, Title: "Commands that call an API, and for job files"})
	for _, c := range cli.Commands(base.Lookup(getenv)) {
		c.GroupID = group
		root.AddCommand(c)
	}
}

// newRootAlone returns the command without those below it.
func newRootAlone() *cobra.Command {
	root := &cobra.Command{
		Use:   "almanac",
		Short: "A durable job scheduler that speaks the REST API of Azure Scheduler",
		Long: `Almanac calls your endpoints when they are due: "every last Friday at 17:15,
retry like this, and if all fails do that". Every job is a Temporal workflow, so
that no restart, crash or deployment loses an occurrence.

Start with:  almanac dev, and in another terminal:  almanac job list

"almanac COMMAND --help" lists the flags of a command. The environment variable
beside a flag sets it as well; the flag wins. docs/configuration.md has the details.`,
		Version:       built().Version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetUsageFunc(flags.Usage)
	root.SetFlagErrorFunc(wrongFlag)
	return root
}

func newVersion(getenv settings.Lookup) *cobra.Command {
	return command(&cobra.Command{
		Use:   "version",
		Short: "Print the version, what the program was built from, and the release of its time zones",
		Args:  cobra.NoArgs,
	}, getenv, func(cmd *cobra.Command, _ []string, p *wiring.Process) error {
		fmt.Fprintf(p.Out, "%s %s\n", cmd.Root().Name(), p.Build)
		return nil
	})
}

// refuseUnknownTopics makes `help bogus` and `completion bogus` fail; cobra would print help and succeed.
// The outputs of root must be set before.
func refuseUnknownTopics(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	help, _, _ := root.Find([]string{"help"})
	help.Args = func(_ *cobra.Command, args []string) error {
		cmd, rest, err := root.Find(args)
		if err == nil && len(rest) > 0 {
			err = fmt.Errorf("unknown command %q for %q", rest[0], cmd.CommandPath())
		}
		return err
	}
	completion, _, _ := root.Find([]string{"completion"})
	// cobra checks Args only of commands that run
	completion.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}
