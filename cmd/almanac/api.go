package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"almanac/cmd/almanac/internal/address"
	"almanac/scheduler"
	"almanac/scheduler/setup"
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

The API asks for no login. To let other machines reach it, put a proxy with a login
before it, and give --unauthenticated with an address that is not loopback.`,
		Example: "  TEMPORAL_ADDRESS=temporal:7233 almanac api --public-url https://jobs.example.com",
		Args:    cobra.NoArgs,
	}, getenv, func(cmd *cobra.Command, _ []string, c *config) error { return runAPI(cmd.Context(), c) })
}

func runAPI(ctx context.Context, c *config) error {
	options, err := temporalOptions(c.keys, c.log)
	if err != nil {
		return err
	}
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
	go registerSearchAttributes(ctx, temporal, options.Namespace, c.log)
	fmt.Fprintf(c.out, "API  http://%s  (Temporal %s, namespace %s)\n", l.Addr(), options.HostPort, options.Namespace)
	return serve(ctx, l, handler(service, c))
}

// registerSearchAttributes retries until the namespace has the search attributes, since Temporal may start
// after the API. The pause between attempts doubles from 1 s to 1 min. The log has each reason once in a row.
func registerSearchAttributes(ctx context.Context, temporal client.Client, namespace string, log *slog.Logger) {
	logged := ""
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		err := addSearchAttributes(ctx, temporal, namespace)
		if err == nil || ctx.Err() != nil {
			return
		}
		if setup.IsNamespaceMissing(err) {
			err = errors.New(setup.Hint(namespace))
		}
		if logged != err.Error() {
			logged = err.Error()
			log.WarnContext(ctx, "jobs cannot be created yet", "error", err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

func addSearchAttributes(ctx context.Context, temporal client.Client, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, setup.Timeout)
	defer cancel()
	if _, err := temporal.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace}); setup.IsNamespaceMissing(err) {
		return err
	}
	_, err := setup.SearchAttributes(ctx, temporal, namespace)
	return err
}
