package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"almanac/cmd/almanac/internal/config"
	"almanac/cmd/almanac/internal/probe"
)

func newHealthcheck(getenv config.Lookup) *cobra.Command {
	return command(&cobra.Command{
		Use:   "healthcheck",
		Short: "Ask a running Almanac whether it is ready",
		Long: `Ask the API or the worker at an address of this machine whether jobs can be stored
and run. The exit status is 0 if so. Otherwise it is 1, and the error says what is
missing. It is made for the health check of a container.`,
		Example: "  almanac healthcheck\n  almanac healthcheck --listen 127.0.0.1:8081   # a worker",
		Args:    cobra.NoArgs,
	}, getenv, func(cmd *cobra.Command, _ []string, c *config.Config) error {
		path := "/readyz"
		if c.Live {
			path = "/healthz"
		}
		status, err := probe.Ask(cmd.Context(), c.Scheme(), c.Listen, path)
		if err != nil {
			return err
		}
		fmt.Fprintln(c.Out, status)
		return nil
	})
}
