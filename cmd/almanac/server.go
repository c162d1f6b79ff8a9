package main

import (
	"github.com/spf13/cobra"

	"almanac/cmd/almanac/internal/settings"
	"almanac/cmd/almanac/internal/wiring"
)

func newServer(getenv settings.Lookup) *cobra.Command {
	return command(&cobra.Command{
		Use:   "server",
		Short: "Run everything in this process for good: dev with the defaults of an operator",
		Long: `Run all of Almanac in one process, as "almanac dev" does, with an operator's defaults:
--data has to be given, the log is JSON, there is no Web UI, and jobs may not call this
machine.

On SIGTERM it takes no more requests, has 10 s for those in progress and 8 s for
requests of jobs, and stops. Everything that was answered is on disk. With --token-file
or --oidc-issuer the API asks for a login; without one, addresses that are not loopback
take --unauthenticated.`,
		Example: "  almanac server --data /var/lib/almanac",
		Args:    cobra.NoArgs,
		Hidden:  !embedded,
	}, getenv, func(cmd *cobra.Command, _ []string, p *wiring.Process) error {
		return runNode(cmd.Context(), p, logNode)
	})
}
