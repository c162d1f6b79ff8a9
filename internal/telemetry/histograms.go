package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
)

// buckets are the classic buckets of Almanac's own histograms, in seconds.
var buckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}

// sdkBuckets are those of Temporal's SDK, which has many series.
var sdkBuckets = []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10, 60}

// histogram returns a histogram of seconds with classic buckets and, for those who scrape them, native ones.
func histogram(name, help string, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: name, Help: help, Buckets: buckets,
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
	}, labels)
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
}

// sdkViews give the histograms of Temporal's SDK few buckets. The latency of a workflow from its start to its end is left
// out, since the workflow of a job ends when its run is long enough.
func sdkViews() []sdkmetric.View {
	return []sdkmetric.View{
		sdkmetric.NewView(sdkmetric.Instrument{Name: "temporal_workflow_endtoend_latency"}, sdkmetric.Stream{Aggregation: sdkmetric.AggregationDrop{}}),
		sdkmetric.NewView(sdkmetric.Instrument{Name: "temporal_*", Kind: sdkmetric.InstrumentKindHistogram},
			sdkmetric.Stream{Aggregation: sdkmetric.AggregationExplicitBucketHistogram{Boundaries: sdkBuckets, NoMinMax: true}}),
	}
}
