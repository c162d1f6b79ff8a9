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

// median returns the median of values, which of an even number is the mean of
// the two in the middle; zero if there are none. It leaves values as they are.
func median[T ~int64 | ~float64](values []T) T {
	n := len(values)
	if n == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
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
