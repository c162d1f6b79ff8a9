package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"almanac/internal/codec"
	"almanac/worker"
)

func newWorker(lookup func(string) (string, bool)) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run the jobs of any Temporal server or cluster",
		Long: `Run jobs: their workflows and their actions. Run as many workers as you like;
which Temporal they work for is told by TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE and
the other variables of Temporal. On Ctrl-C or SIGTERM requests that are under
way may end before the worker does.

No action reaches TEMPORAL_ADDRESS. Where the API, a codec server or a Temporal
Web UI listens a worker does not know: name them with --egress-deny host:port.`,
		Example: "  TEMPORAL_ADDRESS=temporal:7233 almanac worker",
		Args:    cobra.NoArgs,
	}
	s := &settings{flags: cmd.Flags(), lookup: lookup}
	senders := s.outbound("", nil)
	lead := s.lead()
	cached := s.cachedWorkflows()
	perHost := s.perHost()
	keys := s.clearPayloads(s.encryption())
	logger := s.logging("info")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := s.check(); err != nil {
			return err
		}
		worker.SetCachedWorkflows(*cached)
		o := worker.Options{Lead: lead(), PerHost: *perHost, Log: logger(cmd.ErrOrStderr())}
		s.warn(o.Log)
		return runWorker(cmd.Context(), senders(), o, keys(), cmd.OutOrStdout())
	}
	return cmd
}

func runWorker(ctx context.Context, senders *outbound, o worker.Options, keys *codec.KeyRing, out io.Writer) error {
	options, err := temporalOptions(keys, o.Log)
	if err != nil {
		return err
	}
	if err := senders.protect(temporalPorts(options.HostPort)...); err != nil {
		return err
	}
	c, err := worker.Dial(ctx, options)
	if err != nil {
		return fmt.Errorf("connect to Temporal at %s: %w", options.HostPort, err)
	}
	defer c.Close()
	defer senders.Close()
	o.Client, o.Converter, o.Senders = c, options.DataConverter, senders.ByType()
	w := worker.New(o)
	if err := w.Start(); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	defer w.Stop()
	fmt.Fprintf(out, "Worker  (Temporal %s, namespace %s)\n", options.HostPort, options.Namespace)
	<-ctx.Done()
	return nil
}
