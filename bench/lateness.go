package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"time"
)

// Herds that share a minute are due apart from each other, the smallest first.
// Everybody has rested for a while before the first of them.
var offsets = []time.Duration{0, 10 * time.Second, 30 * time.Second}

const (
	calm         = 15 * time.Second // before a tick, nothing is due for so long
	maxSampled   = 20               // jobs of a herd whose history is looked at
	createPerSec = 40               // jobs that any system can create in a second
)

// A tick is what the sink saw of one due time of a herd.
type tick struct {
	settling   bool
	lateness   spread // of the first request of each job
	early      int
	missing    int // not come before the next tick
	duplicates int
}

// A herdResult is how late a herd of one system was.
type herdResult struct {
	system string
	jobs   int
	ticks  []tick
}

// settled sums up the measured ticks: medians of their percentiles, and the
// worst of all.
func (r herdResult) settled() tick {
	var out tick
	var p50, p99 []time.Duration
	for _, t := range r.ticks {
		if t.settling {
			continue
		}
		p50, p99 = append(p50, t.lateness.p50), append(p99, t.lateness.p99)
		out.lateness.n += t.lateness.n
		out.lateness.max = max(out.lateness.max, t.lateness.max)
		out.early += t.early
		out.missing += t.missing
		out.duplicates += t.duplicates
	}
	out.lateness.p50, out.lateness.p99 = median(p50), median(p99)
	return out
}

// A cost is what the measured ticks of a system used.
type cost struct {
	executions int
	cpu        float64 // seconds, less what the process uses at rest
	bytes      float64 // by which the database grew
	events     float64 // in the histories of the sampled
	sampled    int     // executions whose events were counted
}

func (c *cost) add(o cost) {
	c.executions += o.executions
	c.cpu += o.cpu
	c.bytes += o.bytes
	c.events += o.events
	c.sampled += o.sampled
}

// measureLateness measures the herds of one system. What was measured before a
// failure is returned with it.
func measureLateness(ctx context.Context, g *environment, s system, o options, progress *log.Logger) (results []herdResult, total cost, err error) {
	for i, sizes := range o.herds {
		m := &measurement{environment: g, system: s, options: o, progress: progress, settle: o.settle}
		if s.name() != nameAlmanac { // which alone adapts to a herd; the others only warm up
			m.settle = min(m.settle, 1)
		}
		found, used, err := m.run(ctx, i, sizes)
		results = append(results, found...)
		total.add(used)
		if err != nil {
			return results, total, fmt.Errorf("lateness of %s: %w", s.name(), err)
		}
	}
	return results, total, nil
}

// A measurement is of herds that share a minute.
type measurement struct {
	*environment
	system   system
	options  options
	progress *log.Logger

	every  time.Duration
	herds  []herd
	first  time.Time // due time of the first tick that is looked at
	settle int       // ticks before those that are measured
}

func (m *measurement) run(ctx context.Context, i int, sizes []int) (results []herdResult, used cost, err error) {
	if err := m.usage.awaitQuiet(ctx); err != nil {
		return nil, cost{}, err
	}
	idle, err := m.usage.idle(ctx, m.idleFor())
	if err != nil {
		return nil, cost{}, err
	}
	m.assemble(i, sizes)
	m.progress.Printf("%s: creating %v jobs", m.system.name(), sizes)
	defer func() { err = errors.Join(err, m.remove(context.WithoutCancel(ctx))) }()
	if err := m.create(ctx); err != nil {
		return nil, cost{}, err
	}
	if used, err = m.watch(ctx, idle); err != nil {
		return nil, cost{}, err
	}
	for _, h := range m.herds {
		r := herdResult{m.system.name(), h.jobs, m.sort(h, m.sink.take(h.name))}
		results = append(results, r)
		t := r.settled()
		used.executions += t.lateness.n + t.duplicates
		m.progress.Printf("%s: %d jobs: p50 %s, p99 %s, max %s, early %d, missing %d", r.system, r.jobs,
			t.lateness.p50.Round(time.Millisecond), t.lateness.p99.Round(time.Millisecond), t.lateness.max.Round(time.Millisecond), t.early, t.missing)
	}
	return results, used, nil
}

// idleFor returns for how long the process is watched at rest.
func (m *measurement) idleFor() time.Duration {
	if m.options.brief {
		return 3 * time.Second
	}
	return calm
}

// assemble plans the herds such that they can be created before they are due.
func (m *measurement) assemble(i int, sizes []int) {
	sizes = slices.Sorted(slices.Values(sizes))
	jobs := 0
	for _, n := range sizes {
		jobs += n
	}
	m.every = m.system.every(jobs)
	m.first = time.Now().UTC().Truncate(10 * time.Second).Add(10*time.Second + calm + time.Duration(jobs)*time.Second/createPerSec)
	m.first = m.first.Truncate(time.Second)
	for k, n := range sizes {
		m.herds = append(m.herds, herd{
			name: fmt.Sprintf("%s-%d-%d", slug(m.system), i, n), jobs: n, first: m.first.Add(offsets[k]), every: m.every,
		})
	}
}

// create creates the herds. Where that took longer than was thought, the first
// tick that counts is a later one.
func (m *measurement) create(ctx context.Context) error {
	for _, h := range m.herds {
		if err := m.system.create(ctx, h); err != nil {
			return fmt.Errorf("create: %w", err)
		}
	}
	for time.Until(m.first) < calm {
		m.first = m.first.Add(m.every)
	}
	return nil
}

func (m *measurement) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, removeWithin)
	defer cancel()
	for _, h := range m.herds {
		if err := m.system.remove(ctx, h); err != nil {
			return fmt.Errorf("remove: %w", err)
		}
	}
	return nil
}

// removeWithin is how long removing herds may take.
const removeWithin = 5 * time.Minute

// watch lets the ticks pass and returns what the measured ones used. It looks
// before a tick is due, when all is at rest.
func (m *measurement) watch(ctx context.Context, idle float64) (cost, error) {
	from := m.first.Add(time.Duration(m.settle) * m.every)
	to := from.Add(time.Duration(m.options.ticks) * m.every)
	m.progress.Printf("%s: %d ticks from %s on, the first %d to settle", m.system.name(), m.settle+m.options.ticks, m.first.Format(time.TimeOnly), m.settle)

	if err := pause(ctx, time.Until(from.Add(-calm))); err != nil {
		return cost{}, err
	}
	eventsBefore, _, err := m.events(ctx, nil)
	if err != nil {
		return cost{}, err
	}
	before, err := m.usage.read(ctx)
	if err != nil {
		return cost{}, err
	}
	if err := m.await(ctx, to); err != nil {
		return cost{}, err
	}
	after, err := m.usage.read(ctx)
	if err != nil {
		return cost{}, err
	}
	var due []time.Time
	for t := from; t.Before(to); t = t.Add(m.every) {
		due = append(due, t)
	}
	eventsAfter, sampled, err := m.events(ctx, due)
	if err != nil {
		return cost{}, err
	}
	return cost{
		cpu:     after.cpu - before.cpu - idle*after.at.Sub(before.at).Seconds(),
		bytes:   float64(after.db - before.db),
		events:  float64(eventsAfter - eventsBefore),
		sampled: sampled,
	}, nil
}

// await waits until all is at rest before the tick after the last one; in
// brief, until the requests of the last one have come.
func (m *measurement) await(ctx context.Context, to time.Time) error {
	end := to.Add(-calm)
	if !m.options.brief {
		return pause(ctx, time.Until(end))
	}
	for time.Now().Before(end) && !m.complete() {
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// complete reports whether as many requests have come as all ticks have.
func (m *measurement) complete() bool {
	for _, h := range m.herds {
		if m.sink.count(h.name) < h.jobs*(m.settle+m.options.ticks) {
			return false
		}
	}
	return true
}

// events counts the events of some jobs of each herd, and the executions among
// them that due stands for, which are ticks of the first herd.
func (m *measurement) events(ctx context.Context, due []time.Time) (events int64, executions int, err error) {
	for _, h := range m.herds {
		own := make([]time.Time, len(due))
		for i, t := range due {
			own[i] = t.Add(h.first.Sub(m.herds[0].first))
		}
		for number := range min(h.jobs, maxSampled) {
			n, err := m.system.events(ctx, h, number, own)
			if err != nil {
				return 0, 0, err
			}
			events += n
			executions += len(own)
		}
	}
	return events, executions, nil
}

// sort assigns what arrived to the ticks of a herd.
func (m *measurement) sort(h herd, arrivals []arrival) []tick {
	ticks := sortTicks(h, m.first.Add(h.first.Sub(m.herds[0].first)), m.settle+m.options.ticks, arrivals)
	for i := range ticks {
		ticks[i].settling = i < m.settle
	}
	return ticks
}

// sortTicks assigns what arrived to the n ticks of a herd from first on.
func sortTicks(h herd, first time.Time, n int, arrivals []arrival) []tick {
	ticks := make([]tick, n)
	seen := make([]map[int]time.Duration, len(ticks)) // lateness by job
	for i := range seen {
		seen[i] = make(map[int]time.Duration, h.jobs)
	}
	for _, a := range arrivals {
		i := int(a.due.Sub(first) / h.every)
		if a.due.Before(first) || i >= len(ticks) { // before all jobs were there, or after the measurement
			continue
		}
		late := a.at.Sub(a.due)
		if late < 0 {
			ticks[i].early++
		}
		if _, again := seen[i][a.job]; again {
			ticks[i].duplicates++
			continue
		}
		seen[i][a.job] = late
	}
	for i := range ticks {
		late := make([]time.Duration, 0, h.jobs)
		for _, d := range seen[i] {
			late = append(late, d)
		}
		ticks[i].lateness = spreadOf(late)
		ticks[i].missing = h.jobs - len(late)
	}
	return ticks
}
