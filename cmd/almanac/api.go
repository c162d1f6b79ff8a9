package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"almanac/cmd/almanac/internal/address"
	"almanac/cmd/almanac/internal/config"
	"almanac/internal/audit/header"
	"almanac/internal/telemetry/sdktelemetry"
	"almanac/scheduler"
	"almanac/scheduler/setup"
	"almanac/workflows"
)

func newAPI(getenv config.Lookup) *cobra.Command {
	return command(&cobra.Command{
		Use:   "api",
		Short: "Serve the REST API for any Temporal server or cluster",
		Long: `Serve the REST API. Run as many as you like: all state is in Temporal. At least
one "almanac worker" must run on the same Temporal namespace. While Temporal does
not answer, all routes answer 503.

Temporal's own variables say where it is: TEMPORAL_ADDRESS (default localhost:7233),
TEMPORAL_NAMESPACE (default "default"), TEMPORAL_API_KEY, TEMPORAL_TLS_*.

To let other machines reach it, have it ask for a login (--token-file, --oidc-issuer),
or put a proxy with a login before it and give --unauthenticated.`,
		Example: "  TEMPORAL_ADDRESS=temporal:7233 almanac api --public-url https://jobs.example.com",
		Args:    cobra.NoArgs,
	}, getenv, func(cmd *cobra.Command, _ []string, c *config.Config) error { return runAPI(cmd.Context(), c) })
}

func runAPI(ctx context.Context, c *config.Config) error {
	options, err := observedTemporal(ctx, c, "api")
	if err != nil {
		return err
	}
	defer c.Telemetry.Stop(ctx)
	options.Interceptors = append(options.Interceptors, header.ForClient(options.DataConverter))
	temporal, err := client.NewLazyClient(options)
	if err != nil {
		return fmt.Errorf("connect to Temporal: %w", err)
	}
	defer temporal.Close()
	l, err := listen(ctx, c.Setting("listen"))
	if err != nil {
		return err
	}
	if err := c.Protect([]string{l.Addr().String()}, address.OfTemporal(options.HostPort)...); err != nil {
		return err
	}
	service := scheduler.New(scheduler.Options{
		Client: temporal, Namespace: options.Namespace, Converter: options.DataConverter, Limits: &c.Limits, Log: c.Log, ShowNext: c.ShowNextRun,
	})
	prepare := setup.Options{Client: temporal, Namespace: options.Namespace, NextRun: c.ShowNextRun}
	go setup.KeepTrying(ctx, prepare, c.Log, service.NextRunExists)
	go lookAhead(ctx, service, c.Telemetry)
	sdktelemetry.WatchQueue(ctx, c.Telemetry.Registry, temporal, options.Namespace, workflows.TaskQueue)
	c.FollowCertificates(ctx)
	c.OpenDoor(ctx)
	fmt.Fprintf(c.Out, "API  %s://%s  (Temporal %s, namespace %s)\n", c.Scheme(), l.Addr(), options.HostPort, options.Namespace)
	return serve(ctx, c, l, c.APITLS(), c.Handler(service))
}
