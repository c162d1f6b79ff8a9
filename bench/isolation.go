package main

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"almanac/bench/systems"
)

// One tenant creates a herd, which is due every minute. Another tenant makes calls at a steady pace
// meanwhile, whether or not earlier ones are answered, and has ten jobs that are due with the herd.
const (
	isolationHerd     = 2000                   // jobs of the first tenant
	isolationParallel = 32                     // of them that are created at the same time
	isolationBefore   = time.Minute            // from creating the herd to its first tick
	isolationTicks    = 2                      // of the herd
	isolationTen      = 10                     // jobs of the other tenant, two ticks older than the herd
	isolationAsleep   = 20                     // its jobs that sleep, and are changed and run in turn
	isolationPause    = 600 * time.Millisecond // between two calls of a kind
	isolationQuiet    = 50 * time.Second       // from the first call to creating the herd
)

// The stages of the measurement.
const (
	stageQuiet    = "quiet"
	stageCreating = "creating" // until createdAfter the last create, since new jobs begin
	stageFiring   = "firing"   // from firingBefore a tick of the herd until firingAfter it

	createdAfter = 3 * time.Second
	firingBefore = 10 * time.Second
	firingAfter  = 15 * time.Second
)

var stages = []string{stageQuiet, stageCreating, stageFiring}

// An isolationResult is how calls were answered, and how late jobs were, beside a herd.
type isolationResult struct {
	jobs  int // of the herd
	calls []stageResult
	ten   []tick // of the jobs that are due with the herd
}

// A stageResult is how the calls of one kind were answered in a stage.
type stageResult struct {
	name, stage string
	took        spread
	failed      int // not answered by 2xx
}

// An answer is one call as its caller saw it.
type answer struct {
	asked  time.Time
	took   time.Duration
	failed bool
}

func (b *bench) measureIsolation(ctx context.Context) (err error) {
	tenFirst := time.Now().UTC().Truncate(time.Second).Add(15 * time.Second)
	first := tenFirst.Add(2 * time.Minute) // of the herd
	ten := systems.Herd{Name: "isolation-ten", Jobs: isolationTen, First: tenFirst, Every: time.Minute, Schedule: systems.Minutely}
	asleep := sleepingHerd("isolation-asleep", isolationAsleep)
	herd := systems.Herd{
		Name: "isolation-herd", Jobs: cmp.Or(b.options.jobs, isolationHerd), First: first, Every: time.Minute,
		Schedule: systems.Minutely, Parallel: isolationParallel,
	}
	defer func() { err = errors.Join(err, b.remove(ctx, b.Almanac, ten, asleep, herd)) }()
	if err := errors.Join(b.Almanac.Create(ctx, ten), b.Almanac.Create(ctx, asleep)); err != nil {
		return err
	}
	if err := systems.Pause(ctx, time.Until(first.Add(-isolationBefore-isolationQuiet))); err != nil {
		return err
	}
	kinds := tenantCalls(b.Almanac, ten, asleep)
	calling, stop := context.WithCancel(ctx)
	defer stop()
	called := make(chan [][]answer, 1)
	go func() { called <- callSteadily(calling, kinds) }()
	if err := systems.Pause(ctx, time.Until(first.Add(-isolationBefore))); err != nil {
		return err
	}
	start := time.Now()
	if err := b.Almanac.Create(ctx, herd); err != nil {
		return err
	}
	created := time.Now()
	b.progress.Printf("created %.0f jobs a second, %s before they are due", float64(herd.Jobs)/created.Sub(start).Seconds(), time.Until(first).Round(time.Second))
	if err := systems.Pause(ctx, time.Until(first.Add((isolationTicks-1)*time.Minute+firingAfter))); err != nil {
		return err
	}
	stop()
	answers := <-called
	ten.First = first
	r := &isolationResult{jobs: herd.Jobs, ten: sortTicks(ten, isolationTicks, b.receiver.Take(ten.Name))}
	for i, k := range kinds {
		r.calls = append(r.calls, sortByStage(k.name, answers[i], func(a answer) string { return stageOf(a.asked, start, created, first) })...)
	}
	b.results.isolation = r
	b.progress.Printf("ten jobs: %s; the herd: %s", worst(r.ten), worst(sortTicks(herd, isolationTicks, b.receiver.Take(herd.Name))))
	return nil
}

// tenantCalls are the calls that the other tenant makes.
func tenantCalls(a *systems.AlmanacAPI, ten, asleep systems.Herd) []call {
	turn := func(i int) int { return i % asleep.Jobs }
	return []call{
		{name: "get a job", do: func(ctx context.Context, i int) error {
			return expect(a.Call(ctx, http.MethodGet, ten.JobPath(i%ten.Jobs), nil))
		}},
		{name: "list ten jobs", do: func(ctx context.Context, _ int) error {
			return expect(a.Call(ctx, http.MethodGet, ten.Path()+"/jobs", nil))
		}},
		{name: "create a job", do: func(ctx context.Context, i int) error { return a.PutJob(ctx, asleep, asleep.Jobs+i) }},
		{name: "replace a job", do: func(ctx context.Context, i int) error { return a.PutJob(ctx, asleep, turn(i)) }},
		{name: "patch a job", do: func(ctx context.Context, i int) error {
			return expect(a.Call(ctx, http.MethodPatch, asleep.JobPath(turn(i+asleep.Jobs/3)), interval(2+i%2)))
		}},
		{name: "run a job", do: func(ctx context.Context, i int) error {
			return expect(a.Call(ctx, http.MethodPost, asleep.JobPath(turn(i+2*asleep.Jobs/3))+"/run", nil))
		}},
	}
}

// callSteadily makes all kinds of calls in turn until ctx ends, and returns the answers by kind once
// all are there.
func callSteadily(ctx context.Context, kinds []call) [][]answer {
	answers := make([][]answer, len(kinds))
	var mu sync.Mutex
	var calls sync.WaitGroup
	pace := time.NewTicker(isolationPause / time.Duration(len(kinds)))
	defer pace.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			calls.Wait()
			return answers
		case <-pace.C:
		}
		calls.Go(func() {
			kind, start := i%len(kinds), time.Now()
			err := kinds[kind].do(context.WithoutCancel(ctx), i/len(kinds))
			a := answer{asked: start, took: time.Since(start), failed: err != nil}
			mu.Lock()
			defer mu.Unlock()
			answers[kind] = append(answers[kind], a)
		})
	}
}

// stageOf returns the stage in which a call was made.
func stageOf(asked, start, created, first time.Time) string {
	for i := range isolationTicks {
		due := first.Add(time.Duration(i) * time.Minute)
		if asked.After(due.Add(-firingBefore)) && asked.Before(due.Add(firingAfter)) {
			return stageFiring
		}
	}
	if asked.After(start) && asked.Before(created.Add(createdAfter)) {
		return stageCreating
	}
	return stageQuiet
}

// sortByStage sums up the answers of one kind in each stage that has some.
func sortByStage(name string, answers []answer, stageOf func(answer) string) (results []stageResult) {
	for _, stage := range stages {
		r := stageResult{name: name, stage: stage}
		var took []time.Duration
		for _, a := range answers {
			if stageOf(a) != stage {
				continue
			}
			took = append(took, a.took)
			if a.failed {
				r.failed++
			}
		}
		if len(took) > 0 {
			r.took = spreadOf(took)
			results = append(results, r)
		}
	}
	return results
}
