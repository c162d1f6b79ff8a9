package ratelimit

import (
	"sync"
	"time"
)

const (
	// maxCallers bounds a table. Further callers share one entry, so that callers with many names gain nothing.
	maxCallers = 10_000
	// sweepEvery is the interval at which idle callers are forgotten.
	sweepEvery = 10 * time.Second
)

// A table has a value for each caller, in up to maxCallers entries of a few hundred bytes.
type table[T any] struct {
	create func() *T
	idle   func(value *T, now time.Time) bool // whether the value is as a new one, so that it can be forgotten

	mutex   sync.Mutex
	entries map[string]*T
	shared  *T // of callers for which there is no room
	swept   time.Time
}

func newTable[T any](create func() *T, idle func(*T, time.Time) bool) *table[T] {
	return &table[T]{create: create, idle: idle, entries: map[string]*T{}, shared: create()}
}

// use calls f, alone, with the value of a caller, and returns it.
func (t *table[T]) use(name string, now time.Time, f func(*T)) *T {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.sweep(now)
	value, known := t.entries[name]
	switch {
	case known:
	case len(t.entries) < maxCallers:
		value = t.create()
		t.entries[name] = value
	default:
		value = t.shared
	}
	f(value)
	return value
}

// change calls f alone.
func (t *table[T]) change(f func()) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	f()
}

func (t *table[T]) sweep(now time.Time) {
	if now.Sub(t.swept) < sweepEvery {
		return
	}
	t.swept = now
	for name, value := range t.entries {
		if t.idle(value, now) {
			delete(t.entries, name)
		}
	}
}
