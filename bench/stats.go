package main

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// percentile returns the smallest of the sorted values that at least p per cent
// of them do not exceed (the nearest-rank method); zero if there are none.
func percentile[T cmp.Ordered](sorted []T, p float64) T {
	if len(sorted) == 0 {
		var zero T
		return zero
	}
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}

// median returns the median of values, the lower one of two; zero if there are
// none. It leaves values as they are.
func median[T cmp.Ordered](values []T) T {
	return percentile(slices.Sorted(slices.Values(values)), 50)
}

// A spread sums up durations.
type spread struct {
	n             int
	p50, p99, max time.Duration
}

// spreadOf sorts durations and sums them up.
func spreadOf(d []time.Duration) spread {
	slices.Sort(d)
	return spread{len(d), percentile(d, 50), percentile(d, 99), percentile(d, 100)}
}
