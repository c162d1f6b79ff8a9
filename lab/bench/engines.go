package bench

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	"almanac/lab/bench/engines"
	"almanac/lab/report"
)

// zone is where the engines are measured: one whose clock changes.
const zone = "Europe/Stockholm"

// distances are how far from the start of a schedule an engine is asked.
var distances = []struct {
	name  string
	after time.Time
}{
	{"near", time.Date(2026, time.January, 2, 12, 34, 56, 0, time.UTC)},
	{"20 years on", time.Date(2046, time.May, 6, 12, 34, 56, 0, time.UTC)},
}

// measureEngines asks every engine that can express it for the next occurrence of each schedule.
func (b *bench) measureEngines(context.Context) error {
	testing.Init()
	if err := flag.Set("test.benchtime", b.options.Benchtime.String()); err != nil {
		return err
	}
	for _, s := range engines.Schedules {
		all, err := s.In(zone)
		if err != nil {
			return err
		}
		for _, d := range distances {
			row := []string{s.Name, d.name}
			for _, name := range []string{engines.Almanac, engines.Cron, engines.RRule} {
				cell := "–"
				if next, ok := all[name]; ok {
					r := testing.Benchmark(func(b *testing.B) {
						for b.Loop() {
							next(d.after)
						}
					})
					cell = fmt.Sprintf("%s ns, %d allocs", report.Count(float64(r.T.Nanoseconds())/float64(r.N)), r.AllocsPerOp())
				}
				row = append(row, cell)
			}
			b.page.Add(&b.page.Engines, row)
		}
	}
	return nil
}
