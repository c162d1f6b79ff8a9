package engines

import (
	"flag"
	"testing"
	"time"
)

// A Distance is how far from the start of a schedule an engine is asked.
type Distance struct {
	Name  string
	After time.Time
}

// Distances are what is asked of each engine.
var Distances = []Distance{
	{"near", time.Date(2026, time.January, 2, 12, 34, 56, 0, time.UTC)},
	{"20 years on", time.Date(2046, time.May, 6, 12, 34, 56, 0, time.UTC)},
}

// zone is where the engines are measured: one whose clock changes.
const zone = "Europe/Stockholm"

// A Result is what one answer costs.
type Result struct {
	Schedule, Distance, Engine string
	Nanoseconds                float64
	Allocs                     int64
}

// Measure asks every engine that can express it for the next occurrence of each
// schedule, for so long each.
func Measure(benchtime time.Duration) ([]Result, error) {
	testing.Init()
	if err := flag.Set("test.benchtime", benchtime.String()); err != nil {
		return nil, err
	}
	var results []Result
	for _, s := range Schedules {
		all, err := s.In(zone)
		if err != nil {
			return nil, err
		}
		for _, d := range Distances {
			for _, e := range all {
				r := testing.Benchmark(func(b *testing.B) { ask(b, e, d.After) })
				results = append(results, Result{s.Name, d.Name, e.Name, float64(r.T.Nanoseconds()) / float64(r.N), r.AllocsPerOp()})
			}
		}
	}
	return results, nil
}

func ask(b *testing.B, e Engine, after time.Time) {
	b.ReportAllocs()
	for b.Loop() {
		e.Next(after)
	}
}
