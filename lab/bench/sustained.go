package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"almanac/lab/bench/page"
	"almanac/lab/bench/systems"
	"almanac/lab/record"
	"almanac/lab/report"
)

// Jobs that always have something to do: overdue occurrences, one after another.
const (
	sustainedJobs    = 64
	sustainedBacklog = 12 * time.Hour // a minute of it is an execution of each job
	firstWithin      = 2 * time.Minute
)

// measureSustained measures one system after the other, round by round, so that what changes in the
// meantime changes for all.
func (b *bench) measureSustained(ctx context.Context) error {
	b.page.Sustained, b.page.SustainedJobs = b.options.Sustain, sustainedJobs
	rates := map[string][]float64{} // by system
	for round := range b.options.Rounds {
		for _, s := range b.Systems(b.options.Systems) {
			rate, err := b.measureRate(ctx, s, round)
			if err != nil {
				return fmt.Errorf("%s: %w", s.Name(), err)
			}
			b.progress.Printf("%s: %.1f executions/s", s.Name(), rate)
			rates[s.Name()] = append(rates[s.Name()], rate)
			b.page.Compare(page.MetricSustained, report.Tenth, s.Name(), report.Median(rates[s.Name()]))
		}
	}
	return nil
}

// measureRate returns how many executions a second a system completes.
func (b *bench) measureRate(ctx context.Context, s systems.System, round int) (rate float64, err error) {
	h := systems.Herd{Name: fmt.Sprintf("%s-sustained-%d", systems.Slug(s.Name()), round), Jobs: sustainedJobs,
		Backlog: sustainedBacklog}
	defer func() { err = errors.Join(err, b.remove(ctx, s, h)) }()
	b.AwaitQuiet(ctx)
	if err := s.Create(ctx, h); err != nil {
		return 0, err
	}
	if err := b.receiver.AwaitCount(ctx, h.Name, 1, firstWithin); err != nil { // Schedules take some seconds
		return 0, err
	}
	pause(ctx, b.options.WarmUp)
	before, start := b.receiver.Count(h.Name), time.Now()
	pause(ctx, b.options.Sustain)
	rate = float64(b.receiver.Count(h.Name)-before) / time.Since(start).Seconds()
	return rate, errors.Join(ctx.Err(), checkBusy(b.receiver.Take(h.Name), h))
}

// checkBusy returns an error if a job has executed all of its occurrences.
func checkBusy(requests []record.Request, h systems.Herd) error {
	done := map[string]int{} // by job
	for _, r := range requests {
		if done[r.Name]++; done[r.Name] >= int(h.Backlog.Minutes()) {
			return fmt.Errorf("job %s of %s had executed its backlog of %s before the measurement ended", r.Name,
				h.Name, h.Backlog)
		}
	}
	return nil
}
