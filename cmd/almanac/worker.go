package main

import (
	"context"
	"fmt"
	"net"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"almanac/activities/journal"
	"almanac/cmd/almanac/internal/settings"
	"almanac/cmd/almanac/internal/wiring"
	"almanac/internal/audit/header"
	"almanac/internal/files"
	"almanac/scheduler"
	"almanac/scheduler/readiness"
	"almanac/scheduler/setup"
	"almanac/worker"
)

func newWorker(getenv settings.Lookup) *cobra.Command {
	return command(&cobra.Command{
		Use:   "worker",
		Short: "Run the jobs of any Temporal server or cluster",
		Long: `Run jobs: their workflows and their actions. Run as many workers as you like. On
Ctrl-C or SIGTERM, requests in flight have 8 s to end.

Temporal's own variables say where it is: TEMPORAL_ADDRESS (default localhost:7233),
TEMPORAL_NAMESPACE (default "default"), TEMPORAL_API_KEY, TEMPORAL_TLS_*.

No action reaches the host of TEMPORAL_ADDRESS. A worker does not know where the API, a
codec server or a Temporal Web UI runs: refuse their hosts with --egress-protect.`,
		Example: "  TEMPORAL_ADDRESS=temporal:7233 almanac worker",
		Args:    cobra.NoArgs,
	}, getenv, func(cmd *cobra.Command, _ []string, p *wiring.Process) error { return runWorker(cmd.Context(), p) })
}

func runWorker(ctx context.Context, p *wiring.Process) error {
	worker.SetCachedWorkflows(p.CachedJobs)
	options, err := observedTemporal(ctx, p, "worker")
	if err != nil {
		return err
	}
	defer p.Telemetry.Stop(ctx)
	options.Interceptors = append(options.Interceptors, header.ForClient(options.DataConverter)) // for changes of many jobs
	var own []string
	var l net.Listener // nil: no probes
	if p.WorkerListen != "" {
		if l, err = listen(ctx, p.Setting("listen")); err != nil {
			return err
		}
		defer l.Close()
		own = append(own, l.Addr().String())
	}
	if err := p.Protect(own, temporalAddresses(options.HostPort)...); err != nil {
		return err
	}
	temporal, err := worker.Dial(ctx, options, p.PollTimeout)
	if err != nil {
		return fmt.Errorf("connect to Temporal at %s (set TEMPORAL_ADDRESS if it is elsewhere): %w", options.HostPort, err)
	}
	defer temporal.Close()
	// The SDK's worker ends if the namespace does not exist.
	err = setup.AwaitNamespace(ctx, temporal, options.Namespace, func() { p.Log.WarnContext(ctx, setup.Hint(options.Namespace)) })
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return fmt.Errorf("look for the namespace %q: %w", options.Namespace, err)
	}
	stop, err := startWorker(p, temporal, options)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Fprintf(p.Out, "Worker  (Temporal %s, namespace %s)\n", options.HostPort, options.Namespace)
	if l == nil {
		<-ctx.Done()
		return nil
	}
	ready := readiness.New(temporal.Client, options.Namespace, p.Log)
	p.FollowCertificates(ctx)
	return serve(ctx, p, l, p.ServerTLS(), p.Hosts.Check(probeHandler(p.Build, ready.Check, p.Telemetry.Handler())))
}

// startWorker starts a worker. Call stop to end it.
func startWorker(p *wiring.Process, temporal *worker.Client, o client.Options) (stop func(), err error) {
	data := o.DataConverter
	outcomes, err := openJournal(p)
	if err != nil {
		return nil, err
	}
	changes := scheduler.New(scheduler.Options{Client: temporal, Namespace: o.Namespace, Converter: data, Limits: &p.Limits, Log: p.Log})
	w := worker.New(worker.Options{
		Bulk:   changes.Bulk,
		Client: temporal, Converter: data, Senders: p.Senders.ByType(), Notifies: p.Senders.Notifications(),
		PublicURL: p.LinkBase(), MaxHold: p.MaxHold, PerHost: p.PerHost, Log: p.Log, Telemetry: p.Telemetry,
		Journal: outcomes, Only: p.Data != "", Version: p.Build.Version,
	})
	if err := w.Start(); err != nil {
		return nil, fmt.Errorf("start the worker: %w", err)
	}
	return func() {
		w.Stop()
		_ = outcomes.Close()
		p.Senders.Close()
	}, nil
}

// openJournal opens the journal of this process's worker; nil if it has none.
func openJournal(p *wiring.Process) (*journal.Journal, error) {
	dir := p.JournalDir()
	if dir == "" {
		return nil, nil
	}
	if err := files.MakePrivate(dir, p.Log); err != nil {
		return nil, fmt.Errorf("make the directory of outcomes: %w", err)
	}
	return journal.Open(dir)
}
