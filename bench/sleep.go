package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
)

// A sleepResult is what jobs cost that have nothing to do, in a process of
// their own.
type sleepResult struct {
	jobs      int
	perSecond float64       // jobs created
	created   uint64        // bytes resident once they were
	idleCPU   float64       // of a core
	resident  uint64        // bytes, at rest
	disk      int64         // bytes of all files
	ready     time.Duration // from a cold restart until the API is there
	first     time.Duration // from a cold restart to the first execution that is overdue
	restarted uint64        // bytes resident after it
}

const (
	collectionJobs = 1000             // as many as the largest plan of Azure Scheduler allows
	dueIn          = 20 * time.Second // from creating the job that becomes overdue: nothing of it is under way at the kill
	downFor        = 25 * time.Second // from the kill to the restart
	firstWithin    = 2 * time.Minute
)

// measureSleep measures jobs that are due in a year, at rest for a while, and one whose time comes while nothing runs.
func measureSleep(ctx context.Context, o options, progress *log.Logger) (_ *sleepResult, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("sleeping jobs: %w", err)
		}
	}()
	dir, err := os.MkdirTemp("", "almanac-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	progress.Printf("building almanac")
	path, err := build(ctx, dir, "./cmd/almanac")
	if err != nil {
		return nil, err
	}
	receiver, err := newSink(ctx)
	if err != nil {
		return nil, err
	}
	defer receiver.close() //nolint:errcheck // what it did not receive was noticed

	s := &sleepers{path: path, data: filepath.Join(dir, "data"), options: o, sink: receiver, progress: progress}
	return s.measure(ctx)
}

// sleepers are jobs that sleep in a process of their own.
type sleepers struct {
	path, data string
	options    options
	sink       *sink
	progress   *log.Logger
}

func (s *sleepers) measure(ctx context.Context) (*sleepResult, error) {
	r := &sleepResult{jobs: s.options.sleeping}
	p, err := start(ctx, s.path, s.data, s.options.synchronous)
	if err != nil {
		return nil, err
	}
	defer p.kill()
	if r.perSecond, err = s.create(ctx, p, r.jobs); err != nil {
		return nil, err
	}
	if r.created, err = p.memory(ctx); err != nil {
		return nil, err
	}
	s.progress.Printf("%d jobs sleep, created at %.0f/s; watching for %s", r.jobs, r.perSecond, s.options.rest)
	if err := s.rest(ctx, p, r); err != nil {
		return nil, err
	}
	if err := s.createDue(ctx, p, time.Now().UTC().Add(dueIn)); err != nil {
		return nil, err
	}
	p.kill()
	if s.sink.count(overdue) > 0 {
		return nil, fmt.Errorf("the job that was to be due in the downtime was executed before it: creating it took longer than %s", dueIn)
	}
	if err := pause(ctx, downFor); err != nil {
		return nil, err
	}
	s.progress.Printf("restarting after kill -9")
	begin := time.Now()
	again, err := start(ctx, s.path, s.data, s.options.synchronous)
	if err != nil {
		return nil, err
	}
	defer again.kill()
	r.ready = time.Since(begin)
	if err := s.sink.await(ctx, overdue, 1, firstWithin); err != nil {
		return nil, err
	}
	r.first = s.sink.take(overdue)[0].at.Sub(begin)
	r.restarted, err = again.memory(ctx)
	return r, err
}

// create creates the jobs and returns how many a second.
func (s *sleepers) create(ctx context.Context, p *program, jobs int) (float64, error) {
	start := time.Now()
	for n := 0; n < jobs; n += collectionJobs {
		collection := fmt.Sprintf("sleep-%d", n/collectionJobs)
		if err := p.api.putCollection(ctx, collection); err != nil {
			return 0, err
		}
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(parallel)
		for i := n; i < min(n+collectionJobs, jobs); i++ {
			group.Go(func() error {
				return p.api.putJob(ctx, collection, fmt.Sprintf("job-%d", i), s.sink.target(collection, i), sleeping())
			})
		}
		if err := group.Wait(); err != nil {
			return 0, err
		}
	}
	return float64(jobs) / time.Since(start).Seconds(), nil
}

// overdue is the collection of the job that comes due while nothing runs.
const overdue = "overdue"

func (s *sleepers) createDue(ctx context.Context, p *program, due time.Time) error {
	if err := p.api.putCollection(ctx, overdue); err != nil {
		return err
	}
	return p.api.putJob(ctx, overdue, "job", s.sink.target(overdue, 0), object{"startTime": due.Truncate(time.Second).Format(time.RFC3339)})
}

// rest watches the program while all jobs sleep. What creating them left behind
// is done before that: their lookup for up to 40 s, and the timeouts of its
// activities for a minute more.
func (s *sleepers) rest(ctx context.Context, p *program, r *sleepResult) error {
	if err := pause(ctx, s.options.rest); err != nil {
		return err
	}
	before, err := p.cpu(ctx)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := pause(ctx, s.options.rest); err != nil {
		return err
	}
	after, err := p.cpu(ctx)
	if err != nil {
		return err
	}
	r.idleCPU = (after - before) / time.Since(start).Seconds()
	if r.resident, err = p.memory(ctx); err != nil {
		return err
	}
	r.disk, err = diskUsage(s.data)
	return err
}
