package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"almanac/cmd/almanac/internal/cli"
	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/flags"
	"almanac/cmd/almanac/internal/preview"
	"almanac/cmd/almanac/internal/settings"
	"almanac/cmd/almanac/internal/tokens"
	"almanac/cmd/almanac/internal/wiring"
	"almanac/internal/build"
	"almanac/recurrence"
)

// version and commit are set by the build of a release.
var version, commit string

// built returns what this program was built from, and the release of the time zones that it uses.
func built() build.Info {
	info := build.Read(version, commit)
	info.Zones = recurrence.CurrentZones().Release()
	return info
}

// command returns cmd with its flags. It loads the configuration and calls run.
func command(cmd *cobra.Command, getenv settings.Lookup, run func(cmd *cobra.Command, args []string, p *wiring.Process) error) *cobra.Command {
	return wiring.Command(cmd, getenv, built(), run)
}

func newRoot(getenv settings.Lookup) *cobra.Command {
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
	root.AddCommand(cli.Commands(base.Lookup(getenv))...)
	root.AddCommand(newDev(getenv), newServer(getenv), newAPI(getenv), newWorker(getenv), newSetup(getenv),
		newBackup(getenv), newRestore(getenv), newCodec(getenv), tokens.Command(getenv, built()),
		preview.Command(getenv, built()), newHealthcheck(getenv), newVersion(getenv))
	return root
}

func newVersion(getenv settings.Lookup) *cobra.Command {
	return command(&cobra.Command{
		Use:   "version",
		Short: "Print the version, what the program was built from, and the release of its time zones",
		Args:  cobra.NoArgs,
	}, getenv, func(cmd *cobra.Command, _ []string, p *wiring.Process) error {
		fmt.Fprintf(p.Out, "%s %s\n", cmd.Root().Name(), built())
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
