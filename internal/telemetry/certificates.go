package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Certificates shows when certificates expire, by what they are used for. It may be called once for a process.
func (t *Telemetry) Certificates(expiries func() map[string]time.Time) {
	if t == nil {
		return
	}
	t.Registry.MustRegister(&certificates{expiries,
		prometheus.NewDesc("almanac_certificate_expiry_timestamp_seconds",
			"When the first of the certificates in use expires, by what they are used for.", []string{"use"}, nil)})
}

type certificates struct {
	expiries func() map[string]time.Time
	expiry   *prometheus.Desc
}

// Describe implements [prometheus.Collector].
func (c *certificates) Describe(to chan<- *prometheus.Desc) { to <- c.expiry }

// Collect implements [prometheus.Collector].
func (c *certificates) Collect(to chan<- prometheus.Metric) {
	for use, at := range c.expiries() {
		to <- prometheus.MustNewConstMetric(c.expiry, prometheus.GaugeValue, float64(at.Unix()), use)
	}
}
