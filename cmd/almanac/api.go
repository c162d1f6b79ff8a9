package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"almanac/cmd/almanac/internal/address"
	"almanac/internal/audit/header"
	"almanac/internal/telemetry/sdktelemetry"
	"almanac/scheduler"
	"almanac/scheduler/setup"
	"almanac/workflows"
)

func newAPI(getenv lookup) *cobra.Command {
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
	}, getenv, func(cmd *cobra.Command, _ []string, c *config) error { return runAPI(cmd.Context(), c) })
}

func runAPI(ctx context.Context, c *config) error {
	options, err := c.observedTemporal(ctx, "api")
	if err != nil {
		return err
	}
	defer c.telemetry.Stop(ctx)
	options.Interceptors = append(options.Interceptors, header.ForClient(options.DataConverter))
	temporal, err := client.NewLazyClient(options)
	if err != nil {
		return fmt.Errorf("connect to Temporal: %w", err)
	}
	defer temporal.Close()
	l, err := listen(ctx, c.settings.Get("listen"))
	if err != nil {
		return err
	}
	if err := c.protect(append(address.OfTemporal(options.HostPort), l.Addr().String())...); err != nil {
		return err
	}
	service := scheduler.New(scheduler.Options{
		Client: temporal, Namespace: options.Namespace, Converter: options.DataConverter, Limits: &c.limits, Log: c.log,
	})
	go setup.KeepTrying(ctx, temporal, options.Namespace, c.log)
	sdktelemetry.WatchQueue(ctx, c.telemetry.Registry, temporal, options.Namespace, workflows.TaskQueue)
	c.followCertificates(ctx)
	c.openDoor(ctx)
	fmt.Fprintf(c.out, "API  %s://%s  (Temporal %s, namespace %s)\n", c.scheme(), l.Addr(), options.HostPort, options.Namespace)
	return c.serve(ctx, l, c.apiTLS(), handler(service, c))
}
