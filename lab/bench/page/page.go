// Package page writes what the benchmark measured, as docs/benchmarks.md shows it, and holds it against the goals.
package page

import (
	_ "embed"
	"fmt"
	"log"
	"slices"
	"strings"
	"text/template"
	"time"

	"almanac/lab/bench/systems"
	"almanac/lab/report"
)

//go:embed page.md.tmpl
var text string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{"table": report.Table}).Parse(text))

// A Page is everything that was measured. The template has the words around it, and shows what is not
// empty.
type Page struct {
	Machine Machine

	FirstTick, Storm, Systems, Calls, Across, Isolation, Bulk, Sleep, Observed, Breaking, Engines, Goals Rows
	Pause, Backfill, Flexible                                                                            Rows
	Parts                                                                                                Rows // what can be measured

	BreakingPoint string // a sentence

	Sustained     time.Duration // a round of it; 0: not measured
	SustainedJobs int
	SleepingJobs  string // how many
	AcrossJobs    string // likewise
	AcrossWindow  time.Duration
	Held          int           // occurrences of each paused job
	Down          time.Duration // from the end of the pause until the start
	Backfilled    string        // how many occurrences

	metrics    []metric
	Violations []error // what Almanac must never do, however fast it is
	Progress   *log.Logger
}

// Rows are those of a table, without its head.
type Rows [][]string

// Add adds a row of several groups of cells to a table, and logs it.
func (p *Page) Add(table *Rows, cells ...[]string) {
	row := slices.Concat(cells...)
	*table = append(*table, row)
	p.Progress.Println(strings.Join(row, " | "))
}

// Markdown completes the page and returns it as text.
func (p *Page) Markdown(m Machine) (string, error) {
	p.Machine = m
	for _, m := range p.metrics {
		p.Systems = append(p.Systems, m.cells())
	}
	p.addMetricGoals()
	var b strings.Builder
	err := pageTemplate.Execute(&b, p)
	return b.String(), err
}

// MustBePunctual checks ticks of Almanac.
func (p *Page) MustBePunctual(what string, ticks []systems.Tick) {
	if all := systems.Worst(ticks); all.Early+all.Twice > 0 {
		p.Violations = append(p.Violations, fmt.Errorf("%s: no request may be early or come twice (got %s)", what, all))
	}
}

// A metric is a figure that every system has.
type metric struct {
	name   string
	format func(float64) string
	values map[string]float64 // by system, if measured
}

// MetricSustained is the name of a metric. Its larger value is the better one; of all others it is the smaller one.
const MetricSustained = "executions/s, sustained"

// better returns by what factor Almanac is better than the other system.
func (m metric) better(other string) (factor float64, ok bool) {
	ours, theirs := m.values[systems.Almanac], m.values[other] // 0: not measured, or nothing to divide by
	factor = theirs / ours
	if m.name == MetricSustained { // more is better; of all others, less
		factor = ours / theirs
	}
	return factor, ours > 0 && theirs != 0
}

// Compare sets the value of a metric for a system.
func (p *Page) Compare(name string, format func(float64) string, system string, value float64) {
	i := slices.IndexFunc(p.metrics, func(m metric) bool { return m.name == name })
	if i < 0 {
		i = len(p.metrics)
		p.metrics = append(p.metrics, metric{name, format, map[string]float64{}})
	}
	p.metrics[i].values[system] = value
}

// cells returns the metric's name, its values, and the factors by which Almanac is better.
func (m metric) cells() []string {
	row := []string{m.name, "–", "–", "–", "–", "–"} // not measured
	for i, system := range []string{systems.Almanac, systems.Loop, systems.Schedules} {
		if value, ok := m.values[system]; ok {
			row[1+i] = m.format(value)
		}
	}
	for i, other := range []string{systems.Loop, systems.Schedules} {
		if factor, ok := m.better(other); ok {
			row[4+i] = report.Factor(factor)
		}
	}
	return row
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
	{MetricSustained, systems.Schedules, 3},
	{MetricSustained, systems.Loop, 1.05},
	{"requests sent early", "", 0},
}

func (p *Page) addMetricGoals() {
	for _, g := range metricGoals {
		for _, m := range p.metrics {
			if m.name != g.metric {
				continue
			}
			if got, ok := m.values[systems.Almanac]; ok && g.other == "" {
				p.AtMost(g.metric, got, g.want, m.format)
			} else if got, ok := m.better(g.other); ok && g.other != "" {
				p.AddGoal(g.metric+", beside "+g.other, "at least "+report.Factor(g.want), report.Factor(got),
					got >= g.want)
			}
		}
	}
}

// AddGoal adds a goal, and whether it was met.
func (p *Page) AddGoal(what, wanted, measured string, met bool) {
	verdict := "missed"
	if met {
		verdict = "met"
	}
	p.Goals = append(p.Goals, []string{what, wanted, measured, verdict})
}

// AtMost holds a figure against a limit.
func (p *Page) AtMost(what string, got, limit float64, format func(float64) string) {
	p.AddGoal(what, "at most "+format(limit), format(got), got <= limit)
}

// Within holds a duration against a limit, unless that is 0.
func (p *Page) Within(what string, got, limit time.Duration) {
	if limit > 0 {
		p.AtMost(what, report.InMilliseconds(got), report.InMilliseconds(limit), report.Milliseconds)
	}
}

// LogTicks logs each tick of a herd.
func (p *Page) LogTicks(herd string, ticks []systems.Tick) {
	for i, t := range ticks {
		p.Progress.Printf("%s, tick %d: %s", herd, i+1, t)
	}
}
