package main

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// version is set by the build of a release.
var version string

// buildVersion returns the version of a release, or "dev-" and the commit of another build.
func buildVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "dev-" + s.Value[:min(12, len(s.Value))]
		}
	}
	return "dev"
}

func newRoot(lookup func(string) (string, bool)) *cobra.Command {
	root := &cobra.Command{
		Use:   "almanac",
		Short: "A durable job scheduler that speaks the REST API of Azure Scheduler",
		Long: `Almanac calls your endpoints when they are due: "every last Friday at 17:15,
retry like this, and if all fails do that". Every job is a Temporal workflow,
so that no restart, crash or deployment loses an occurrence.

Start with:  almanac dev

Every flag can also be set by the environment variable that its help names; a
flag wins. What connects to Temporal (api, worker) reads Temporal's own
variables: TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_API_KEY,
TEMPORAL_TLS_*, TEMPORAL_PROFILE.`,
		Version:       buildVersion(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newDev(lookup), newAPI(lookup), newWorker(lookup), newCodec(lookup), newPreview(), newVersion())
	for _, cmd := range root.Commands() {
		complete(cmd)
		for _, inner := range cmd.Commands() {
			complete(inner)
		}
	}
	return root
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, as --version does",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s version %s\n", cmd.Root().Name(), cmd.Root().Version)
			return err
		},
	}
}

// refuseUnknownTopics makes `help bogus` and `completion bogus` fail; cobra would print help and succeed.
// The outputs of root must be set before.
func refuseUnknownTopics(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Args = func(_ *cobra.Command, args []string) error {
				_, _, err := root.Find(args)
				return err
			}
		case "completion":
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() } // cobra checks Args only of commands that run
		}
	}
}

// explain adds to an error about an unknown command how to list the commands.
func explain(err error) error {
	if err == nil || !strings.HasPrefix(err.Error(), "unknown command ") {
		return err
	}
	return fmt.Errorf("%s\n\nRun \"almanac help\" for the list of commands", strings.TrimSpace(err.Error()))
}
