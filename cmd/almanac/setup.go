package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"almanac/cmd/almanac/internal/settings"
	"almanac/cmd/almanac/internal/wiring"
	"almanac/scheduler/setup"
)

func newSetup(getenv settings.Lookup) *cobra.Command {
	return command(&cobra.Command{
		Use:   "setup",
		Short: "Prepare a namespace of any Temporal server or cluster",
		Long: `Create the namespace, or check the one that exists, and add the search attributes that
it lacks. Calling it again changes nothing. "almanac dev" does not need it.

Temporal's own variables say where it is: TEMPORAL_ADDRESS (default localhost:7233),
TEMPORAL_NAMESPACE (default "default"), TEMPORAL_API_KEY, TEMPORAL_TLS_*.

If Temporal does not let this client make something that is missing, as Temporal Cloud
does, the error has the commands that an operator of Temporal has to run.`,
		Example: "  TEMPORAL_ADDRESS=temporal:7233 TEMPORAL_NAMESPACE=almanac almanac setup --retention 60d",
		Args:    cobra.NoArgs,
	}, getenv, func(cmd *cobra.Command, _ []string, p *wiring.Process) error { return runSetup(cmd.Context(), p) })
}

func runSetup(ctx context.Context, p *wiring.Process) error {
	options, err := temporalOptions(nil, p.Log)
	if err != nil {
		return err
	}
	temporal, err := client.DialContext(ctx, options)
	if err != nil {
		return fmt.Errorf("connect to Temporal at %s (set TEMPORAL_ADDRESS if it is elsewhere): %w", options.HostPort, err)
	}
	defer temporal.Close()
	return setup.Run(ctx, setup.Options{Client: temporal, Namespace: options.Namespace, Retention: p.Retention, Out: p.Out, NextRun: p.ShowNextRun})
}
