package telemetry

import (
	"context"
	"fmt"
	"os"
	"strings"

	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// A signal is TRACES or METRICS, as in the names of variables.
type signal string

// destination returns the protocol by which a signal is sent, "" if it is not sent: it is if the variables name an
// endpoint, or an exporter. The exporters read the other variables, such as OTEL_EXPORTER_OTLP_HEADERS, themselves.
func (s signal) destination() (protocol string, err error) {
	const (
		grpc  = "grpc"
		proto = "http/protobuf"
	)
	exporter := os.Getenv("OTEL_" + string(s) + "_EXPORTER")
	of := func(option string) (name, value string) {
		if name = "OTEL_EXPORTER_OTLP_" + string(s) + "_" + option; os.Getenv(name) == "" {
			name = "OTEL_EXPORTER_OTLP_" + option
		}
		return name, os.Getenv(name)
	}
	_, endpoint := of("ENDPOINT")
	switch {
	case strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true"), exporter == "none", exporter == "" && endpoint == "":
		return "", nil
	case exporter != "" && exporter != "otlp":
		return "", fmt.Errorf("$OTEL_%s_EXPORTER: %q is not known; allowed: otlp, none", s, exporter)
	}
	name, protocol := of("PROTOCOL")
	switch protocol {
	case "":
		return proto, nil
	case grpc, proto:
		return protocol, nil
	}
	return "", fmt.Errorf("$%s: %q is not known; allowed: %s, %s", name, protocol, grpc, proto)
}

// describe returns what is said of this process beside its metrics and spans.
func describe(ctx context.Context, o *Options) (*resource.Resource, error) {
	r, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "almanac-"+o.Role), attribute.String("service.version", o.Build.Version)),
		resource.WithHost(), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("read $OTEL_RESOURCE_ATTRIBUTES and $OTEL_SERVICE_NAME: %w", err)
	}
	return r, nil
}

// push returns a reader that sends all metrics each OTEL_METRIC_EXPORT_INTERVAL; nil if they are not sent.
func (t *Telemetry) push(ctx context.Context) (sdkmetric.Reader, error) {
	protocol, err := signal("METRICS").destination()
	if protocol == "" {
		return nil, err
	}
	var exporter sdkmetric.Exporter
	if protocol == "grpc" {
		exporter, err = otlpmetricgrpc.New(ctx)
	} else {
		exporter, err = otlpmetrichttp.New(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("send metrics by OTLP: %w", err)
	}
	own := bridge.NewMetricProducer(bridge.WithGatherer(t.Registry))
	return sdkmetric.NewPeriodicReader(exporter, sdkmetric.WithProducer(own)), nil
}

// startTraces returns a provider that sends spans; nil if they are not sent. It samples by OTEL_TRACES_SAMPLER.
func startTraces(ctx context.Context, described *resource.Resource) (*sdktrace.TracerProvider, error) {
	protocol, err := signal("TRACES").destination()
	if protocol == "" {
		return nil, err
	}
	var exporter *otlptrace.Exporter
	if protocol == "grpc" {
		exporter, err = otlptracegrpc.New(ctx)
	} else {
		exporter, err = otlptracehttp.New(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("send traces by OTLP: %w", err)
	}
	return sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(described), sdktrace.WithIDGenerator(executionIDs{})), nil
}
