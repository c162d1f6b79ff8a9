package telemetry

import (
	"strings"
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

// sdkView makes the metrics of Temporal's SDK few. Their histograms have few buckets, and each request is measured
// once, with its retries. The latency of a workflow from its start to its end is left out: the workflow of a job ends
// when its run is long enough.
func sdkView(i sdkmetric.Instrument) (sdkmetric.Stream, bool) {
	s := sdkmetric.Stream{Name: i.Name, Description: i.Description, Unit: i.Unit}
	if i.Name == "temporal_workflow_endtoend_latency" || strings.HasSuffix(i.Name, "_attempt") {
		s.Aggregation = sdkmetric.AggregationDrop{}
		return s, true
	}
	if i.Kind == sdkmetric.InstrumentKindHistogram {
		s.Aggregation = sdkmetric.AggregationExplicitBucketHistogram{Boundaries: sdkBuckets, NoMinMax: true}
	}
	return s, true
}
