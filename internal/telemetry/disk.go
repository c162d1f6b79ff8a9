package telemetry

import (
	"os"

	"github.com/prometheus/client_golang/prometheus"
)

// Disk returns what shows the bytes of files, by what they are, and how much of their disk is free. What the system
// does not say is left out.
func Disk(files map[string]string, free func() (uint64, error)) prometheus.Collector {
	return &disk{files, free, prometheus.NewDesc("almanac_disk_bytes",
		"Bytes of the files of the embedded Temporal, and free bytes of their disk.", []string{"use"}, nil)}
}

type disk struct {
	files map[string]string
	free  func() (uint64, error)
	bytes *prometheus.Desc
}

// Describe implements [prometheus.Collector].
func (d *disk) Describe(to chan<- *prometheus.Desc) { to <- d.bytes }

// Collect implements [prometheus.Collector].
func (d *disk) Collect(to chan<- prometheus.Metric) {
	for use, path := range d.files {
		if info, err := os.Stat(path); err == nil {
			to <- prometheus.MustNewConstMetric(d.bytes, prometheus.GaugeValue, float64(info.Size()), use)
		}
	}
	if free, err := d.free(); err == nil {
		to <- prometheus.MustNewConstMetric(d.bytes, prometheus.GaugeValue, float64(free), "free")
	}
}
