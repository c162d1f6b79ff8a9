package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	sdklog "go.temporal.io/sdk/log"

	"almanac/cmd/almanac/internal/flags"
	"almanac/cmd/almanac/internal/settings"
	"almanac/cmd/almanac/internal/wiring"
	"almanac/internal/codec"
	"almanac/internal/telemetry"
	"almanac/internal/telemetry/sdktelemetry"
	"almanac/internal/web"
	"almanac/internal/wfclient"
	"almanac/recurrence"
	"almanac/scheduler"
	"almanac/scheduler/overview"
)

// drain is the time limit for requests in progress when a server stops.
const drain = 10 * time.Second

// serve answers requests on l until ctx ends, then shuts down gracefully within drain. A nil tls means plain HTTP.
func serve(ctx context.Context, p *wiring.Process, l net.Listener, tls *tls.Config, handler http.Handler) error {
	server := web.NewServer(handler)
	defer p.FlushAuditLog()
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(server, l, tls, p.Log) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("stop serving on %s: %w", l.Addr(), err)
	}
	return nil
}

// warmAfter is when a process that has started reads what lists across jobs need. Before, jobs may have much to catch
// up on.
const warmAfter = 10 * time.Second

// lookAhead prepares lists across the jobs of the short paths, which then need not read all jobs first, and keeps
// making forecasts.
func lookAhead(ctx context.Context, s *scheduler.Service, t *telemetry.Telemetry) {
	if wfclient.Sleep(ctx, warmAfter) != nil {
		return
	}
	s.Warm(ctx, settings.DefaultSubscription)
	show := t.Forecasts()
	s.KeepForecasting(ctx, func(f overview.Forecast) { show(f.Second, f.Due) })
}

// listen opens the listener at a setting's address.
func listen(ctx context.Context, address *flags.Setting) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address.Text())
	if err != nil {
		return nil, listenError(address, err)
	}
	return l, nil
}

// listenError returns the error for a setting's address that cannot be listened on.
func listenError(address *flags.Setting, err error) error {
	return fmt.Errorf("%s: %w; choose another address, or port 0 for a free one", address.Source(), err)
}

// temporalOptions returns the client options from Temporal's own variables and configuration file.
func temporalOptions(keys *codec.KeyRing, log *slog.Logger) (client.Options, error) {
	o, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return o, fmt.Errorf("read the TEMPORAL_* variables: %w", err)
	}
	o.DataConverter, o.FailureConverter = keys.Converters()
	o.Logger = sdklog.NewStructuredLogger(log.With("component", "temporal"))
	o.Namespace = cmp.Or(o.Namespace, client.DefaultNamespace)
	o.HostPort = cmp.Or(o.HostPort, client.DefaultHostPort)
	return o, nil
}

// observe begins to measure this process, and the client that is made from options.
func observe(ctx context.Context, p *wiring.Process, role string, options *client.Options) (err error) {
	p.Log.InfoContext(ctx, "time zones", "release", p.Build.Zones, "from", cmp.Or(p.Setting("zoneinfo").Text(), "this program"))
	if lacking := recurrence.Lacking(); len(lacking) > 0 {
		p.Log.WarnContext(ctx, "the time zones lack some that this program knows: jobs in these are refused, and those that exist wait for a worker that has them",
			"lacking", len(lacking), "names", strings.Join(lacking[:min(5, len(lacking))], ", "))
	}
	p.Telemetry, err = sdktelemetry.Start(ctx, telemetry.Options{Build: p.Build, Role: role, Collections: p.CollectionLabel, Log: p.Log}, options)
	return err
}

// observedTemporal returns the options of temporalOptions, for a client that is measured.
func observedTemporal(ctx context.Context, p *wiring.Process, role string) (client.Options, error) {
	options, err := temporalOptions(p.Keys, p.Log)
	if err == nil {
		err = observe(ctx, p, role, &options)
	}
	return options, err
}
