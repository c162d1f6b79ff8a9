package telemetry

import (
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// forecastFloor is how much one second may have without a warning, even if this worker has not sent as much yet.
	forecastFloor = 1000

	// forecastFor is how long a forecast is shown.
	forecastFor = time.Hour
)

// A forecast is the fullest second that is to come.
type forecast struct {
	second, due *prometheus.Desc

	mu   sync.Mutex
	made time.Time
	at   time.Time
	n    int
}

// Forecasts returns a function that shows how many actions come due in the fullest second of the next hour, and which
// it is. If the worker is in this process, and has not been seen to send as many in time, the log says so.
func (t *Telemetry) Forecasts() (show func(second time.Time, due int)) {
	if t == nil {
		return func(time.Time, int) {}
	}
	f := &forecast{
		due:    prometheus.NewDesc("almanac_forecast_second_actions", "The most actions that come due in one second of the next hour.", nil, nil),
		second: prometheus.NewDesc("almanac_forecast_second_timestamp_seconds", "When these actions are due.", nil, nil),
	}
	t.Registry.MustRegister(f)
	return func(second time.Time, due int) {
		now := time.Now()
		f.mu.Lock()
		f.made, f.at, f.n = now, second, due
		f.mu.Unlock()
		if t.load == nil || due <= forecastFloor {
			return
		}
		if seen := t.load.largestPunctual(now); due > seen {
			t.log.Warn("more actions come due in one second than were seen to be sent in time",
				slog.Time("due", second), slog.Int("actions", due), slog.Int("seen", seen))
		}
	}
}

// Describe implements [prometheus.Collector].
func (f *forecast) Describe(to chan<- *prometheus.Desc) { to <- f.due; to <- f.second }

// Collect implements [prometheus.Collector].
func (f *forecast) Collect(to chan<- prometheus.Metric) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.made.IsZero() || time.Since(f.made) > forecastFor {
		return
	}
	to <- prometheus.MustNewConstMetric(f.due, prometheus.GaugeValue, float64(f.n))
	if f.n > 0 {
		to <- prometheus.MustNewConstMetric(f.second, prometheus.GaugeValue, float64(f.at.Unix()))
	}
}
