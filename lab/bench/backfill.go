package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"almanac/lab/bench/systems"
	"almanac/lab/record"
	"almanac/lab/report"
)

const (
	besideBackfill   = 500 // jobs that are due every minute
	backfillGoal     = 50 * time.Millisecond
	backfillBefore   = 30 * time.Second // it runs, or is paused, from so long before a tick on
	backfillNear     = 5 * time.Second
	backfillWithin   = 20 * time.Minute // in which it is to end once all ticks have passed
	backfillTogether = 10               // executions of it at once, which is the maximum
)

// A backfilling is the job whose past occurrences are run beside a herd.
type backfilling struct {
	*bench

	herd    systems.Herd // of one job
	until   time.Time
	name    string // of the backfill that was begun last
	begun   int    // backfills
	running bool   // it is not paused
}

// measureBackfill measures the ticks of a herd in turn without and beside a backfill.
func (b *bench) measureBackfill(ctx context.Context) (err error) {
	now := time.Now().UTC().Truncate(time.Second)
	h := systems.Herd{Name: "beside", Jobs: cmp.Or(b.options.Jobs, besideBackfill), Every: time.Minute, Schedule: systems.Minutely}
	h.First = now.Add(creating(h.Jobs) + b.options.CreatedBefore + time.Second).Truncate(time.Second)
	f := &backfilling{bench: b, until: now, herd: systems.Herd{
		Name: "again", Jobs: 1, Every: time.Minute, Schedule: systems.Minutely,
		First: now.Add(-time.Duration(b.options.Backfilled) * time.Minute),
	}}
	defer func() { err = errors.Join(err, b.remove(ctx, b.Almanac, h, f.herd)) }()
	if err := errors.Join(b.Almanac.Create(ctx, f.herd), b.Almanac.Create(ctx, h)); err != nil {
		return err
	}
	for time.Until(h.First) < b.backfillBefore() { // creating took longer than was thought
		h.First = h.First.Add(h.Every)
	}
	beside := []bool{false, true, true, false}
	if b.options.Smoke {
		beside = beside[:2]
	}
	beside = slices.Repeat(beside, b.options.Rounds)
	warmUp := b.options.WarmUpTicks
	for i, with := range beside {
		due := h.First.Add(time.Duration(warmUp+i) * h.Every)
		pause(ctx, time.Until(due.Add(-b.backfillBefore())))
		if err := cmp.Or(f.set(ctx, with), f.renew(ctx)); err != nil {
			return err
		}
		pause(ctx, time.Until(due.Add(h.Every-backfillBefore)))
	}
	if err := f.finish(ctx); err != nil {
		return err
	}
	ticks := systems.SortTicks(h, warmUp+len(beside), b.receiver.Take(h.Name))[warmUp:]
	h.First = h.First.Add(time.Duration(warmUp) * h.Every)
	return f.report(&h, ticks, beside, b.receiver.Take(f.herd.Name))
}

// backfillBefore is shorter in a smoke test, whose backfill is short.
func (b *bench) backfillBefore() time.Duration {
	if b.options.Smoke {
		return 2 * time.Second
	}
	return backfillBefore
}

// set has the backfill run, if it has not ended, or pauses it.
func (f *backfilling) set(ctx context.Context, run bool) error {
	if run == f.running {
		return nil
	}
	f.running = run
	if !run {
		left, err := f.left(ctx)
		if err != nil || left == 0 {
			return err
		}
		return f.change(ctx, "pause")
	}
	if left, err := f.left(ctx); err != nil || left == 0 {
		return err
	}
	return f.change(ctx, "resume")
}

// renew begins another backfill if one is to run and has ended.
func (f *backfilling) renew(ctx context.Context) error {
	if left, err := f.left(ctx); err != nil || left > 0 || !f.running {
		return err
	}
	return f.begin(ctx)
}

// begin begins a backfill of all past occurrences.
func (f *backfilling) begin(ctx context.Context) error {
	f.begun++
	f.name = fmt.Sprintf("again-%d", f.begun)
	return f.Almanac.Backfill(ctx, f.herd, fmt.Sprintf("?name=%s&from=%s&until=%s&atOnce=%d", f.name,
		f.herd.First.Format(time.RFC3339), f.until.Format(time.RFC3339), backfillTogether))
}

func (f *backfilling) change(ctx context.Context, action string) error {
	return f.Almanac.ChangeBackfill(ctx, f.herd, f.name, action)
}

// left returns how many occurrences of the backfill have not ended; 0 if none was begun.
func (f *backfilling) left(ctx context.Context) (int, error) {
	return f.Almanac.BackfillLeft(ctx, f.herd)
}

// finish lets the backfill end.
func (f *backfilling) finish(ctx context.Context) error {
	if left, err := f.left(ctx); err != nil || left == 0 && !f.running {
		return err
	}
	if err := f.set(ctx, true); err != nil {
		return err
	}
	for end := time.Now().Add(backfillWithin); ; pause(ctx, time.Second) {
		left, err := f.left(ctx)
		if err != nil || left == 0 {
			return errors.Join(err, ctx.Err())
		}
		if time.Now().After(end) {
			return fmt.Errorf("after %s, %d occurrences of the backfill are left", backfillWithin, left)
		}
	}
}

// report adds the ticks without and beside the backfill, and holds them against each other.
func (f *backfilling) report(h *systems.Herd, ticks []systems.Tick, beside []bool, got []record.Request) error {
	counts := map[time.Time]int{}
	var all [2][]systems.Tick
	n, seconds := 0, map[int64]bool{} // in which any came
	for _, r := range got {
		if r.Due.Before(f.until) {
			counts[r.Due]++
			seconds[r.Arrived.Unix()] = true
			n++
		}
	}
	for i, with := range beside {
		due, group, near := h.First.Add(time.Duration(i)*h.Every), 0, 0
		for _, r := range got {
			if r.Due.Before(f.until) && r.Arrived.After(due.Add(-time.Second)) && r.Arrived.Before(due.Add(backfillNear)) {
				near++
			}
		}
		if with {
			group = 1
		}
		if with != (near > 0) {
			return fmt.Errorf("tick %d: %d requests of the backfill came near it", i+1, near)
		}
		f.progress.Printf("tick %d: %s; %d requests of the backfill from a second before it until %s after it", i+1, ticks[i],
			near, backfillNear)
		all[group] = append(all[group], ticks[i])
	}
	name := report.CountOf(h.Jobs, "job") + " every minute"
	b := f.bench
	b.page.MustBePunctual(name, ticks)
	var p99 [2]time.Duration
	for i, label := range []string{"without a backfill", "beside a backfill"} {
		sum := systems.Combine(all[i], report.Median)
		p99[i] = sum.Lateness.P99
		b.page.Add(&b.page.Backfill, []string{name, label, fmt.Sprint(len(all[i]))}, sum.Cells())
	}
	count := report.Count(float64(f.options.Backfilled))
	b.page.Backfilled = fmt.Sprintf("%s, %s executions a second", count, report.Tenth(float64(n)/float64(max(1, len(seconds)))))
	b.page.Within(name+" beside a backfill of "+count+", p99, more than without it", max(0, p99[1]-p99[0]), backfillGoal)
	missing := systems.Combine(ticks, report.Median).Missing
	b.page.AtMost("requests of these jobs that did not come", float64(missing), 0, report.Count)
	wrong := max(0, f.options.Backfilled-len(counts))
	for _, times := range counts {
		if times != f.begun {
			wrong++
		}
	}
	b.page.AtMost("occurrences of the backfill that did not run once", float64(wrong), 0, report.Count)
	return nil
}
