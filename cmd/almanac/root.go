package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"almanac/cmd/almanac/internal/settings"
	"almanac/cmd/almanac/internal/wiring"
	"almanac/internal/build"
	"almanac/internal/fields"
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

Start with:  almanac dev

"almanac COMMAND --help" lists the flags of a command. The environment variable
beside a flag sets it as well; the flag wins. docs/configuration.md has the details.`,
		Version:       built().Version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetUsageFunc(settings.Usage)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return seeHelp(cmd, err) })
	root.AddCommand(newDev(getenv), newServer(getenv), newAPI(getenv), newWorker(getenv), newSetup(getenv),
		newBackup(getenv), newRestore(getenv), newCodec(getenv), newToken(getenv),
		newPreview(getenv), newHealthcheck(getenv), newVersion(getenv))
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
		_, _, err := root.Find(args)
		return err
	}
	completion, _, _ := root.Find([]string{"completion"})
	// cobra checks Args only of commands that run
	completion.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}

// explain adds to an error about a command line where help is.
func explain(cmd *cobra.Command, err error) error {
	if err != nil && (strings.HasPrefix(err.Error(), "unknown command ") || strings.HasPrefix(err.Error(), "accepts ")) {
		return seeHelp(cmd, err)
	}
	return err
}

// meant returns a line with what the writer of a command line most likely meant; "" if that is not known.
func meant(cmd *cobra.Command, err error) string {
	if name, ok := strings.CutPrefix(err.Error(), "unknown flag: --"); ok {
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if near := fields.Nearest(name, known); near != "" {
			return "\nDid you mean --" + near + "?"
		}
	}
	if m := unknownCommand.FindStringSubmatch(err.Error()); m != nil && cmd == cmd.Root() {
		switch word := strings.ToLower(m[1]); {
		case slices.Contains(verbs, word):
			return "\nJobs are made, listed and run through the API, such as POST http://127.0.0.1:8080/jobCollections/default/jobs/NAME/run"
		case strings.HasPrefix(word, "job"), strings.HasPrefix(word, "collection"), slices.Contains(lists, word):
			return "\nJobs are made, listed and run through the API, such as GET http://127.0.0.1:8080/jobCollections/default/jobs"
		}
	}
	return ""
}

// unknownCommand matches the error about a command that does not exist.
var unknownCommand = regexp.MustCompile(`^unknown command "([^"]*)" for "almanac"`)

// Words that a user may type who looks for a client of the API, for one job and for many.
var (
	verbs = []string{"run", "trigger", "enable", "disable", "skip", "rerun", "delete", "remove", "rm", "pause", "resume"}
	lists = []string{"list", "ls", "get", "show", "create", "put", "add", "apply", "history", "upcoming", "status"}
)

func seeHelp(cmd *cobra.Command, err error) error {
	return fmt.Errorf("%s%s\nRun \"%s --help\" for what is allowed", strings.TrimSpace(err.Error()), meant(cmd, err),
		strings.TrimSuffix(cmd.CommandPath(), " help"))
}
