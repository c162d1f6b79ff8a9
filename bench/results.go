package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"almanac/bench/engines"
	"almanac/bench/systems"
)

// results are everything that was measured; what was not is empty.
type results struct {
	scenarios []scenarioResult
	herds     []herdResult
	costs     map[string]cost      // by system
	sustained map[string][]float64 // executions a second, by system and round
	calls     []callResult
	isolation *isolationResult
	sleep     *sleepResult
	engines   []engines.Result
}

func newResults() *results {
	return &results{costs: map[string]cost{}, sustained: map[string][]float64{}}
}

// check returns an error for what Almanac must never do, however fast it is.
func (r *results) check() error {
	var errs []error
	check := func(what string, ticks []tick) {
		if all := worst(ticks); all.early+all.twice > 0 {
			errs = append(errs, fmt.Errorf("%s: no request may be early or come twice (got %s)", what, all))
		}
	}
	for _, s := range r.scenarios {
		check(fmt.Sprintf("%d jobs %s", s.jobs, s.label), s.ticks)
	}
	for _, h := range r.herds {
		if h.system == systems.Almanac {
			check(fmt.Sprintf("%d jobs", h.jobs), slices.Concat(h.warmUp, h.ticks))
		}
	}
	return errors.Join(errs...)
}

// A metric is a figure that every system has.
type metric struct {
	name   string
	format func(float64) string
	values map[string]float64 // by system, if measured
	more   bool               // whether more of it is better
}

// better returns by what factor Almanac is better than the other system.
func (m metric) better(other string) (factor float64, ok bool) {
	ours, theirs := m.values[systems.Almanac], m.values[other]
	if m.more {
		ours, theirs = theirs, ours
	}
	_, both := m.values[other]
	return theirs / ours, both && ours > 0
}

// metrics returns all that the systems are compared by.
func (r *results) metrics() []metric {
	all := r.latenessMetrics()
	mishap := func(name string, of func(tick) int) {
		m := metric{name, formatCount, map[string]float64{}, false}
		for _, h := range r.herds {
			m.values[h.system] += float64(of(h.sum()))
		}
		all = append(all, m)
	}
	mishap("requests sent early", func(t tick) int { return t.early })
	mishap("requests sent twice", func(t tick) int { return t.twice })
	mishap("requests not sent before the next tick", func(t tick) int { return t.missing })
	perExecution := func(name string, format func(float64) string, of func(cost) float64) {
		m := metric{name + " an execution", format, map[string]float64{}, false}
		for system, c := range r.costs {
			if c.executions > 0 && c.sampled > 0 {
				m.values[system] = of(c)
			}
		}
		all = append(all, m)
	}
	perExecution("CPU", formatMilliseconds, func(c cost) float64 { return 1000 * c.cpu / float64(c.executions) })
	perExecution("bytes in the database", formatCount, func(c cost) float64 { return c.bytes / float64(c.executions) })
	perExecution("history events", formatTenth, func(c cost) float64 { return c.events / float64(c.sampled) })
	rate := metric{"executions/s, sustained", formatTenth, map[string]float64{}, true}
	for system, rates := range r.sustained {
		rate.values[system] = median(rates)
	}
	return slices.DeleteFunc(append(all, rate), func(m metric) bool { return len(m.values) == 0 })
}

// latenessMetrics returns how late herds of each size were.
func (r *results) latenessMetrics() (all []metric) {
	var sizes []int
	for _, h := range r.herds {
		sizes = append(sizes, h.jobs)
	}
	slices.Sort(sizes)
	for _, jobs := range slices.Compact(sizes) {
		name := "lateness of " + countOf(jobs, "job")
		p50, p99, longest := map[string]float64{}, map[string]float64{}, map[string]float64{}
		for _, h := range r.herds {
			if s := h.sum().lateness; h.jobs == jobs && s.n > 0 {
				p50[h.system], p99[h.system], longest[h.system] = milliseconds(s.p50), milliseconds(s.p99), milliseconds(s.max)
			}
		}
		all = append(all,
			metric{name + ", p50", formatMilliseconds, p50, false},
			metric{name + ", p99", formatMilliseconds, p99, false},
			metric{name + ", max", formatMilliseconds, longest, false})
	}
	return all
}

// A goal is what a figure is held against.
type goal struct {
	what, wanted, measured string
	met                    bool
}

func atMost(what string, got, limit float64, format func(float64) string) goal {
	return goal{what, "at most " + format(limit), format(got), got <= limit}
}

// metricGoals are those of Almanac, by the name of the metric: a limit, or a factor by which it is to
// be better than another system.
var metricGoals = []struct {
	metric, other string
	want          float64
}{
	{"lateness of 1 job, p99", "", 20},
	{"lateness of 1,000 jobs, p99", "", 100},
	{"lateness of 2,000 jobs, p99", "", 250},
	{"lateness of 1,000 jobs, p99", systems.Schedules, 20},
	{"CPU an execution", systems.Schedules, 4},
	{"CPU an execution", systems.Loop, 1.5},
	{"bytes in the database an execution", systems.Schedules, 4},
	{"executions/s, sustained", systems.Schedules, 3},
	{"executions/s, sustained", systems.Loop, 1.05},
	{"requests sent early", "", 0},
}

// goals returns those whose figures were measured.
func (r *results) goals() (all []goal) {
	for _, s := range r.scenarios {
		name := fmt.Sprintf("%s %s, p99 of ", countOf(s.jobs, "job"), s.label)
		if s.first > 0 {
			all = append(all, atMost(name+"the first tick", milliseconds(s.ticks[0].lateness.p99), milliseconds(s.first), formatMilliseconds))
		}
		if s.next > 0 && len(s.ticks) > 1 {
			all = append(all, atMost(name+"the worst tick after it", milliseconds(worst(s.ticks[1:]).lateness.p99), milliseconds(s.next), formatMilliseconds))
		}
	}
	all = append(all, r.isolationGoals()...)
	metrics := r.metrics()
	for _, g := range metricGoals {
		i := slices.IndexFunc(metrics, func(m metric) bool { return m.name == g.metric })
		if i < 0 {
			continue
		}
		if got, ok := metrics[i].values[systems.Almanac]; ok && g.other == "" {
			all = append(all, atMost(g.metric, got, g.want, metrics[i].format))
		} else if got, ok := metrics[i].better(g.other); ok && g.other != "" {
			all = append(all, goal{g.metric + ", beside " + g.other, "at least " + formatFactor(g.want), formatFactor(got), got >= g.want})
		}
	}
	for _, c := range r.calls {
		if limit := map[string]float64{nameList: 300, nameHistory: 50}[c.name]; limit > 0 {
			all = append(all, atMost(c.name+", p50", milliseconds(c.p50), limit, formatMilliseconds))
		}
	}
	if s := r.sleep; s != nil {
		name := countOf(s.jobs, "sleeping job")
		all = append(all,
			atMost(name+", idle CPU", s.idleCPU, 0.05, formatPercent),
			atMost(name+", memory at rest", float64(s.resident), 400e6, formatMegabytes),
			atMost(name+", first execution after a cold restart", milliseconds(s.first), 10_000, formatMilliseconds))
	}
	return all
}

// isolationGoals holds each stage against how a tenant's calls are to be answered.
func (r *results) isolationGoals() (all []goal) {
	if r.isolation == nil {
		return nil
	}
	herd := countOf(r.isolation.jobs, "job")
	for _, stage := range stages[1:] {
		var slowest time.Duration
		failed := 0
		for _, c := range r.isolation.calls {
			if c.stage == stage {
				slowest, failed = max(slowest, c.took.p99), failed+c.failed
			}
		}
		name := fmt.Sprintf("calls beside %s, %s", herd, stage)
		all = append(all,
			atMost(name+", p99 of the slowest kind", milliseconds(slowest), 1000, formatMilliseconds),
			atMost(name+", not answered by 2xx", float64(failed), 0, formatCount))
	}
	ten := worst(r.isolation.ten).lateness.p99
	return append(all, atMost("ten jobs beside "+herd+", worst p99", milliseconds(ten), 250, formatMilliseconds))
}
