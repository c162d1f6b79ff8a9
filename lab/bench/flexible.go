package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"almanac/lab/bench/options"
	"almanac/lab/bench/systems"
	"almanac/lab/report"
)

const (
	flexibleWindow     = 5 * time.Minute
	fullestSecondGoal  = 1.6  // times the mean
	fullestSecondsGoal = 1.15 // likewise, of ten seconds
	flexibleSets       = 20   // of names without a common rule
)

// measureFlexibleWindow counts how many of many jobs with one flexible window start in its fullest second, and in its
// fullest ten seconds. Nothing runs: when a job starts follows from its name.
func (b *bench) measureFlexibleWindow(context.Context) error {
	dice := rand.New(rand.NewPCG(1, 2))
	uuid := func(int) string {
		return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", dice.Uint32(), dice.Uint32N(1<<16), dice.Uint32N(1<<12),
			0x8000|dice.Uint32N(1<<14), dice.Uint64N(1<<48))
	}
	words := []string{"billing", "report", "sync", "backup", "invoice", "mail", "index", "export", "cleanup", "ping"}
	for _, kind := range []struct {
		name string
		sets int
		of   func(i int) string
	}{
		{"`job-1`, `job-2`, …", 1, func(i int) string { return fmt.Sprintf("job-%d", i+1) }},
		{"`nightly-00001`, …", 1, func(i int) string { return fmt.Sprintf("nightly-%05d", i+1) }},
		{"`tenant-17-billing`, ten of each tenant", 1,
			func(i int) string { return fmt.Sprintf("tenant-%d-%s", i/len(words), words[i%len(words)]) }},
		{"UUIDs", flexibleSets, uuid},
	} {
		b.addFlexible(kind.name, kind.sets, kind.of)
	}
	return nil
}

// addFlexible adds a kind of names; of several sets, the median and the worst.
func (b *bench) addFlexible(kind string, sets int, name func(int) string) {
	var one, ten []float64
	for range sets {
		starts := systems.Starts("flexible", options.MaxHerd, name, flexibleWindow)
		one = append(one, fullest(starts, time.Second))
		ten = append(ten, fullest(starts, 10*time.Second))
	}
	label := report.CountOf(options.MaxHerd, "job") + ", " + kind
	if sets > 1 {
		label = fmt.Sprintf("%s, %d sets, median", label, sets)
		b.page.Add(&b.page.Flexible, []string{label, report.Factor(report.Median(one)), report.Factor(report.Median(ten))})
		label = report.CountOf(options.MaxHerd, "job") + ", " + kind + ", worst set"
	}
	b.page.Add(&b.page.Flexible, []string{label, report.Factor(slices.Max(one)), report.Factor(slices.Max(ten))})
	b.page.AtMost(label+": fullest second, of the mean", slices.Max(one), fullestSecondGoal, report.Factor)
	b.page.AtMost(label+": fullest ten seconds, of the mean", slices.Max(ten), fullestSecondsGoal, report.Factor)
}

// fullest returns how many starts the fullest part of the window of that length has, of whole seconds, divided by the
// mean.
func fullest(starts []time.Duration, length time.Duration) float64 {
	seconds := make([]int, flexibleWindow/time.Second)
	for _, s := range starts {
		seconds[s/time.Second]++
	}
	n, most, sum := int(length/time.Second), 0, 0
	for i := range seconds {
		sum += seconds[i]
		if i >= n {
			sum -= seconds[i-n]
		}
		most = max(most, sum)
	}
	return float64(most) * float64(flexibleWindow) / float64(length) / float64(len(starts))
}
