package grid

import (
	"slices"
	"time"
)

// inYears is a grid that fires in some years only.
type inYears struct {
	grid  Grid
	zone  zone
	years []int // sorted
	first int64 // the anchor
}

func newInYears(r *Rule, z zone, anchor int64) inYears {
	any := *r
	any.Years = nil
	return inYears{grid: New(&any, anchor), zone: z, years: slices.Sorted(slices.Values(r.Years)), first: anchor}
}

// Next jumps from an instant in another year to the first instant of the next of its years.
func (g inYears) Next(from, until int64) (int64, bool) {
	for {
		t, ok := g.grid.Next(from, until)
		if !ok {
			return 0, false
		}
		year := time.Unix(t, 0).In(g.zone.loc).Year()
		i, found := slices.BinarySearch(g.years, year)
		if found {
			return t, true
		}
		if i == len(g.years) {
			return 0, false
		}
		start := time.Date(g.years[i], time.January, 1, 0, 0, 0, 0, time.UTC).Unix()
		from = max(t+1, g.zone.wall(start))
	}
}

func (g inYears) Fires() bool {
	end := time.Date(g.years[len(g.years)-1]+2, time.January, 1, 0, 0, 0, 0, time.UTC).Unix()
	_, ok := g.Next(g.first, end)
	return ok
}

func (g inYears) Spacing() int64 { return g.grid.Spacing() }
