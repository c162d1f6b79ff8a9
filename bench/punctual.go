package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"maps"
	"time"
)

// A scene is a herd of Almanac's jobs that is there for a while before its first tick.
type scene struct {
	name     string
	jobs     int
	ticks    int           // a minute apart
	once     bool          // retryType none
	schedule object        // what is set beside the start time
	before   time.Duration // from when all are there to the first tick; 0: as the option says
	beside   int           // jobs that ran before and are due in the same second as the first tick
	quick    bool          // whether it is a part of a quick benchmark
	limit    time.Duration // of the p99 of each tick, on a cluster; 0: by the number of jobs
}

var (
	minutely = object{"recurrence": object{"frequency": "minute"}}
	daily    = object{"recurrence": object{"frequency": "day"}}
	oneTime  = object{}
)

// scenes returns what is measured; ticks are those of herds that recur every minute.
func scenes(o options) []scene {
	ticks := 1 + o.ticks
	if o.brief {
		ticks = 1
	}
	all := []scene{
		{name: "every minute", jobs: 1000, ticks: ticks, schedule: minutely, quick: true},
		{name: "every minute, `retryType` `none`", jobs: 1000, ticks: ticks, once: true, schedule: minutely, quick: true},
		{name: "once", jobs: 1000, ticks: 1, schedule: oneTime, quick: true},
		{name: "once, `retryType` `none`", jobs: 1000, ticks: 1, once: true, schedule: oneTime},
		{name: "once, four minutes after they were created", jobs: 1000, ticks: 1, schedule: oneTime, before: 4 * time.Minute},
		{name: "every day", jobs: 1000, ticks: 1, schedule: daily},
		{name: "every minute, beside ten that ran before", jobs: 1000, ticks: 1, schedule: minutely, beside: 10},
		{name: "every minute", jobs: 2000, ticks: ticks, schedule: minutely},
		{name: "every minute, `retryType` `none`", jobs: 2000, ticks: ticks, once: true, schedule: minutely},
		{name: "once", jobs: 2000, ticks: 1, schedule: oneTime},
	}
	if o.sceneJobs > 0 { // for a system that bears less
		all = fewScenes(o.sceneJobs, ticks)
	}
	var selected []scene
	for _, s := range all {
		if s.quick || !o.quick {
			selected = append(selected, s)
		}
	}
	return selected
}

// fewScenes are the kinds of herds that differ most, each of so many jobs.
func fewScenes(jobs, ticks int) []scene {
	return []scene{
		{name: "every minute", jobs: jobs, ticks: ticks, schedule: minutely},
		{name: "every minute, `retryType` `none`", jobs: jobs, ticks: ticks, once: true, schedule: minutely},
		{name: "once", jobs: jobs, ticks: 1, schedule: oneTime},
	}
}

// A sceneResult is how late the ticks of a scene were.
type sceneResult struct {
	scene
	perSecond float64 // jobs that were created, 16 at a time
	ticked    []tick
	others    tick // of the jobs beside, at the first tick
}

// settledTicks is how many ticks the jobs beside a herd have had before.
const settledTicks = 2

// measureScenes measures one scene after another. What was measured before a failure
// is returned with it.
func measureScenes(ctx context.Context, a *almanac, o options, scenes []scene, progress *log.Logger) (results []sceneResult, err error) {
	for i, s := range scenes {
		r, err := measureScene(ctx, a, fmt.Sprintf("scene-%d-%d", time.Now().Unix(), i), s, o, progress)
		if err != nil {
			return results, fmt.Errorf("%d jobs %s: %w", s.jobs, s.name, err)
		}
		results = append(results, r)
		for n, t := range r.ticked {
			progress.Printf("%d jobs, %s, tick %d: p50 %s, p99 %s, max %s, early %d, twice %d, missing %d", s.jobs, s.name, n+1,
				t.lateness.p50.Round(time.Millisecond), t.lateness.p99.Round(time.Millisecond), t.lateness.max.Round(time.Millisecond), t.early, t.duplicates, t.missing)
		}
		if s.beside > 0 {
			progress.Printf("the %d beside: max %s", s.beside, r.others.lateness.max.Round(time.Millisecond))
		}
	}
	return results, nil
}

func measureScene(ctx context.Context, a *almanac, name string, s scene, o options, progress *log.Logger) (r sceneResult, err error) {
	progress.Printf("creating %d jobs, %s", s.jobs, s.name)
	estimate, before, rest := time.Duration(s.jobs)*time.Second/createPerSec, cmp.Or(s.before, o.before), time.Minute-calm
	if o.brief {
		before, rest = 5*time.Second, 5*time.Second
	}
	first := time.Now().UTC().Add(estimate + before + time.Second).Truncate(time.Second)
	beside := herd{name: name + "-beside", jobs: s.beside, every: time.Minute}
	if s.beside > 0 {
		beside.first = time.Now().UTC().Truncate(time.Second).Add(10 * time.Second)
		first = beside.first.Add(settledTicks * time.Minute)
		for time.Until(first) < estimate+before {
			first = first.Add(time.Minute)
		}
		if err := a.createScene(ctx, beside, false, minutely); err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, a.remove(context.WithoutCancel(ctx), beside)) }()
		if err := pause(ctx, time.Until(first.Add(-before-estimate))); err != nil {
			return r, err
		}
	}
	h := herd{name: name, jobs: s.jobs, first: first, every: time.Minute}
	start := time.Now()
	defer func() { err = errors.Join(err, a.remove(context.WithoutCancel(ctx), h)) }()
	if err := a.createScene(ctx, h, s.once, s.schedule); err != nil {
		return r, err
	}
	r = sceneResult{scene: s, perSecond: float64(s.jobs) / time.Since(start).Seconds()}
	if early := time.Until(first); early < before-time.Second {
		progress.Printf("they were there %s before their first tick only", early.Round(time.Second))
	}
	if err := pause(ctx, time.Until(first.Add(time.Duration(s.ticks-1)*time.Minute+rest))); err != nil {
		return r, err
	}
	r.ticked = sortTicks(h, first, s.ticks, a.sink.take(h.name))
	if s.beside > 0 {
		r.others = sortTicks(beside, first, 1, a.sink.take(beside.name))[0]
	}
	return r, nil
}

// createScene creates a herd in a collection of its own, through all APIs in turn.
func (a *almanac) createScene(ctx context.Context, h herd, once bool, schedule object) error {
	if err := a.api.putCollection(ctx, h.name); err != nil {
		return err
	}
	more := object{"startTime": h.first.Format(time.RFC3339)}
	maps.Copy(more, schedule)
	apis := append([]*rest{a.api}, a.others...)
	return h.each(ctx, func(ctx context.Context, number int) error {
		api := *apis[number%len(apis)]
		api.once = once
		return api.putJob(ctx, h.name, h.id(number), a.sink.target(h.name, number), more)
	})
}

// worst sums up ticks: the median of the medians, and the worst of all else.
func worst(ticks []tick) tick {
	var out tick
	var p50 []time.Duration
	for _, t := range ticks {
		p50 = append(p50, t.lateness.p50)
		out.lateness.n += t.lateness.n
		out.lateness.p99 = max(out.lateness.p99, t.lateness.p99)
		out.lateness.max = max(out.lateness.max, t.lateness.max)
		out.early += t.early
		out.missing += t.missing
		out.duplicates += t.duplicates
	}
	out.lateness.p50 = median(p50)
	return out
}

// sceneTable shows the first tick of each scene, and the worst of those after it.
func (r *results) sceneTable() string {
	t := table{{"jobs due in one second", "", "created/s", "p50", "p99", "max", "early", "twice", "missing"}}
	row := func(s sceneResult, jobs int, what, perSecond string, k tick) {
		t = append(t, []string{
			formatCount(float64(jobs)) + " jobs " + s.name, what, perSecond,
			formatMilliseconds(milliseconds(k.lateness.p50)), formatMilliseconds(milliseconds(k.lateness.p99)), formatMilliseconds(milliseconds(k.lateness.max)),
			formatCount(float64(k.early)), formatCount(float64(k.duplicates)), formatCount(float64(k.missing)),
		})
	}
	for _, s := range r.scenes {
		row(s, s.jobs, "first tick", formatTenth(s.perSecond), s.ticked[0])
		if len(s.ticked) > 1 {
			row(s, s.jobs, fmt.Sprintf("worst of %d more", len(s.ticked)-1), "", worst(s.ticked[1:]))
		}
		if s.beside > 0 {
			row(s, s.beside, "these ten", "", s.others)
		}
	}
	return t.String()
}

// sceneGoals holds the scenes against what a first tick and those after it are to be.
func (b *goals) sceneGoals(scenes []sceneResult) {
	for _, s := range scenes {
		first, settled := 250.0, 100.0
		switch {
		case s.limit > 0:
			first, settled = milliseconds(s.limit), milliseconds(s.limit)
		case s.jobs == 1000 && s.once:
			settled = 150
		case s.jobs == 2000 && s.once:
			first, settled = 1000, 350
		case s.jobs == 2000:
			first, settled = 1000, 250
		case s.jobs != 1000:
			continue
		}
		name := fmt.Sprintf("%s %s, p99 of ", countOf(s.jobs, "job"), s.name)
		b.add(name+"the first tick", milliseconds(s.ticked[0].lateness.p99), first, formatMilliseconds)
		if len(s.ticked) > 1 {
			b.add(name+"the worst tick after it", milliseconds(worst(s.ticked[1:]).lateness.p99), settled, formatMilliseconds)
		}
		if s.beside > 0 {
			b.add(name+"the ten", milliseconds(s.others.lateness.p99), 250, formatMilliseconds)
		}
	}
}
