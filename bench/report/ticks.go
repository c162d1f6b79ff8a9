package report

import (
	"maps"
	"slices"
	"time"

	"almanac/bench/systems"
)

// A Tick is what came of one due time of a herd.
type Tick struct {
	Lateness Spread // of the first request of each job
	Early    int    // requests
	Twice    int    // requests
	Missing  int    // requests that had not come before the next tick
}

// SortTicks assigns requests to the ticks of a herd. Those of other due times are left out.
func SortTicks(h systems.Herd, n int, arrivals []systems.Arrival) []Tick {
	ticks := make([]Tick, n)
	for i := range ticks {
		t, due := &ticks[i], h.First.Add(time.Duration(i)*h.Every)
		late := map[int]time.Duration{} // by job
		for _, a := range arrivals {
			if !a.Due.Equal(due) {
				continue
			}
			if a.At.Before(due) {
				t.Early++
			}
			if _, again := late[a.Job]; again {
				t.Twice++
			} else {
				late[a.Job] = a.At.Sub(due)
			}
		}
		t.Lateness, t.Missing = SpreadOf(slices.Collect(maps.Values(late))), h.Jobs-len(late)
	}
	return ticks
}

// Combine sums up ticks: the median of their p50, what p99 makes of their p99, the longest, and all
// that was early, twice or missing.
func Combine(ticks []Tick, p99 func([]time.Duration) time.Duration) (out Tick) {
	var p50s, p99s []time.Duration
	for _, t := range ticks {
		p50s, p99s = append(p50s, t.Lateness.P50), append(p99s, t.Lateness.P99)
		out.Lateness.N += t.Lateness.N
		out.Lateness.Max = max(out.Lateness.Max, t.Lateness.Max)
		out.Early += t.Early
		out.Twice += t.Twice
		out.Missing += t.Missing
	}
	out.Lateness.P50, out.Lateness.P99 = Median(p50s), p99(p99s)
	return out
}

// Worst sums up ticks with the Worst of their p99.
func Worst(ticks []Tick) Tick { return Combine(ticks, slices.Max[[]time.Duration]) }

// A Spread sums up durations.
type Spread struct {
	N             int
	P50, P99, Max time.Duration
}

// SpreadOf sorts durations and sums them up; of none, all is zero. A percentile is the smallest value
// that so many per cent of all do not exceed (the nearest-rank method).
func SpreadOf(d []time.Duration) Spread {
	n := len(d)
	if n == 0 {
		return Spread{}
	}
	slices.Sort(d)
	percentile := func(p int) time.Duration { return d[(p*n+99)/100-1] }
	return Spread{n, percentile(50), percentile(99), d[n-1]}
}

// Median returns the Median of at least one value: of an even number, the mean of the two in the middle.
func Median[T ~int64 | ~float64](values []T) T {
	n, sorted := len(values), slices.Sorted(slices.Values(values))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
