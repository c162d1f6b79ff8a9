package systems

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"almanac/lab/record"
	"almanac/lab/report"
)

// A Tick is what came of one due time of a herd.
type Tick struct {
	Lateness report.Spread // of the first request of each job
	Early    int           // requests
	Twice    int           // requests
	Missing  int           // requests that had not come before the next tick
}

// SortTicks assigns requests to the ticks of a herd. Those of other due times are left out.
func SortTicks(h Herd, n int, requests []record.Request) []Tick {
	ticks := make([]Tick, n)
	for i := range ticks {
		t, due := &ticks[i], h.First.Add(time.Duration(i)*h.Every)
		late := map[record.Job]time.Duration{}
		for _, a := range requests {
			if !a.Due.Equal(due) {
				continue
			}
			if a.Arrived.Before(due) {
				t.Early++
			}
			if _, again := late[a.Job]; again {
				t.Twice++
			} else {
				late[a.Job] = a.Arrived.Sub(due)
			}
		}
		t.Lateness, t.Missing = report.SpreadOf(slices.Collect(maps.Values(late))), h.Jobs-len(late)
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
	out.Lateness.P50, out.Lateness.P99 = report.Median(p50s), p99(p99s)
	return out
}

// Worst sums up ticks with the worst of their p99.
func Worst(ticks []Tick) Tick { return Combine(ticks, slices.Max[[]time.Duration]) }

// Cells returns the lateness, and how many requests were early, twice or missing.
func (t Tick) Cells() []string {
	return append(t.Lateness.Cells(), fmt.Sprint(t.Early), fmt.Sprint(t.Twice), fmt.Sprint(t.Missing))
}

func (t Tick) String() string {
	c := t.Cells()
	return fmt.Sprintf("p50 %s, p99 %s, max %s, early %s, twice %s, missing %s", c[0], c[1], c[2], c[3], c[4], c[5])
}
