package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"almanac/bench/systems"
)

const (
	// calm is how long nothing is due before a tick.
	calm = 15 * time.Second

	createdPerSecond = 40 // jobs, in any system
)

// creating returns how long it takes to create jobs, at most.
func creating(jobs int) time.Duration { return time.Duration(jobs) * time.Second / createdPerSecond }

// A tick is what came of one due time of a herd.
type tick struct {
	lateness spread // of the first request of each job
	early    int    // requests
	twice    int    // requests
	missing  int    // requests that had not come before the next tick
}

func (t tick) String() string {
	return fmt.Sprintf("%s, early %d, twice %d, missing %d", t.lateness, t.early, t.twice, t.missing)
}

// awaitTicks waits until a herd has had its ticks and it is calm before the next one, and returns
// them. A smoke test does not wait once all requests have come.
func (b *bench) awaitTicks(ctx context.Context, h systems.Herd, ticks int) ([]tick, error) {
	end := h.First.Add(time.Duration(ticks)*h.Every - calm)
	for time.Now().Before(end) && (!b.options.smoke || b.receiver.Count(h.Name) < ticks*h.Jobs) {
		if err := systems.Pause(ctx, min(time.Until(end), 100*time.Millisecond)); err != nil {
			return nil, err
		}
	}
	return sortTicks(h, ticks, b.receiver.Take(h.Name)), nil
}

// sortTicks assigns requests to the ticks of a herd. Those of other due times are left out.
func sortTicks(h systems.Herd, n int, arrivals []systems.Arrival) []tick {
	ticks := make([]tick, n)
	late := make([]map[int]time.Duration, n) // by job
	for i := range late {
		late[i] = make(map[int]time.Duration, h.Jobs)
	}
	for _, a := range arrivals {
		i := int(a.Due.Sub(h.First) / h.Every)
		if a.Due.Before(h.First) || i >= n {
			continue
		}
		if a.At.Before(a.Due) {
			ticks[i].early++
		}
		if _, again := late[i][a.Job]; again {
			ticks[i].twice++
			continue
		}
		late[i][a.Job] = a.At.Sub(a.Due)
	}
	for i := range ticks {
		all := make([]time.Duration, 0, h.Jobs)
		for _, d := range late[i] {
			all = append(all, d)
		}
		ticks[i].lateness, ticks[i].missing = spreadOf(all), h.Jobs-len(all)
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
	if len(ticks) > 0 {
		out.lateness.p50, out.lateness.p99 = median(p50s), p99(p99s)
	}
	return out
}

// worst sums up ticks with the worst of their p99.
func worst(ticks []tick) tick { return combine(ticks, slices.Max[[]time.Duration]) }

// A spread sums up durations.
type spread struct {
	n             int
	p50, p99, max time.Duration
}

func (s spread) String() string {
	return fmt.Sprintf("p50 %s, p99 %s, max %s", formatDuration(s.p50), formatDuration(s.p99), formatDuration(s.max))
}

// spreadOf sorts durations and sums them up.
func spreadOf(d []time.Duration) spread {
	slices.Sort(d)
	return spread{len(d), percentile(d, 50), percentile(d, 99), percentile(d, 100)}
}

// percentile returns the smallest of the sorted values that at least p per cent of them do not exceed
// (the nearest-rank method), or zero if there are none.
func percentile[T cmp.Ordered](sorted []T, p float64) (value T) {
	if len(sorted) == 0 {
		return value
	}
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}

// median returns the median of values, or zero if there are none: of an even number, the mean of the
// two in the middle.
func median[T ~int64 | ~float64](values []T) T {
	n := len(values)
	if n == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
