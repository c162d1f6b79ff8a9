// Package telemetry measures what a program does: metrics for Prometheus, metrics and traces by OTLP.
//
// A metric never has the name of a job as a label, and no label has more than some ten values; the label collection is
// opt-in. Traces, and metrics by OTLP, are off unless the standard variables (OTEL_*) say where to send them. Nothing
// of a body, a path, a query or a secret is in a metric or a span.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"almanac/internal/build"
)

// Path is the path at which every program answers a scrape.
const Path = "/metrics"

// scrapes is the maximum number of scrapes that are answered at once.
const scrapes = 4

// Options configure [Start].
type Options struct {
	Build       build.Info
	Role        string // service.name is "almanac-" and this, unless OTEL_SERVICE_NAME is set
	Collections bool   // executions have the label collection
	Log         *slog.Logger
}

// A Telemetry has the metrics and the traces of a process. Stop it. A nil Telemetry measures nothing.
type Telemetry struct {
	Registry *prometheus.Registry // of Almanac's own metrics

	sdk         *prometheus.Registry // of the metrics of Temporal's SDK
	meters      *sdkmetric.MeterProvider
	tracers     *sdktrace.TracerProvider // nil: no traces
	log         *slog.Logger
	collections bool
	load        *load // of the worker in this process; nil if there is none
}

// Start returns the Telemetry of this process. The error says what is wrong with an OTEL_* variable.
func Start(ctx context.Context, o Options) (*Telemetry, error) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { o.Log.Warn("telemetry could not be sent", slog.Any("error", err)) }))
	t := &Telemetry{Registry: prometheus.NewRegistry(), sdk: prometheus.NewRegistry(), log: o.Log, collections: o.Collections}
	t.Registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), buildInfo(o.Build))
	described, err := describe(ctx, &o)
	if err != nil {
		return nil, err
	}
	if t.tracers, err = startTraces(ctx, described); err != nil {
		return nil, err
	}
	scraped, err := otelprometheus.New(otelprometheus.WithRegisterer(t.sdk), otelprometheus.WithoutScopeInfo(), otelprometheus.WithoutTargetInfo())
	if err != nil {
		return nil, fmt.Errorf("measure Temporal's SDK: %w", err)
	}
	readers := []sdkmetric.Option{sdkmetric.WithReader(scraped), sdkmetric.WithResource(described), sdkmetric.WithView(sdkView)}
	pushed, err := t.push(ctx)
	if err != nil {
		return nil, err
	}
	if pushed != nil {
		readers = append(readers, sdkmetric.WithReader(pushed))
	}
	t.meters = sdkmetric.NewMeterProvider(readers...)
	return t, nil
}

func buildInfo(b build.Info) prometheus.Collector {
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "almanac_build_info", Help: "1, with what the program was built from as labels.",
		ConstLabels: prometheus.Labels{"version": b.Version, "commit": b.Commit, "go": b.Go, "sdk": b.SDK, "server": b.Server, "zoneinfo": b.Zones},
	})
	g.Set(1)
	return g
}

// Handler answers scrapes, in the format that the caller accepts. Only protobuf has native histograms.
func (t *Telemetry) Handler() http.Handler {
	if t == nil {
		return http.NotFoundHandler()
	}
	return promhttp.HandlerFor(prometheus.Gatherers{t.Registry, t.sdk}, promhttp.HandlerOpts{
		MaxRequestsInFlight: scrapes,
		ErrorHandling:       promhttp.ContinueOnError,
		ErrorLog:            slog.NewLogLogger(t.log.Handler(), slog.LevelWarn),
	})
}

// Meter is where Temporal's SDK counts.
func (t *Telemetry) Meter() metric.Meter { return t.meters.Meter("temporal-sdk-go") }

// Tracer starts spans. They are recorded nowhere if traces are off.
func (t *Telemetry) Tracer() trace.Tracer {
	if !t.Traces() {
		return noop.NewTracerProvider().Tracer("almanac")
	}
	return t.tracers.Tracer("almanac")
}

// Traces reports whether traces are on.
func (t *Telemetry) Traces() bool { return t != nil && t.tracers != nil }

// stopTimeout is the limit for sending what was not sent yet.
const stopTimeout = 5 * time.Second

// Stop sends what was not sent yet, even if ctx has ended. It takes 5 s at most.
func (t *Telemetry) Stop(ctx context.Context) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	err := t.meters.Shutdown(ctx)
	if t.tracers != nil {
		err = errors.Join(err, t.tracers.Shutdown(ctx))
	}
	if err != nil {
		t.log.WarnContext(ctx, "telemetry could not be sent", slog.Any("error", err))
	}
}
