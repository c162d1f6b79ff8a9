//go:build !slim

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	sdklog "go.temporal.io/sdk/log"
	"golang.org/x/sync/errgroup"

	"almanac/cmd/almanac/internal/settings"
	"almanac/cmd/almanac/internal/wiring"
	"almanac/console"
	"almanac/devserver"
	"almanac/internal/audit/header"
	"almanac/internal/telemetry/sdktelemetry"
	"almanac/job"
	"almanac/scheduler"
	"almanac/worker"
	"almanac/workflows"
)

// embedded says that this build has the embedded Temporal server.
const embedded = true

// runNode runs everything until ctx ends. Then it stops first the API, then the worker, then the server. It calls
// announce when everything is ready.
func runNode(ctx context.Context, p *wiring.Process, announce func(node)) error {
	l, err := listen(ctx, p.Setting("listen"))
	if err != nil {
		return err
	}
	defer l.Close()
	p.Authenticate(ctx)
	server, err := startServer(ctx, p)
	if err != nil {
		return err
	}
	defer server.Stop()
	own := append(server.Listening(), l.Addr().String())
	var codecListener net.Listener // nil: no codec server
	if p.CodecListen != "" && p.Keys != nil {
		if codecListener, err = listenCodec(ctx, p, "codec-listen"); err != nil {
			return err
		}
		defer codecListener.Close()
		own = append(own, codecListener.Addr().String())
	}
	if err := p.Protect(own); err != nil { // before the worker starts
		return err
	}
	options := nodeClient(p, server)
	data := options.DataConverter
	if err := observe(ctx, p, "node", &options); err != nil {
		return err
	}
	defer p.Telemetry.Stop(ctx)
	temporal, err := worker.Dial(ctx, options, 0)
	if err != nil {
		return fmt.Errorf("connect to the embedded Temporal: %w", err)
	}
	defer temporal.Close()
	stop, err := startWorker(p, temporal, options)
	if err != nil {
		return err
	}
	defer stop()

	service := scheduler.New(scheduler.Options{
		Client: temporal, Converter: data, Limits: &p.Limits, Log: p.Log,
		CheckSpace: server.CheckSpace, ShowNext: p.ShowNextRun,
	})
	service.NextRunExists()
	if err := prepare(ctx, service, p.Log); err != nil {
		return err
	}
	go lookAhead(ctx, service, p.Telemetry)
	sdktelemetry.WatchQueue(ctx, p.Telemetry.Registry, temporal, devserver.DefaultNamespace, workflows.TaskQueue)
	p.Telemetry.Registry.MustRegister(server.Disk())
	group, ctx := errgroup.WithContext(ctx)
	if codecListener != nil {
		origins := pageOrigins(p.Scheme(), server.UIAddress())
		group.Go(func() error { return serve(ctx, p, codecListener, p.ServerTLS(), codecHandler(p, origins)) })
	}
	p.FollowCertificates(ctx)
	announce(node{Process: p, api: l.Addr(), server: server})
	group.Go(func() error { return serve(ctx, p, l, p.APITLS(), p.Handler(service)) })
	return group.Wait()
}

// startServer starts the embedded Temporal server.
func startServer(ctx context.Context, p *wiring.Process) (*devserver.Server, error) {
	worker.SetCachedWorkflows(p.CachedJobs) // before the server starts its own workers, which share the cache
	server, err := devserver.Start(ctx, devserver.Options{
		DataDir: p.Data, Listen: p.TemporalListen, UIListen: p.UIListen, UIHosts: p.Hosts, UITLS: p.APITLS(), UIGuard: p.ProtectUI(), Synchronous: p.Synchronous,
		Retention: p.Retention, MinFree: p.MinFree,
		SearchAttributes: scheduler.SearchAttributes(), Log: p.Log.With("component", "server"),
	})
	if refused, ok := errors.AsType[*devserver.ListenError](err); ok {
		flag := "temporal-listen"
		if refused.UI {
			flag = "ui-listen"
		}
		return nil, listenError(p.Setting(flag), refused.Err)
	}
	return server, err
}

// nodeClient returns the options of the client of the embedded server.
func nodeClient(p *wiring.Process, server *devserver.Server) client.Options {
	data, failures := p.Keys.Converters()
	return client.Options{
		HostPort: server.Address(), ConnectionOptions: server.ConnectionOptions(),
		DataConverter: data, FailureConverter: failures,
		Logger:       sdklog.NewStructuredLogger(p.Log.With("component", "temporal")),
		Interceptors: []interceptor.ClientInterceptor{header.ForClient(data)},
	}
}

// pageOrigins returns the origins of the pages of a web server on this machine, by address and by
// localhost.
func pageOrigins(scheme, address string) []string {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil
	}
	return []string{scheme + "://" + address, scheme + "://localhost:" + port}
}

// prepare waits until jobs can be stored and run, and creates the default collection. Without enough disk space
// the jobs that exist run nevertheless.
func prepare(ctx context.Context, s *scheduler.Service, log *slog.Logger) error {
	wait, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for err := s.Ready(wait); err != nil; err = s.Ready(wait) {
		if little, ok := errors.AsType[*devserver.SpaceError](err); ok {
			log.WarnContext(ctx, "new jobs are refused", "error", little)
			break
		}
		select {
		case <-wait.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	k := job.CollectionKey{Subscription: settings.DefaultSubscription, ResourceGroup: settings.DefaultResourceGroup, Name: settings.DefaultCollection}
	_, err := s.Collection(ctx, k)
	if job.KindOf(err) == job.KindNotFound {
		properties := job.CollectionProperties{SKU: job.SKU{Name: "P20Premium"}, State: job.CollectionEnabled}
		_, _, err = s.PutCollection(ctx, job.Collection{Key: k, Properties: properties}, nil)
	}
	switch {
	case err == nil:
		return nil
	case job.KindOf(err) == job.KindUnavailable && ctx.Err() == nil:
		// for example after a run with a wrong encryption key, for a while
		log.WarnContext(ctx, "the job collection does not answer yet", "collection", k.Name, "error", err)
		return nil
	}
	// the API's text hides the cause
	return fmt.Errorf("look for the job collection %q: %w", k.Name, cmp.Or(errors.Unwrap(err), err))
}

// A node is what dev and server announce.
type node struct {
	*wiring.Process
	api    net.Addr
	server *devserver.Server
}

// url returns the URL of the API.
func (n node) url() string { return n.Scheme() + "://" + n.api.String() }

// ui returns the URL of the Web UI; "" if there is none.
func (n node) ui() string {
	if n.server.UIAddress() == "" {
		return ""
	}
	return n.Scheme() + "://" + n.server.UIAddress()
}

// printNode prints all addresses and a first command to try.
func printNode(n node) {
	command, remarks := firstCommand(n.Process, n.api)
	consoleLine := ""
	if n.Console {
		consoleLine = "Console   " + n.url() + console.Path + "\n"
	}
	fmt.Fprintf(n.Out, `API       %[1]s
%[7]sWeb UI    %[2]s
Temporal  %[3]s (namespace %[4]s)
Data      %[5]s

Try:  %[6]s
`, n.url(), cmp.Or(n.ui(), "none"), n.server.Address(), devserver.DefaultNamespace, n.Data, command, consoleLine)
	for _, remark := range remarks {
		fmt.Fprintf(n.Out, "      (%s)\n", remark)
	}
}

// logNode logs all addresses.
func logNode(n node) {
	n.Log.Info("ready", "api", n.url(), "ui", n.ui(), "temporal", n.server.Address(),
		"namespace", devserver.DefaultNamespace, "data", n.Data, "version", n.Build.Version)
}
