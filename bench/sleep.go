package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"almanac/bench/systems"
)

// A sleepResult is what jobs cost that have nothing to do, in a process of their own.
type sleepResult struct {
	jobs      int
	perSecond float64       // jobs created
	created   uint64        // bytes of memory once they were created
	idleCPU   float64       // of a core
	resident  uint64        // bytes of memory, at rest
	disk      int64         // bytes of all files
	ready     time.Duration // from a restart until the API answers
	first     time.Duration // from a restart to the first execution that is overdue
	restarted uint64        // bytes of memory after it
}

const (
	collectionJobs = 1000             // as many as the largest plan of Azure Scheduler allows
	dueIn          = 20 * time.Second // from creating the job that becomes overdue: it sleeps when the process is killed
	downFor        = 25 * time.Second // from the kill to the restart
)

// measureSleep measures jobs that are due in a year, and one whose time comes while nothing runs.
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
		return systems.Start(ctx, path, "dev", "--data", data, "--listen", "127.0.0.1:0", "--temporal-listen", "127.0.0.1:0", "--ui-listen", "127.0.0.1:0")
	}
	r := &sleepResult{jobs: b.options.sleeping}
	p, err := start()
	if err != nil {
		return err
	}
	defer p.Kill()
	overdue, err := b.measureAsleep(ctx, p, data, r)
	if err != nil {
		return err
	}
	p.Kill()
	if b.receiver.Count(overdue.Name) > 0 {
		return fmt.Errorf("the overdue job executed before the kill: creating it took longer than %s", dueIn)
	}
	if err := systems.Pause(ctx, downFor); err != nil {
		return err
	}
	b.progress.Printf("starting again after kill -9")
	begin := time.Now()
	again, err := start()
	if err != nil {
		return err
	}
	defer again.Kill()
	r.ready = time.Since(begin)
	if err := b.receiver.Await(ctx, overdue.Name, 1, firstWithin); err != nil {
		return err
	}
	r.first = b.receiver.Take(overdue.Name)[0].At.Sub(begin)
	r.restarted, err = again.Memory(ctx)
	b.results.sleep = r
	return err
}

// measureAsleep creates the jobs, watches the program while they sleep, and returns the job that is
// due next.
func (b *bench) measureAsleep(ctx context.Context, p *systems.Program, data string, r *sleepResult) (overdue systems.Herd, err error) {
	almanac := systems.NewAlmanac(b.receiver, p.APIs)
	start := time.Now()
	for n := 0; n < r.jobs; n += collectionJobs {
		h := sleepingHerd(fmt.Sprintf("sleep-%d", n/collectionJobs), min(collectionJobs, r.jobs-n))
		if err := almanac.Create(ctx, h); err != nil {
			return overdue, err
		}
	}
	r.perSecond = float64(r.jobs) / time.Since(start).Seconds()
	if r.created, err = p.Memory(ctx); err != nil {
		return overdue, err
	}
	b.progress.Printf("%d jobs sleep, created at %.0f/s; watching for %s", r.jobs, r.perSecond, b.options.rest)
	// What creating them left behind is done after 100 s: their collection looks them up, and their
	// activities time out.
	if err := systems.Pause(ctx, b.options.rest); err != nil {
		return overdue, err
	}
	if r.idleCPU, err = systems.Rate(ctx, p.CPU, b.options.rest); err != nil {
		return overdue, err
	}
	if r.resident, err = p.Memory(ctx); err != nil {
		return overdue, err
	}
	if r.disk, err = diskUsage(data); err != nil {
		return overdue, err
	}
	overdue = systems.Herd{Name: "overdue", Jobs: 1, First: time.Now().UTC().Add(dueIn).Truncate(time.Second)}
	return overdue, almanac.Create(ctx, overdue)
}

// diskUsage returns the bytes of the files in a directory.
func diskUsage(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}
