package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"almanac/cmd/almanac/internal/settings"
	"almanac/cmd/almanac/internal/wiring"
	"almanac/internal/audit/header"
	"almanac/internal/telemetry/sdktelemetry"
	"almanac/scheduler"
	"almanac/scheduler/setup"
	"almanac/workflows"
)

func newAPI(getenv settings.Lookup) *cobra.Command {
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
	}, getenv, func(cmd *cobra.Command, _ []string, p *wiring.Process) error { return runAPI(cmd.Context(), p) })
}

func runAPI(ctx context.Context, p *wiring.Process) error {
	options, err := observedTemporal(ctx, p, "api")
	if err != nil {
		return err
	}
	defer p.Telemetry.Stop(ctx)
	options.Interceptors = append(options.Interceptors, header.ForClient(options.DataConverter))
	temporal, err := client.NewLazyClient(options)
	if err != nil {
		return fmt.Errorf("connect to Temporal: %w", err)
	}
	defer temporal.Close()
	l, err := listen(ctx, p.Setting("listen"))
	if err != nil {
		return err
	}
	if err := p.Protect([]string{l.Addr().String()}, temporalAddresses(options.HostPort)...); err != nil {
		return err
	}
	service := scheduler.New(scheduler.Options{
		Client: temporal, Namespace: options.Namespace, Converter: options.DataConverter, Limits: &p.Limits, Log: p.Log, ShowNext: p.ShowNextRun,
	})
	prepare := setup.Options{Client: temporal, Namespace: options.Namespace, NextRun: p.ShowNextRun}
	go setup.KeepTrying(ctx, prepare, p.Log, service.NextRunExists)
	go lookAhead(ctx, service, p.Telemetry)
	sdktelemetry.WatchQueue(ctx, p.Telemetry.Registry, temporal, options.Namespace, workflows.TaskQueue)
	p.FollowCertificates(ctx)
	p.Authenticate(ctx)
	fmt.Fprintf(p.Out, "API  %s://%s  (Temporal %s, namespace %s)\n", p.Scheme(), l.Addr(), options.HostPort, options.Namespace)
	return serve(ctx, p, l, p.APITLS(), p.Handler(service))
}
