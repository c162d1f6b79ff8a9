//go:build !slim

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"golang.org/x/sync/errgroup"

	"almanac/activities"
	"almanac/api"
	"almanac/devserver"
	"almanac/internal/codec"
	"almanac/internal/web"
	"almanac/job"
	"almanac/scheduler"
	"almanac/worker"
)

// A devConfig is the configuration of `almanac dev`.
type devConfig struct {
	data, synchronous string
	api, temporal, ui string
	codec, token      string
	public            *url.URL // nil: links begin with the host of the request
	hosts             *web.Hosts
	keys              *codec.KeyRing
	limits            *job.Limits
	senders           *outbound
	lead              activities.Lead
	cached            int // workflows in the worker's cache
	perHost           int // concurrent requests to one host
	log               *slog.Logger
	out               io.Writer
}

func newDev(lookup func(string) (string, bool)) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run everything in this process: Temporal on a file, its Web UI, worker and API",
		Long: `Run all of Almanac on one machine: an embedded Temporal server that keeps
everything in one SQLite file, its Web UI, the worker and the REST API.

Whatever was answered is on disk: after a crash, or kill -9, the same command
goes on where it was. Nothing asks for a login: addresses that are not loopback
take --unauthenticated, and jobs may not call this machine then, unless
--egress-allow says so.`,
		Example: "  almanac dev\n  almanac dev --data /var/lib/almanac --listen 127.0.0.1:0 --ui-listen ''",
		Args:    cobra.NoArgs,
	}
	s := &settings{flags: cmd.Flags(), lookup: lookup}
	data := s.directory("data", "ALMANAC_DATA", "./almanac-data", "directory of the database")
	api := s.address("listen", "ALMANAC_LISTEN", "127.0.0.1:8080", "address of the API; port 0 picks a free one")
	temporal := s.address("temporal-listen", "ALMANAC_TEMPORAL_LISTEN", "127.0.0.1:7233", "address of Temporal, for the temporal CLI and other clients")
	ui := s.optionalAddress("ui-listen", "ALMANAC_UI_LISTEN", "127.0.0.1:8233", "address of the Temporal Web UI; empty: none")
	synchronous := s.choice("synchronous", "ALMANAC_SYNCHRONOUS", devserver.SynchronousFull,
		"full: a commit survives a power failure; normal: about 1.7 times as fast, survives kill -9, a power failure may lose the last commits",
		devserver.SynchronousFull, devserver.SynchronousNormal)
	exposed := s.unauthenticated(listener{"listen", api}, listener{"temporal-listen", temporal}, listener{"ui-listen", ui})
	public := s.publicURL()
	limits := s.limits()
	senders := s.outbound("127.0.0.0/8,::1", exposed)
	lead := s.lead()
	cached := s.cachedWorkflows()
	perHost := s.perHost()
	keys := s.clearPayloads(s.encryption())
	codecAddress := s.optionalAddress("codec-listen", "ALMANAC_CODEC_LISTEN", "",
		"address of a codec server, with which the Web UI shows what is encrypted, secrets included; empty, or without keys: none")
	token := s.codecToken("codec-listen", codecAddress)
	hosts := s.hosts(public, api, ui, codecAddress)
	logger := s.logging("info")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := s.check(); err != nil {
			return err
		}
		log := logger(cmd.ErrOrStderr())
		s.warn(log)
		return runDev(cmd.Context(), devConfig{
			data: *data, synchronous: *synchronous, api: *api, temporal: *temporal, ui: *ui,
			codec: *codecAddress, token: token, public: public(), hosts: hosts(), keys: keys(), limits: limits(), senders: senders(), lead: lead(), cached: *cached, perHost: *perHost,
			log: log, out: cmd.OutOrStdout(),
		})
	}
	return cmd
}

// runDev runs everything until ctx ends. Then it stops first the API, then the worker, then the server.
func runDev(ctx context.Context, c devConfig) error {
	l, err := listen(ctx, c.api)
	if err != nil {
		return err
	}
	defer l.Close()
	worker.SetCachedWorkflows(c.cached) // before the server starts its own workers, which share the cache
	server, err := devserver.Start(ctx, devserver.Options{
		DataDir: c.data, Listen: c.temporal, UIListen: c.ui, UIHosts: c.hosts, Synchronous: c.synchronous,
		SearchAttributes: scheduler.SearchAttributes(), Log: c.log.With("component", "server"),
	})
	if err != nil {
		return err
	}
	defer server.Stop()
	own := append(server.Listening(), l.Addr().String())
	var codecListener net.Listener // nil: no codec server
	if c.codec != "" && c.keys != nil {
		if codecListener, err = listenCodec(ctx, c.codec, c.keys, c.out); err != nil {
			return err
		}
		defer codecListener.Close()
		own = append(own, codecListener.Addr().String())
	}
	if err := c.senders.protect(own...); err != nil { // before the worker starts
		return err
	}
	data, failures := c.keys.Converters()
	temporal, err := worker.Dial(ctx, client.Options{
		HostPort: server.Address(), ConnectionOptions: server.ConnectionOptions(),
		DataConverter: data, FailureConverter: failures,
		Logger: sdklog.NewStructuredLogger(c.log.With("component", "temporal")),
	})
	if err != nil {
		return fmt.Errorf("connect to the embedded Temporal: %w", err)
	}
	defer temporal.Close()
	defer c.senders.Close()
	w := worker.New(worker.Options{
		Client: temporal, Converter: data, Senders: c.senders.ByType(), Lead: c.lead, PerHost: c.perHost, Log: c.log,
	})
	if err := w.Start(); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	defer w.Stop()

	service := scheduler.New(scheduler.Options{Client: temporal, Converter: data, Limits: c.limits, Log: c.log})
	if err := prepare(ctx, service, c.log); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	if codecListener != nil {
		decode := c.keys.Handler(codec.HandlerOptions{Token: c.token, Origins: pageOrigins(server.UIAddress())})
		group.Go(func() error { return serve(ctx, codecListener, c.hosts.Check(decode)) })
	}
	announce(c, l.Addr(), server)
	front := handler(service, api.Options{Limits: c.limits, Check: c.senders.Check, PublicURL: c.public, Guard: c.hosts.Check, Log: c.log})
	group.Go(func() error { return serve(ctx, l, front) })
	return group.Wait()
}

// pageOrigins returns the origins of the pages of a web server on this machine, by address and by
// localhost.
func pageOrigins(address string) []string {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil
	}
	return []string{"http://" + address, "http://localhost:" + port}
}

// prepare waits until jobs can be stored and run, and creates the default collection.
func prepare(ctx context.Context, s *scheduler.Service, log *slog.Logger) error {
	wait, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		err := s.Ready(wait)
		if err == nil {
			break
		}
		select {
		case <-wait.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	k := job.CollectionKey{Subscription: defaultSubscription, ResourceGroup: defaultResourceGroup, Name: defaultCollection}
	_, err := s.Collection(ctx, k)
	if job.KindOf(err) == job.KindNotFound {
		properties := job.CollectionProperties{SKU: job.SKU{Name: "P20Premium"}, State: job.CollectionEnabled}
		_, _, err = s.PutCollection(ctx, job.Collection{Key: k, Properties: properties})
	}
	switch {
	case err == nil:
		return nil
	case job.KindOf(err) == job.KindUnavailable && ctx.Err() == nil: // for example after a run with a wrong encryption key, for a while
		log.WarnContext(ctx, "the job collection does not answer yet", "collection", k.Name, "error", err)
		return nil
	}
	return fmt.Errorf("look for the job collection %q: %w", k.Name, cmp.Or(errors.Unwrap(err), err)) // the API's text hides the cause
}

// announce prints all addresses and a first command to try.
func announce(c devConfig, api net.Addr, server *devserver.Server) {
	ui := "none"
	if server.UIAddress() != "" {
		ui = "http://" + server.UIAddress()
	}
	fmt.Fprintf(c.out, `API       http://%[1]s
Web UI    %[2]s
Temporal  %[3]s (namespace %[4]s)
Data      %[5]s

Try:  curl -X PUT http://%[1]s/jobCollections/%[6]s/jobs/hello -d '{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":"https://example.com/"}},"recurrence":{"frequency":"minute"}}}'
`, api, ui, server.Address(), devserver.DefaultNamespace, c.data, defaultCollection)
}
