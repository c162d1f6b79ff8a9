package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"almanac/lab/bench/page"
	"almanac/lab/bench/systems"
	"almanac/lab/report"
	"almanac/lab/system"
)

const (
	collectionJobs = 1000 // as many as the largest plan of Azure Scheduler allows
	// from creating the job that becomes overdue, which sleeps when the process is killed.
	dueIn   = 20 * time.Second
	downFor = 25 * time.Second // from the kill to the restart
)

// measureSleep measures jobs that are due in a year, and one whose time comes while nothing runs, in a
// process of their own.
func (b *bench) measureSleep(ctx context.Context) (err error) {
	s, err := b.startSystem(ctx, system.Options{Form: system.One,
		Flags: append([]string{"--ui-listen", "127.0.0.1:0"}, system.Unlimited...)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := b.measureAsleep(ctx, s); err != nil {
		return err
	}
	overdue := systems.Herd{Name: "overdue", Jobs: 1, First: time.Now().UTC().Add(dueIn).Truncate(time.Second)}
	if err := systems.NewAlmanac(b.receiver, s.URLs()).Create(ctx, overdue); err != nil {
		return err
	}
	s.Server.Kill()
	if b.receiver.Count(overdue.Name) > 0 {
		return fmt.Errorf("the overdue job executed before the kill: creating it took longer than %s", dueIn)
	}
	pause(ctx, downFor)
	b.progress.Printf("starting again after kill -9")
	begin := time.Now()
	if err := errors.Join(s.Server.Start(), s.Server.Await(ctx)); err != nil {
		return err
	}
	ready := time.Since(begin)
	if err := b.receiver.AwaitCount(ctx, overdue.Name, 1, firstWithin); err != nil {
		return err
	}
	first := b.receiver.Take(overdue.Name)[0].Arrived.Sub(begin)
	restarted, err := s.Server.Usage().Memory(ctx)
	if err != nil {
		return err
	}
	b.page.Sleep = append(b.page.Sleep,
		[]string{"memory after a restart", report.Megabytes(restarted)},
		[]string{"from a restart after kill -9 until the API answers", report.Duration(ready)},
		[]string{"from that restart to the first overdue execution", report.Duration(first)})
	b.page.Within(b.page.SleepingJobs+", first execution after a cold restart", first, 10*time.Second)
	return nil
}

// measureAsleep creates the jobs, and watches the program while they sleep.
func (b *bench) measureAsleep(ctx context.Context, s *system.Temporary) error {
	almanac, jobs, p := systems.NewAlmanac(b.receiver, s.URLs()), b.options.Sleeping, s.Server.Usage()
	start := time.Now()
	for n := 0; n < jobs; n += collectionJobs {
		h := sleepingHerd(fmt.Sprintf("sleep-%d", n/collectionJobs), min(collectionJobs, jobs-n))
		if err := almanac.Create(ctx, h); err != nil {
			return err
		}
	}
	perSecond := float64(jobs) / time.Since(start).Seconds()
	created, err := p.Memory(ctx)
	if err != nil {
		return err
	}
	b.progress.Printf("%d jobs sleep, created at %.0f/s; watching for %s", jobs, perSecond, b.options.Rest)
	// What creating them left behind is done after 100 s: their collection looks them up, and their
	// activities time out.
	pause(ctx, b.options.Rest)
	idle, err := p.Rate(ctx, b.options.Rest)
	if err != nil {
		return err
	}
	resident, err := p.Memory(ctx)
	if err != nil {
		return err
	}
	files, err := s.DataSize()
	if err != nil {
		return err
	}
	size, taken, err := readMetrics(ctx, almanac)
	if err != nil {
		return err
	}
	b.page.Sleep = page.Rows{
		{"created a second", report.Tenth(perSecond)},
		{"CPU at rest", report.Percent(idle) + " of a core"},
		{"memory once they were created", report.Megabytes(created)},
		{"memory at rest", report.Megabytes(resident)},
		{"files", report.Megabytes(files)},
		{"`/metrics`, p50", report.Duration(taken)},
		{"size of `/metrics`", report.Count(float64(size)) + " bytes"},
	}
	name := report.CountOf(jobs, "sleeping job")
	b.page.SleepingJobs = name
	b.page.Within(name+", `/metrics`, p50", taken, 20*time.Millisecond)
	b.page.AtMost(name+", size of `/metrics`, bytes", float64(size), 200_000, report.Count)
	b.page.AtMost(name+", idle CPU", idle, 0.05, report.Percent)
	b.page.AtMost(name+", memory at rest", resident, 400e6, report.Megabytes)
	return nil
}

// readMetrics reads the metrics of an API some times, and returns their size in bytes and the p50 of what it took.
func readMetrics(ctx context.Context, a *systems.AlmanacAPI) (size int, p50 time.Duration, err error) {
	var taken []time.Duration
	for range 50 {
		start := time.Now()
		if size, err = a.Metrics(ctx); err != nil {
			return 0, 0, err
		}
		taken = append(taken, time.Since(start))
	}
	return size, report.SpreadOf(taken).P50, nil
}
