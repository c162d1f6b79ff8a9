package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"almanac/lab/bench/page"
	"almanac/lab/bench/systems"
	"almanac/lab/report"
)

// slowSchedules is a number of jobs that Temporal's Schedules cannot start within a minute on two cores.
const slowSchedules = 1000

// A total is what came of the measured ticks of all herds of a system, and what they used.
type total struct {
	early, twice, missing, executions int
	cpu                               float64 // seconds, without what the process uses at rest
	bytes                             float64 // by which the database grew
	events                            float64 // in the histories of the sampled executions
	sampled                           int     // executions
}

// measureLateness measures one herd after another of one system after another.
func (b *bench) measureLateness(ctx context.Context) error {
	var errs []error
	for _, s := range b.Systems(b.options.Systems) {
		var t total
		for _, jobs := range b.options.Herds {
			if err := b.measureHerd(ctx, s, jobs, &t); err != nil {
				errs = append(errs, fmt.Errorf("%d jobs, %s: %w", jobs, s.Name(), err))
				break
			}
		}
		addTotal(&b.page, s.Name(), t)
	}
	return errors.Join(errs...)
}

func (b *bench) measureHerd(ctx context.Context, s systems.System, jobs int, t *total) (err error) {
	b.AwaitQuiet(ctx)
	idle, err := b.Rate(ctx, b.options.Idle)
	if err != nil {
		return err
	}
	h := systems.Herd{Name: fmt.Sprintf("%s-%d", systems.Slug(s.Name()), jobs), Jobs: jobs, Every: time.Minute,
		Schedule: systems.Minutely}
	if s.Name() == systems.Schedules && jobs >= slowSchedules {
		h.Every = 2 * time.Minute
	}
	h.First = time.Now().UTC().Add(calm + creating(jobs) + 10*time.Second).Truncate(time.Second)
	b.progress.Printf("%s: creating %d jobs, due from %s on", s.Name(), jobs, h.First.Format(time.TimeOnly))
	defer func() { err = errors.Join(err, b.remove(ctx, s, h)) }()
	if err := s.Create(ctx, h); err != nil {
		return err
	}
	for time.Until(h.First) < calm { // creating took longer than was thought
		h.First = h.First.Add(h.Every)
	}
	return b.watchHerd(ctx, s, h, idle, t)
}

// watchHerd lets the ticks of a herd pass, and adds what the measured ones used to the total. It reads
// that before a tick is due, when all is at rest.
func (b *bench) watchHerd(ctx context.Context, s systems.System, h systems.Herd, idle float64, t *total) error {
	warmUp := b.options.WarmUpTicks
	var due []time.Time // of the measured ticks
	for i := range b.options.Ticks {
		due = append(due, h.First.Add(time.Duration(warmUp+i)*h.Every))
	}
	pause(ctx, time.Until(due[0].Add(-calm)))
	before, err := b.Read(ctx, s, h, nil)
	if err != nil {
		return err
	}
	ticks, err := b.awaitTicks(ctx, h, warmUp+len(due))
	if err != nil {
		return err
	}
	after, err := b.Read(ctx, s, h, due)
	if err != nil {
		return err
	}
	sum := addHerd(&b.page, s.Name(), h.Jobs, ticks, warmUp)
	if sum.Lateness.N == 0 {
		return errors.New("no request of the measured ticks came")
	}
	t.early, t.twice, t.missing = t.early+sum.Early, t.twice+sum.Twice, t.missing+sum.Missing
	t.executions += sum.Lateness.N + sum.Twice
	t.cpu += after.CPU - before.CPU - idle*after.At.Sub(before.At).Seconds()
	t.bytes += after.Bytes - before.Bytes
	t.events += after.Events - before.Events
	t.sampled += min(h.Jobs, systems.Sampled) * len(due)
	return nil
}

// addHerd adds the ticks of a herd, and returns the sum of those that do not warm up.
func addHerd(p *page.Page, system string, jobs int, ticks []systems.Tick, warmUp int) systems.Tick {
	p.LogTicks(fmt.Sprintf("%s, %s", system, report.CountOf(jobs, "job")), ticks)
	if system == systems.Almanac {
		p.MustBePunctual(report.CountOf(jobs, "job"), ticks)
	}
	sum := systems.Combine(ticks[warmUp:], report.Median[time.Duration])
	if sum.Lateness.N > 0 {
		name := "lateness of " + report.CountOf(jobs, "job")
		p.Compare(name+", p50", report.Milliseconds, system, report.InMilliseconds(sum.Lateness.P50))
		p.Compare(name+", p99", report.Milliseconds, system, report.InMilliseconds(sum.Lateness.P99))
		p.Compare(name+", max", report.Milliseconds, system, report.InMilliseconds(sum.Lateness.Max))
	}
	return sum
}

func addTotal(p *page.Page, system string, t total) {
	if t.executions == 0 {
		return
	}
	n := float64(t.executions)
	p.Compare("requests sent early", report.Count, system, float64(t.early))
	p.Compare("requests sent twice", report.Count, system, float64(t.twice))
	p.Compare("requests not sent before the next tick", report.Count, system, float64(t.missing))
	p.Compare("CPU an execution", report.Milliseconds, system, 1000*t.cpu/n)
	p.Compare("bytes in the database an execution", report.Count, system, t.bytes/n)
	p.Compare("history events an execution", report.Tenth, system, t.events/float64(t.sampled))
}
