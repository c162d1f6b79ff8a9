package workflowtest

import (
	"strings"
	"sync"

	"go.temporal.io/sdk/client"
)

// Counters is a [client.MetricsHandler] that records Almanac's counters of Temporal's SDK. It is safe for concurrent
// use.
type Counters struct {
	mu      sync.Mutex
	counted []string
}

// Counted returns the name and the tags kind and outcome of each increase, in order.
func (c *Counters) Counted() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counted
}

// WithTags returns a handler whose metrics have these tags.
func (c *Counters) WithTags(tags map[string]string) client.MetricsHandler {
	return tagged{c, client.MetricsNopHandler, tags}
}

// Counter returns a counter without tags.
func (c *Counters) Counter(name string) client.MetricsCounter { return c.WithTags(nil).Counter(name) }

// Gauge returns a gauge that is not recorded.
func (c *Counters) Gauge(name string) client.MetricsGauge {
	return client.MetricsNopHandler.Gauge(name)
}

// Timer returns a timer that is not recorded.
func (c *Counters) Timer(name string) client.MetricsTimer {
	return client.MetricsNopHandler.Timer(name)
}

type tagged struct {
	counters *Counters
	client.MetricsHandler
	tags map[string]string
}

func (t tagged) WithTags(tags map[string]string) client.MetricsHandler {
	return t.counters.WithTags(tags)
}

func (t tagged) Counter(name string) client.MetricsCounter {
	return counter(func(int64) {
		if strings.HasPrefix(name, "almanac_") {
			t.counters.mu.Lock()
			defer t.counters.mu.Unlock()
			t.counters.counted = append(t.counters.counted, name+" "+t.tags["kind"]+" "+t.tags["outcome"])
		}
	})
}

type counter func(int64)

func (c counter) Inc(n int64) { c(n) }
