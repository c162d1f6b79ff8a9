package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"almanac/api"
	"almanac/internal/codec"
	"almanac/internal/web"
	"almanac/job"
	"almanac/scheduler"
)

func newAPI(lookup func(string) (string, bool)) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "api",
		Short: "Serve the REST API for any Temporal server or cluster",
		Long: `Serve the REST API. It keeps nothing itself: run as many as you like. Which
Temporal it works with is told by TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE and the
other variables of Temporal. At least one "almanac worker" has to run on the
same namespace. Until Temporal answers, so do all routes, with 503.

The API asks for no login. Where others are to reach it, put a proxy before it
that does, and give --unauthenticated with an address that is not loopback.`,
		Example: "  TEMPORAL_ADDRESS=temporal:7233 almanac api --public-url https://jobs.example.com",
		Args:    cobra.NoArgs,
	}
	s := &settings{flags: cmd.Flags(), lookup: lookup}
	address := s.address("listen", "ALMANAC_LISTEN", "127.0.0.1:8080", "address of the API; port 0 picks a free one")
	exposed := s.unauthenticated(listener{"listen", address})
	public := s.publicURL()
	hosts := s.hosts(public, address)
	limits := s.limits()
	senders := s.outbound("", exposed) // the API sends nothing; it refuses jobs that workers could not send
	keys := s.clearPayloads(s.encryption())
	logger := s.logging("info")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := s.check(); err != nil {
			return err
		}
		log := logger(cmd.ErrOrStderr())
		s.warn(log)
		return runAPI(cmd.Context(), apiConfig{
			address: *address, public: public(), hosts: hosts(), limits: limits(), senders: senders(), keys: keys(),
			log: log, out: cmd.OutOrStdout(),
		})
	}
	return cmd
}

// An apiConfig is the configuration of `almanac api`.
type apiConfig struct {
	address string
	public  *url.URL // nil: links begin with the host of the request
	hosts   *web.Hosts
	limits  *job.Limits
	senders *outbound
	keys    *codec.KeyRing
	log     *slog.Logger
	out     io.Writer
}

func runAPI(ctx context.Context, a apiConfig) error {
	options, err := temporalOptions(a.keys, a.log)
	if err != nil {
		return err
	}
	c, err := client.NewLazyClient(options)
	if err != nil {
		return fmt.Errorf("connect to Temporal: %w", err)
	}
	defer c.Close()
	l, err := listen(ctx, a.address)
	if err != nil {
		return err
	}
	if err := a.senders.protect(append(temporalPorts(options.HostPort), l.Addr().String())...); err != nil {
		return err
	}
	service := scheduler.New(scheduler.Options{
		Client: c, Namespace: options.Namespace, Converter: options.DataConverter, Limits: a.limits, Log: a.log,
	})
	go registerSearchAttributes(ctx, service, a.log)
	fmt.Fprintf(a.out, "API  http://%s  (Temporal %s, namespace %s)\n", l.Addr(), options.HostPort, options.Namespace)
	return serve(ctx, l, handler(service, api.Options{
		Limits: a.limits, Check: a.senders.Check, PublicURL: a.public, Guard: a.hosts.Check, Log: a.log,
	}))
}

// registerSearchAttributes retries until the namespace has the search attributes, since Temporal may start
// after the API. The pause between attempts doubles from 1 s to 1 min.
func registerSearchAttributes(ctx context.Context, s *scheduler.Service, log *slog.Logger) {
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		err := s.RegisterSearchAttributes(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		log.WarnContext(ctx, "the search attributes could not be registered yet; jobs cannot be created before", "error", err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}
