package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"almanac/bench/report"
	"almanac/bench/systems"
)

const (
	collectionJobs = 1000             // as many as the largest plan of Azure Scheduler allows
	dueIn          = 20 * time.Second // from creating the job that becomes overdue: it sleeps when the process is killed
	downFor        = 25 * time.Second // from the kill to the restart
)

// measureSleep measures jobs that are due in a year, and one whose time comes while nothing runs, in a
// process of their own.
func (b *bench) measureSleep(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "almanac-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b.progress.Printf("building almanac")
	path, err := systems.Build(ctx, dir, "./cmd/almanac")
	if err != nil {
		return err
	}
	data := filepath.Join(dir, "data")
	start := func() (*systems.Program, error) {
		return systems.Start(ctx, path, "dev", "--data", data, "--listen", "127.0.0.1:0", "--temporal-listen", "127.0.0.1:0", "--ui-listen", "127.0.0.1:0",
			"--max-rate-per-caller", "0", "--max-in-flight-per-caller", "0") // all jobs are created by one caller
	}
	p, err := start()
	if err != nil {
		return err
	}
	defer p.End(os.Kill)
	if err := b.measureAsleep(ctx, p, data); err != nil {
		return err
	}
	overdue := systems.Herd{Name: "overdue", Jobs: 1, First: time.Now().UTC().Add(dueIn).Truncate(time.Second)}
	if err := systems.NewAlmanac(b.receiver, p.APIs).Create(ctx, overdue); err != nil {
		return err
	}
	p.End(os.Kill)
	if b.receiver.Count(overdue.Name) > 0 {
		return fmt.Errorf("the overdue job executed before the kill: creating it took longer than %s", dueIn)
	}
	pause(ctx, downFor)
	b.progress.Printf("starting again after kill -9")
	begin := time.Now()
	again, err := start()
	if err != nil {
		return err
	}
	defer again.End(os.Kill)
	ready := time.Since(begin)
	if err := b.receiver.Await(ctx, overdue.Name, 1, firstWithin); err != nil {
		return err
	}
	first := b.receiver.Take(overdue.Name)[0].At.Sub(begin)
	restarted, err := again.Memory(ctx)
	if err != nil {
		return err
	}
	b.report.Sleep = append(b.report.Sleep,
		[]string{"memory after a restart", report.FormatMegabytes(restarted)},
		[]string{"from a restart after kill -9 until the API answers", report.FormatDuration(ready)},
		[]string{"from that restart to the first overdue execution", report.FormatDuration(first)})
	b.report.Within(b.report.SleepingJobs+", first execution after a cold restart", first, 10*time.Second)
	return nil
}

// measureAsleep creates the jobs, and watches the program while they sleep.
func (b *bench) measureAsleep(ctx context.Context, p *systems.Program, data string) error {
	almanac, jobs := systems.NewAlmanac(b.receiver, p.APIs), b.options.Sleeping
	start := time.Now()
	for n := 0; n < jobs; n += collectionJobs {
		if err := almanac.Create(ctx, sleepingHerd(fmt.Sprintf("sleep-%d", n/collectionJobs), min(collectionJobs, jobs-n))); err != nil {
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
	files, err := diskUsage(data)
	if err != nil {
		return err
	}
	name := report.CountOf(jobs, "sleeping job")
	size, taken, err := readMetrics(ctx, almanac)
	if err != nil {
		return err
	}
	b.report.SleepingJobs = name
	b.report.Sleep = report.Rows{
		{"created a second", report.FormatTenth(perSecond)},
		{"CPU at rest", report.FormatPercent(idle) + " of a core"},
		{"memory once they were created", report.FormatMegabytes(created)},
		{"memory at rest", report.FormatMegabytes(resident)},
		{"files", report.FormatMegabytes(files)},
		{"`/metrics`, p50", report.FormatDuration(taken)},
		{"size of `/metrics`", report.FormatCount(float64(size)) + " bytes"},
	}
	b.report.Within(name+", `/metrics`, p50", taken, 20*time.Millisecond)
	b.report.AtMost(name+", size of `/metrics`, bytes", float64(size), 200_000, report.FormatCount)
	b.report.AtMost(name+", idle CPU", idle, 0.05, report.FormatPercent)
	b.report.AtMost(name+", memory at rest", resident, 400e6, report.FormatMegabytes)
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

// diskUsage returns the bytes of the files in a directory.
func diskUsage(dir string) (total float64, err error) {
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			total += float64(info.Size())
		}
		return err
	})
	return total, err
}
