package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// The isolation of one tenant's calls and jobs from a herd of another tenant: while that
// is created, and while it is due, each kind of call is made at a steady pace, whether or
// not the calls before are answered.
const (
	isolationHerd    = 2000                   // jobs of the other tenant
	isolationCreates = 32                     // at the same time
	isolationBefore  = time.Minute            // from the first create to the first tick
	isolationTicks   = 2                      // of the herd
	isolationTen     = 10                     // jobs of the tenant that are due with the herd
	isolationChanged = 20                     // sleeping jobs that are changed and run in turn
	isolationPause   = 600 * time.Millisecond // between two calls of a kind
	isolationQuiet   = 50 * time.Second

	// A tick counts as firing from firingBefore until firingAfter, and creating goes on
	// until createdAfter, since new jobs begin.
	firingBefore = 10 * time.Second
	firingAfter  = 15 * time.Second
	createdAfter = 3 * time.Second
)

// The stages of the measurement.
const (
	stageQuiet    = "quiet"
	stageCreating = "creating"
	stageFiring   = "firing"
)

var stages = []string{stageQuiet, stageCreating, stageFiring}

// An isolationResult is how calls were answered, and how late jobs were, beside a herd.
type isolationResult struct {
	jobs      int     // of the herd
	perSecond float64 // of them that were created
	kinds     []kindResult
	creates   kindResult // those of the herd
	ten, herd []tick     // the jobs of the tenant that are due with the herd, and the herd
}

// An answer is one call as its caller saw it. A code of 0 is none at all.
type answer struct {
	asked time.Time
	took  time.Duration
	code  int
}

// A kindResult is the calls of one kind.
type kindResult struct {
	name   string
	stages map[string][]answer
}

// in returns how long the calls of a stage took, and how many were not answered by 2xx.
func (k kindResult) in(stage string) (s spread, failed int) {
	var took []time.Duration
	for _, a := range k.stages[stage] {
		took = append(took, a.took)
		if a.code/100 != 2 {
			failed++
		}
	}
	return spreadOf(took), failed
}

// A tenant makes calls at a steady pace, and keeps the answers.
type tenant struct {
	api  *rest
	sink *sink
	name string // of the collection of the ten; all other jobs come into another one

	mu      sync.Mutex
	answers [][]answer // by kind
}

// A kind is a call that the tenant makes again and again; i counts.
type kind struct {
	name         string
	method, path func(i int) string
	body         func(i int) any
}

func always(s string) func(int) string { return func(int) string { return s } }

func (t *tenant) kinds() []kind {
	changed := func(i int) string { return jobPath(t.name+"-changed", fmt.Sprintf("changed-%d", i%isolationChanged)) }
	none := func(int) any { return nil }
	definition := func(i int) any { return sleepingJob(t.sink.target(t.name+"-changed", i%isolationChanged)) }
	return []kind{
		{"get a job", always(http.MethodGet), func(i int) string { return jobPath(t.name, fmt.Sprintf("%s-%d", t.name, i%isolationTen)) }, none},
		{"list ten jobs", always(http.MethodGet), always(collectionPath(t.name) + "/jobs"), none},
		{"create a job", always(http.MethodPut), func(i int) string { return jobPath(t.name+"-changed", fmt.Sprint(i)) }, definition},
		{"replace a job", always(http.MethodPut), changed, definition},
		{"patch a job", always(http.MethodPatch), func(i int) string { return changed(i + isolationChanged/3) }, func(i int) any {
			return object{"properties": object{"recurrence": object{"interval": 2 + i%2}}}
		}},
		{"run a job", always(http.MethodPost), func(i int) string { return changed(i+2*isolationChanged/3) + "/run" }, none},
	}
}

// sleepingJob is the body that makes a job which is due in a year.
func sleepingJob(target string) object {
	properties := sleeping()
	properties["action"] = object{"type": "Http", "request": object{"method": "GET", "uri": target}}
	return object{"properties": properties}
}

// prepare makes the tenant's collections and jobs; the ten are due with h.
func (t *tenant) prepare(ctx context.Context, first time.Time) error {
	for _, name := range []string{t.name, t.name + "-changed"} {
		if err := t.api.putCollection(ctx, name); err != nil {
			return err
		}
	}
	for i := range isolationTen {
		more := object{"startTime": first.Format(time.RFC3339), "recurrence": object{"frequency": "minute"}}
		if err := t.api.putJob(ctx, t.name, fmt.Sprintf("%s-%d", t.name, i), t.sink.target(t.name, i), more); err != nil {
			return err
		}
	}
	for i := range isolationChanged {
		if err := t.api.putJob(ctx, t.name+"-changed", fmt.Sprintf("changed-%d", i), t.sink.target(t.name+"-changed", i), sleeping()); err != nil {
			return err
		}
	}
	return nil
}

// call makes all kinds of calls until ctx ends, and returns when all are answered.
func (t *tenant) call(ctx context.Context) {
	kinds := t.kinds()
	t.answers = make([][]answer, len(kinds))
	var calls sync.WaitGroup
	defer calls.Wait()
	pace := time.NewTicker(isolationPause / time.Duration(len(kinds)))
	defer pace.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-pace.C:
		}
		number, n := i%len(kinds), i/len(kinds)
		k := kinds[number]
		calls.Go(func() {
			a := t.api.answer(context.WithoutCancel(ctx), k.method(n), k.path(n), k.body(n))
			t.mu.Lock()
			defer t.mu.Unlock()
			t.answers[number] = append(t.answers[number], a)
		})
	}
}

// answer makes a call and returns what became of it.
func (r *rest) answer(ctx context.Context, method, path string, body any) answer {
	start := time.Now()
	_, err := r.call(ctx, method, path, body, http.StatusOK, http.StatusCreated, http.StatusNoContent)
	a := answer{asked: start, took: time.Since(start), code: http.StatusOK}
	if err != nil {
		a.code = 0
		if refused, ok := errors.AsType[*statusError](err); ok {
			a.code = refused.code
		}
	}
	return a
}

// measureIsolation measures the calls of one tenant beside the herd of another one.
func measureIsolation(ctx context.Context, a *almanac, o options, progress *log.Logger) (r *isolationResult, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("isolation: %w", err)
		}
	}()
	name := fmt.Sprintf("isolation-%d", time.Now().Unix())
	t := &tenant{api: newREST(a.api.url), sink: a.sink, name: name}
	defer t.api.close()
	tenFirst := time.Now().UTC().Truncate(time.Second).Add(15 * time.Second)
	first := tenFirst.Add(settledTicks * time.Minute) // of the herd
	ten := herd{name: name, jobs: isolationTen, every: time.Minute}
	h := herd{name: name + "-herd", jobs: cmp.Or(o.sceneJobs, isolationHerd), first: first, every: time.Minute}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeWithin)
		defer cancel()
		for _, name := range []string{ten.name, ten.name + "-changed", h.name} {
			err = errors.Join(err, a.remove(ctx, herd{name: name}))
		}
	}()
	progress.Printf("isolation: the first tick of %d jobs is %s", h.jobs, first.Local().Format(time.TimeOnly))
	if err := t.prepare(ctx, tenFirst); err != nil {
		return nil, err
	}
	if err := pause(ctx, time.Until(first.Add(-isolationBefore-isolationQuiet))); err != nil {
		return nil, err
	}
	calling, stop := context.WithCancel(ctx)
	called := make(chan struct{})
	go func() { defer close(called); t.call(calling) }()
	defer func() { stop(); <-called }()
	if err := pause(ctx, time.Until(first.Add(-isolationBefore))); err != nil {
		return nil, err
	}
	r = &isolationResult{jobs: h.jobs}
	start := time.Now()
	creates, err := a.createBeside(ctx, h)
	if err != nil {
		return nil, err
	}
	created := time.Now()
	r.perSecond = float64(h.jobs) / created.Sub(start).Seconds()
	progress.Printf("isolation: created %.0f jobs a second, %s before they are due", r.perSecond, time.Until(first).Round(time.Second))
	if err := pause(ctx, time.Until(first.Add((isolationTicks-1)*time.Minute+firingAfter))); err != nil {
		return nil, err
	}
	stop()
	<-called
	for i, k := range t.kinds() {
		r.kinds = append(r.kinds, staged(k.name, t.answers[i], start, created, first))
	}
	r.creates = staged("create a job of the herd", creates, start, created, first)
	r.ten, r.herd = sortTicks(ten, first, isolationTicks, a.sink.take(ten.name)), sortTicks(h, first, isolationTicks, a.sink.take(h.name))
	a.sink.take(name + "-changed")
	for _, line := range r.lines() {
		progress.Print(line)
	}
	return r, nil
}

// createBeside creates a herd in a collection of its own. A create that is refused by 503
// is tried again.
func (a *almanac) createBeside(ctx context.Context, h herd) (answers []answer, err error) {
	api := newREST(a.api.url)
	defer api.close()
	if err := api.putCollection(ctx, h.name); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(isolationCreates)
	for number := range h.jobs {
		group.Go(func() error {
			body := object{"properties": object{
				"action":     object{"type": "Http", "request": object{"method": "GET", "uri": a.sink.target(h.name, number)}},
				"startTime":  h.first.Format(time.RFC3339),
				"recurrence": object{"frequency": "minute"},
			}}
			for {
				one := api.answer(ctx, http.MethodPut, jobPath(h.name, h.id(number)), body)
				mu.Lock()
				answers = append(answers, one)
				mu.Unlock()
				switch one.code {
				case http.StatusOK:
					return nil
				case http.StatusServiceUnavailable:
				default:
					return fmt.Errorf("job %s was not created, status %d", h.id(number), one.code)
				}
				if err := pause(ctx, putPause); err != nil {
					return err
				}
			}
		})
	}
	return answers, group.Wait()
}

// staged sorts answers by when they were asked for.
func staged(name string, answers []answer, start, created, first time.Time) kindResult {
	k := kindResult{name, map[string][]answer{}}
	for _, a := range answers {
		stage := stageQuiet
		if a.asked.After(start) && a.asked.Before(created.Add(createdAfter)) {
			stage = stageCreating
		}
		for i := range isolationTicks {
			due := first.Add(time.Duration(i) * time.Minute)
			if a.asked.After(due.Add(-firingBefore)) && a.asked.Before(due.Add(firingAfter)) {
				stage = stageFiring
			}
		}
		k.stages[stage] = append(k.stages[stage], a)
	}
	return k
}

// lines tells what was measured.
func (r *isolationResult) lines() (lines []string) {
	for _, k := range append(slices.Clip(r.kinds), r.creates) {
		for _, stage := range stages {
			if s, failed := k.in(stage); s.n > 0 {
				lines = append(lines, fmt.Sprintf("isolation: %s, %s: p50 %s, p99 %s, max %s of %d, failed %d", k.name, stage,
					s.p50.Round(time.Millisecond), s.p99.Round(time.Millisecond), s.max.Round(time.Millisecond), s.n, failed))
			}
		}
	}
	for i := range r.ten {
		lines = append(lines, fmt.Sprintf("isolation: tick %d: the ten p99 %s, missing %d; the herd p99 %s, missing %d", i+1,
			r.ten[i].lateness.p99.Round(time.Millisecond), r.ten[i].missing, r.herd[i].lateness.p99.Round(time.Millisecond), r.herd[i].missing))
	}
	return lines
}

// isolationTable shows each kind of call in each stage.
func (r *results) isolationTable() string {
	if r.isolation == nil {
		return ""
	}
	t := table{{"call", "stage", "calls", "p50", "p99", "max", "not 2xx"}}
	for _, k := range append(slices.Clip(r.isolation.kinds), r.isolation.creates) {
		for _, stage := range stages {
			s, failed := k.in(stage)
			if s.n == 0 {
				continue
			}
			t = append(t, []string{k.name, stage, formatCount(float64(s.n)), formatMilliseconds(milliseconds(s.p50)),
				formatMilliseconds(milliseconds(s.p99)), formatMilliseconds(milliseconds(s.max)), formatCount(float64(failed))})
		}
	}
	return t.String()
}

// isolationGoals holds each stage against how a tenant's calls are to be answered.
func (g *goals) isolationGoals(r *isolationResult) {
	if r == nil {
		return
	}
	for _, stage := range stages[1:] {
		var slowest time.Duration
		failures := 0
		for _, k := range r.kinds {
			s, failed := k.in(stage)
			slowest, failures = max(slowest, s.p99), failures+failed
		}
		beside := fmt.Sprintf("calls beside %s, %s", countOf(r.jobs, "job"), stage)
		g.add(beside+", p99 of the slowest kind", milliseconds(slowest), 1000, formatMilliseconds)
		g.add(beside+", not answered by 2xx", float64(failures), 0, formatCount)
	}
	g.add(fmt.Sprintf("ten jobs beside %s, worst p99", countOf(r.jobs, "job")), milliseconds(worst(r.ten).lateness.p99), 250, formatMilliseconds)
}
