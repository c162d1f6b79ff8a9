package main

import (
	"github.com/spf13/cobra"

	"almanac/cmd/almanac/internal/settings"
	"almanac/cmd/almanac/internal/wiring"
)

func newDev(getenv settings.Lookup) *cobra.Command {
	return command(&cobra.Command{
		Use:   "dev",
		Short: "Run everything in this process: Temporal on a file, its Web UI, a worker and the API",
		Long: `Run all of Almanac in one process: an embedded Temporal server that keeps everything
in one SQLite file, its Web UI, a worker and the REST API.

Everything that was answered is on disk: after a crash or kill -9, the same command
picks up where it left off. Nothing asks for a login unless --token-file or
--oidc-issuer is given: without one, addresses that are not loopback take
--unauthenticated. If other machines reach the API, jobs may not call this machine
unless --egress-allow says so.`,
		Example: "  almanac dev\n  almanac dev --data /var/lib/almanac --listen 127.0.0.1:0 --ui-listen ''",
		Args:    cobra.NoArgs,
		Hidden:  !embedded,
	}, getenv, func(cmd *cobra.Command, _ []string, p *wiring.Process) error {
		return runNode(cmd.Context(), p, printNode)
	})
}
