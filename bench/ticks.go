package main

import (
	"context"
	"maps"
	"slices"
	"time"

	"almanac/bench/systems"
	"almanac/internal/wait"
)

const (
	// calm is how long nothing is due before a tick.
	calm = 15 * time.Second

	createdPerSecond = 40 // jobs, in any system
)

// creating returns how long it takes to create jobs, at most.
func creating(jobs int) time.Duration { return time.Duration(jobs) * time.Second / createdPerSecond }

// pause waits for d, or until ctx ends: what follows returns the error of ctx.
func pause(ctx context.Context, d time.Duration) { _ = wait.For(ctx, d) }

// A tick is what came of one due time of a herd.
type tick struct {
	lateness spread // of the first request of each job
	early    int    // requests
	twice    int    // requests
	missing  int    // requests that had not come before the next tick
}

// awaitTicks waits until a herd has had its ticks and it is calm before the next one, and returns
// them. A smoke test does not wait once all requests have come.
func (b *bench) awaitTicks(ctx context.Context, h systems.Herd, ticks int) ([]tick, error) {
	end := h.First.Add(time.Duration(ticks)*h.Every - calm)
	err := wait.Until(ctx, time.Until(end), func() bool { return b.options.smoke && b.receiver.Count(h.Name) >= ticks*h.Jobs })
	return sortTicks(h, ticks, b.receiver.Take(h.Name)), err
}

// sortTicks assigns requests to the ticks of a herd. Those of other due times are left out.
func sortTicks(h systems.Herd, n int, arrivals []systems.Arrival) []tick {
	ticks := make([]tick, n)
	for i := range ticks {
		t, due := &ticks[i], h.First.Add(time.Duration(i)*h.Every)
		late := map[int]time.Duration{} // by job
		for _, a := range arrivals {
			if !a.Due.Equal(due) {
				continue
			}
			if a.At.Before(due) {
				t.early++
			}
			if _, again := late[a.Job]; again {
				t.twice++
			} else {
				late[a.Job] = a.At.Sub(due)
			}
		}
		t.lateness, t.missing = spreadOf(slices.Collect(maps.Values(late))), h.Jobs-len(late)
	}
	return ticks
}

// combine sums up ticks: the median of their p50, what p99 makes of their p99, the longest, and all
// that was early, twice or missing.
func combine(ticks []tick, p99 func([]time.Duration) time.Duration) (out tick) {
	var p50s, p99s []time.Duration
	for _, t := range ticks {
		p50s, p99s = append(p50s, t.lateness.p50), append(p99s, t.lateness.p99)
		out.lateness.n += t.lateness.n
		out.lateness.max = max(out.lateness.max, t.lateness.max)
		out.early += t.early
		out.twice += t.twice
		out.missing += t.missing
	}
	out.lateness.p50, out.lateness.p99 = median(p50s), p99(p99s)
	return out
}

// worst sums up ticks with the worst of their p99.
func worst(ticks []tick) tick { return combine(ticks, slices.Max[[]time.Duration]) }

// A spread sums up durations.
type spread struct {
	n             int
	p50, p99, max time.Duration
}

// spreadOf sorts durations and sums them up; of none, all is zero. A percentile is the smallest value
// that so many per cent of all do not exceed (the nearest-rank method).
func spreadOf(d []time.Duration) spread {
	n := len(d)
	if n == 0 {
		return spread{}
	}
	slices.Sort(d)
	percentile := func(p int) time.Duration { return d[(p*n+99)/100-1] }
	return spread{n, percentile(50), percentile(99), d[n-1]}
}

// median returns the median of at least one value: of an even number, the mean of the two in the middle.
func median[T ~int64 | ~float64](values []T) T {
	n, sorted := len(values), slices.Sorted(slices.Values(values))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
