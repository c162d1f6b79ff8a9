package telemetry

import "github.com/prometheus/client_golang/prometheus"

// ZoneWorkers returns a function that shows how many workers there are, by the release of their time zones. It is
// called once.
func (t *Telemetry) ZoneWorkers() func(workers map[string]int) {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "almanac_zoneinfo_workers", Help: "Workers that polled lately, by the release of their time zones. More " +
			"than one release is a mistake, unless workers are being replaced.",
	}, []string{"release"})
	if t != nil {
		t.Registry.MustRegister(g)
	}
	return func(workers map[string]int) {
		g.Reset()
		for release, n := range workers {
			g.WithLabelValues(release).Set(float64(n))
		}
	}
}
