package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"almanac/internal/ratelimit"
	"almanac/lab/bench/options"
	"almanac/lab/bench/systems"
	"almanac/lab/report"
)

// One caller sends PUTs one after another, each of a new job, and another one as many at a time as it can. Each has a
// token of its own.
const (
	bulkConnections = 64
	bulkPause       = 20 * time.Millisecond  // between two of the single PUTs
	bulkSettle      = 500 * time.Millisecond // from the beginning of the bulk load until PUTs beside it count
)

// bulkLimits are the defaults of a program.
var bulkLimits = ratelimit.Limits{Rate: 1000, InFlight: 16}

func (b *bench) measureBulk(ctx context.Context) error {
	for _, s := range []struct {
		name   string
		beside bool
		limits ratelimit.Limits
	}{
		{"alone", false, bulkLimits},
		{"beside the bulk load", true, bulkLimits},
		{"beside it, without limits of callers", true, ratelimit.Limits{}},
	} {
		if err := b.measureBulkStage(ctx, s.name, s.beside, s.limits); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// measureBulkStage measures the single PUTs of one caller, perhaps beside the bulk load of another.
func (b *bench) measureBulkStage(ctx context.Context, name string, beside bool, limits ratelimit.Limits) (err error) {
	as, err := b.NewAPIFor([]string{"bulk", "single"}, limits)
	if err != nil {
		return err
	}
	suffix := fmt.Sprint(len(b.page.Bulk))
	bulk, single := sleepingHerd("bulk-"+suffix, options.MaxHerd), sleepingHerd("single-"+suffix, options.MaxHerd)
	defer func() { err = errors.Join(err, b.remove(ctx, b.Almanac, bulk, single)) }()
	if err := errors.Join(b.Almanac.CreateCollection(ctx, bulk), b.Almanac.CreateCollection(ctx, single)); err != nil {
		return err
	}
	b.AwaitQuiet(ctx)
	load := &systems.Load{Do: func(ctx context.Context, i int) error { return as[0].PutJob(ctx, bulk, i%bulk.Jobs) }}
	if beside {
		defer load.Start(ctx, bulkConnections)()
		pause(ctx, bulkSettle)
	}
	var took []time.Duration
	failed, before, start := 0, load.Answered.Load(), time.Now()
	for i := 0; time.Since(start) < b.options.Bulk && ctx.Err() == nil; i++ {
		began := time.Now()
		if as[1].PutJob(ctx, single, i) != nil {
			failed++
		}
		took = append(took, time.Since(began))
		pause(ctx, bulkPause)
	}
	rate := float64(load.Answered.Load()-before) / time.Since(start).Seconds()
	all := report.SpreadOf(took)
	b.page.Add(&b.page.Bulk, []string{name, fmt.Sprint(all.N)}, all.Cells(),
		[]string{fmt.Sprint(failed), report.Tenth(rate), fmt.Sprint(load.Failed.Load())})
	if beside && limits == bulkLimits {
		b.page.Within("a PUT beside a bulk load, p99", all.P99, time.Second)
		b.page.AtMost("PUTs beside a bulk load, not answered by 2xx", float64(failed), 0, report.Count)
	}
	return ctx.Err()
}
