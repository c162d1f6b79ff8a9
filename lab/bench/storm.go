package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"almanac/lab/bench/systems"
	"almanac/lab/report"
	"almanac/lab/wait"
)

// In a storm many jobs fail in the same second, and each of them tells a target of its own.
const (
	stormJobs  = 2000
	stormGoal  = 2 * time.Minute // for the last alert
	stormLimit = 10 * time.Minute
)

// measureStorm measures a herd of jobs that fail: without notifications, and with them.
func (b *bench) measureStorm(ctx context.Context) error {
	for _, alerts := range []bool{false, true} {
		if err := b.measureFailing(ctx, cmp.Or(b.options.Jobs, stormJobs), alerts); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) measureFailing(ctx context.Context, jobs int, alerts bool) (err error) {
	name := fmt.Sprintf("storm-%t-%d", alerts, time.Now().Unix())
	h := systems.Herd{
		Name: name, Jobs: jobs, Every: time.Minute, Schedule: systems.Daily, NoRetries: true, Fails: true, Alerts: alerts,
		First: time.Now().UTC().Add(creating(jobs) + b.options.CreatedBefore + time.Second).Truncate(time.Second),
	}
	defer func() { err = errors.Join(err, b.remove(ctx, b.Almanac, h)) }()
	if err := b.Almanac.Create(ctx, h); err != nil {
		return err
	}
	b.progress.Printf("created %s before they are due", time.Until(h.First).Round(time.Second))
	if !alerts {
		ticks, err := b.awaitTicks(ctx, h, 1)
		b.addStorm(&h, ticks, nil)
		return err
	}
	var told []time.Duration
	arrived := func() bool { told = b.told(&h); return len(told) == jobs }
	if err := wait.Until(ctx, time.Until(h.First)+stormLimit, arrived); err != nil {
		return err
	}
	b.addStorm(&h, systems.SortTicks(h, 1, b.receiver.Take(h.Name)), told)
	return nil
}

// told returns when the alert of each job of a herd came first, since they were due, in this order.
func (b *bench) told(h *systems.Herd) (after []time.Duration) {
	first := map[string]time.Duration{}
	for _, a := range b.receiver.Told() {
		if _, again := first[a.Name]; a.Collection == h.Name && !again {
			first[a.Name] = a.Arrived.Sub(h.First)
		}
	}
	for _, at := range first {
		after = append(after, at)
	}
	slices.Sort(after)
	return after
}

// addStorm adds a row: how late the requests of a herd were, and when its alerts came.
func (b *bench) addStorm(h *systems.Herd, ticks []systems.Tick, told []time.Duration) {
	label := report.CountOf(h.Jobs, "job") + " that fail"
	half, last, within := "", "", ""
	if n := len(told); n > 0 {
		label += ", each with a target of its own"
		half, last = told[n/2].Round(time.Second/10).String(), told[n-1].Round(time.Second/10).String()
		late, _ := slices.BinarySearch(told, stormGoal)
		within = report.Count(float64(late))
	}
	b.page.LogTicks(label, ticks)
	b.page.MustBePunctual(label, ticks)
	b.page.Add(&b.page.Storm, []string{label}, ticks[0].Cells(), []string{half, last, within})
}
