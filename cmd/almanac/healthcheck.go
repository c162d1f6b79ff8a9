package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"almanac/cmd/almanac/internal/settings"
	"almanac/cmd/almanac/internal/wiring"
)

func newHealthcheck(getenv settings.Lookup) *cobra.Command {
	return command(&cobra.Command{
		Use:   "healthcheck",
		Short: "Ask a running Almanac whether it is ready",
		Long: `Ask the API or the worker at an address of this machine whether jobs can be stored
and run. The exit status is 0 if so. Otherwise it is 1, and the error says what is
missing. It is made for the health check of a container.`,
		Example: "  almanac healthcheck\n  almanac healthcheck --listen 127.0.0.1:8081   # a worker",
		Args:    cobra.NoArgs,
	}, getenv, func(cmd *cobra.Command, _ []string, p *wiring.Process) error {
		path := "/readyz"
		if p.Live {
			path = "/healthz"
		}
		status, err := askProbe(cmd.Context(), p.Scheme(), p.Listen, path)
		if err != nil {
			return err
		}
		fmt.Fprintln(p.Out, status)
		return nil
	})
}
