package sdktelemetry

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"go.temporal.io/sdk/client"
)

// operationTag names the request to Temporal. Other tags of a request, such as the type of the workflow, are left
// out.
const operationTag = "operation"

// A cachedHandler keeps the handlers and instruments that it makes. The SDK asks for them anew with each task and
// request, and making one takes longer than counting. There are few, since each tag has few values.
type cachedHandler struct {
	root, next                         client.MetricsHandler
	children, counters, gauges, timers sync.Map // by tags, and by names
}

func newCachedHandler(next client.MetricsHandler) *cachedHandler {
	return &cachedHandler{root: next, next: next}
}

// WithTags implements [client.MetricsHandler].
func (h *cachedHandler) WithTags(tags map[string]string) client.MetricsHandler {
	return kept(&h.children, keyOf(tags), func() *cachedHandler {
		c := &cachedHandler{root: h.root}
		if operation, request := tags[operationTag]; request {
			c.next = h.root.WithTags(map[string]string{operationTag: operation})
		} else {
			c.next = h.next.WithTags(tags)
		}
		return c
	})
}

// keyOf returns a key that differs for different tags.
func keyOf(tags map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		b.WriteString(name + "\x00" + tags[name] + "\x00")
	}
	return b.String()
}

// Counter implements [client.MetricsHandler].
func (h *cachedHandler) Counter(name string) client.MetricsCounter {
	return kept(&h.counters, name, func() client.MetricsCounter { return h.next.Counter(name) })
}

// Gauge implements [client.MetricsHandler].
func (h *cachedHandler) Gauge(name string) client.MetricsGauge {
	return kept(&h.gauges, name, func() client.MetricsGauge { return h.next.Gauge(name) })
}

// Timer implements [client.MetricsHandler].
func (h *cachedHandler) Timer(name string) client.MetricsTimer {
	return kept(&h.timers, name, func() client.MetricsTimer { return h.next.Timer(name) })
}

// kept returns the value of a key, which create makes if there is none.
func kept[V any](m *sync.Map, key string, create func() V) V {
	found, ok := m.Load(key)
	if !ok {
		found, _ = m.LoadOrStore(key, create())
	}
	return found.(V)
}
