package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// A metric is a figure that every system has.
type metric struct {
	name   string
	of     func(system string) (value float64, measured bool)
	format func(float64) string
	more   bool // whether more of it is better
}

// better returns by what factor the first system is better than the other.
func (m metric) better(system, other string) (float64, bool) {
	ours, ok := m.of(system)
	theirs, both := m.of(other)
	if m.more {
		ours, theirs = theirs, ours
	}
	return theirs / ours, ok && both && ours > 0
}

// sizes returns the sizes of the herds that were measured.
func (r *results) sizes() []int {
	var sizes []int
	for _, h := range r.herds {
		sizes = append(sizes, h.jobs)
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

// lateness returns a metric of a herd's lateness, in milliseconds.
func (r *results) lateness(jobs int, name string, of func(spread) time.Duration) metric {
	return metric{
		name: fmt.Sprintf("lateness of %s, %s", countOf(jobs, "job"), name),
		of: func(system string) (float64, bool) {
			h := r.herd(system, jobs)
			if h == nil || h.settled().lateness.n == 0 {
				return 0, false
			}
			return milliseconds(of(h.settled().lateness)), true
		},
		format: formatMilliseconds,
	}
}

func (r *results) latenessP50(jobs int) metric {
	return r.lateness(jobs, "p50", func(s spread) time.Duration { return s.p50 })
}

func (r *results) latenessP99(jobs int) metric {
	return r.lateness(jobs, "p99", func(s spread) time.Duration { return s.p99 })
}

func (r *results) latenessMax(jobs int) metric {
	return r.lateness(jobs, "max", func(s spread) time.Duration { return s.max })
}

// mishaps returns a metric that counts something in all measured ticks.
func (r *results) mishaps(name string, of func(tick) int) metric {
	return metric{
		name: name,
		of: func(system string) (float64, bool) {
			total, measured := 0, false
			for _, h := range r.herds {
				if h.system == system {
					total, measured = total+of(h.settled()), true
				}
			}
			return float64(total), measured
		},
		format: formatCount,
	}
}

// perExecution returns a metric of what the measured ticks used.
func (r *results) perExecution(name string, format func(float64) string, of func(cost) float64) metric {
	return metric{
		name: name + " an execution",
		of: func(system string) (float64, bool) {
			c, ok := r.costs[system]
			return of(c), ok && c.executions > 0 && c.sampled > 0
		},
		format: format,
	}
}

func (r *results) cpu() metric {
	return r.perExecution("CPU", formatMilliseconds, func(c cost) float64 { return 1000 * c.cpu / float64(c.executions) })
}

func (r *results) bytes() metric {
	return r.perExecution("bytes in the database", formatCount, func(c cost) float64 { return c.bytes / float64(c.executions) })
}

func (r *results) events() metric {
	return r.perExecution("history events", formatTenth, func(c cost) float64 { return c.events / float64(c.sampled) })
}

func (r *results) rate() metric {
	return metric{
		name: "executions/s, sustained",
		of: func(system string) (float64, bool) {
			rates := r.sustained[system]
			return median(rates), len(rates) > 0
		},
		format: formatTenth,
		more:   true,
	}
}

// metrics returns all that the systems are compared by.
func (r *results) metrics() []metric {
	var all []metric
	for _, n := range r.sizes() {
		all = append(all, r.latenessP50(n), r.latenessP99(n), r.latenessMax(n))
	}
	if len(r.herds) > 0 {
		all = append(all,
			r.mishaps("requests sent early", func(t tick) int { return t.early }),
			r.mishaps("requests sent twice", func(t tick) int { return t.duplicates }),
			r.mishaps("requests not sent before the next tick", func(t tick) int { return t.missing }),
			r.cpu(), r.bytes(), r.events())
	}
	if len(r.sustained) > 0 {
		all = append(all, r.rate())
	}
	return all
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func formatMilliseconds(ms float64) string {
	switch {
	case ms < 10:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 1000:
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.1f s", ms/1000)
}

func formatTenth(v float64) string { return fmt.Sprintf("%.1f", v) }

// formatCount writes a whole number with its thousands apart.
func formatCount(v float64) string {
	digits := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func formatMegabytes(bytes float64) string { return fmt.Sprintf("%.0f MB", bytes/1e6) }

func formatPercent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// countOf writes how many of something there are.
func countOf(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return formatCount(float64(n)) + " " + what
}
