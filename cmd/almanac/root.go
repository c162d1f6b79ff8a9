package main

import (
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set when a release is built.
var version string

// buildVersion returns the release's version, or the commit it was built from.
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
		Args:          cobra.NoArgs,
	}
	root.AddCommand(newDev(lookup), newAPI(lookup), newWorker(lookup), newCodec(lookup), newPreview())
	return root
}
