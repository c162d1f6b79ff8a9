package main

import (
	_ "embed"
	"fmt"
	"log"
	"slices"
	"strings"
	"text/tabwriter"
	"text/template"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"almanac/bench/machine"
	"almanac/bench/systems"
)

//go:embed report.md.tmpl
var reportText string

var reportTemplate = template.Must(template.New("report").Funcs(template.FuncMap{"table": markdownTable}).Parse(reportText))

// A report is everything that was measured. The template has the words around it, and shows what is not
// empty.
type report struct {
	Machine machine.Machine

	FirstTick, Systems, Calls, Across, Isolation, Bulk, Sleep, Observed, Engines, Goals rows

	Sustained     time.Duration // a round of it; 0: not measured
	SustainedJobs int
	SleepingJobs  string // how many
	AcrossJobs    string // likewise
	AcrossWindow  time.Duration

	metrics    []metric
	violations []error // what Almanac must never do, however fast it is
	progress   *log.Logger
}

// rows are those of a table, without its head.
type rows [][]string

// add adds a row of several groups of cells to a table, and logs it.
func (r *report) add(table *rows, cells ...[]string) {
	row := slices.Concat(cells...)
	*table = append(*table, row)
	r.progress.Println(strings.Join(row, " | "))
}

// markdown completes the report and returns it as text.
func (r *report) markdown(m machine.Machine) (string, error) {
	r.Machine = m
	for _, m := range r.metrics {
		r.Systems = append(r.Systems, m.cells())
	}
	r.addMetricGoals()
	var b strings.Builder
	err := reportTemplate.Execute(&b, r)
	return b.String(), err
}

// markdownTable returns a table in Markdown, with the columns aligned for those who read it as text.
// Markdown shows all columns but the first flush right.
func markdownTable(rows rows, head ...string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 1, ' ', 0)
	fmt.Fprintf(w, "| %s\t|\n|---%s\t|\n", strings.Join(head, "\t| "), strings.Repeat("\t|--:", len(head)-1))
	for _, row := range rows {
		fmt.Fprintf(w, "| %s\t|\n", strings.Join(row, "\t| "))
	}
	_ = w.Flush() // writing to a builder never fails
	return b.String()
}

// mustBePunctual checks ticks of Almanac.
func (r *report) mustBePunctual(what string, ticks []tick) {
	if all := worst(ticks); all.early+all.twice > 0 {
		r.violations = append(r.violations, fmt.Errorf("%s: no request may be early or come twice (got %s)", what, all))
	}
}

// A metric is a figure that every system has.
type metric struct {
	name   string
	format func(float64) string
	values map[string]float64 // by system, if measured
}

const metricSustained = "executions/s, sustained"

// better returns by what factor Almanac is better than the other system.
func (m metric) better(other string) (factor float64, ok bool) {
	ours, theirs := m.values[systems.Almanac], m.values[other] // 0: not measured, or nothing to divide by
	factor = theirs / ours
	if m.name == metricSustained { // more is better; of all others, less
		factor = ours / theirs
	}
	return factor, ours > 0 && theirs != 0
}

// compare sets the value of a metric for a system.
func (r *report) compare(name string, format func(float64) string, system string, value float64) {
	i := slices.IndexFunc(r.metrics, func(m metric) bool { return m.name == name })
	if i < 0 {
		i = len(r.metrics)
		r.metrics = append(r.metrics, metric{name, format, map[string]float64{}})
	}
	r.metrics[i].values[system] = value
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
			row[4+i] = formatFactor(factor)
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
	{metricSustained, systems.Schedules, 3},
	{metricSustained, systems.Loop, 1.05},
	{"requests sent early", "", 0},
}

func (r *report) addMetricGoals() {
	for _, g := range metricGoals {
		for _, m := range r.metrics {
			if m.name != g.metric {
				continue
			}
			if got, ok := m.values[systems.Almanac]; ok && g.other == "" {
				r.atMost(g.metric, got, g.want, m.format)
			} else if got, ok := m.better(g.other); ok && g.other != "" {
				r.addGoal(g.metric+", beside "+g.other, "at least "+formatFactor(g.want), formatFactor(got), got >= g.want)
			}
		}
	}
}

func (r *report) addGoal(what, wanted, measured string, met bool) {
	verdict := "missed"
	if met {
		verdict = "met"
	}
	r.Goals = append(r.Goals, []string{what, wanted, measured, verdict})
}

// atMost holds a figure against a limit.
func (r *report) atMost(what string, got, limit float64, format func(float64) string) {
	r.addGoal(what, "at most "+format(limit), format(got), got <= limit)
}

// within holds a duration against a limit, unless that is 0.
func (r *report) within(what string, got, limit time.Duration) {
	if limit > 0 {
		r.atMost(what, milliseconds(got), milliseconds(limit), formatMilliseconds)
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func formatDuration(d time.Duration) string { return formatMilliseconds(milliseconds(d)) }

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

// formatCount writes a whole number such as 12,345.
func formatCount(v float64) string { return message.NewPrinter(language.English).Sprintf("%.0f", v) }

func formatMegabytes(bytes float64) string { return fmt.Sprintf("%.0f MB", bytes/1e6) }

func formatPercent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

func formatFactor(f float64) string {
	if f < 10 {
		return fmt.Sprintf("%.2f ×", f)
	}
	return fmt.Sprintf("%.0f ×", f)
}

// countOf writes how many of something there are.
func countOf(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return formatCount(float64(n)) + " " + what
}

func (s spread) cells() []string {
	return []string{formatDuration(s.p50), formatDuration(s.p99), formatDuration(s.max)}
}

func (t tick) cells() []string {
	return append(t.lateness.cells(), fmt.Sprint(t.early), fmt.Sprint(t.twice), fmt.Sprint(t.missing))
}

func (t tick) String() string {
	c := t.cells()
	return fmt.Sprintf("p50 %s, p99 %s, max %s, early %s, twice %s, missing %s", c[0], c[1], c[2], c[3], c[4], c[5])
}

// logTicks logs each tick of a herd.
func (r *report) logTicks(herd string, ticks []tick) {
	for i, t := range ticks {
		r.progress.Printf("%s, tick %d: %s", herd, i+1, t)
	}
}
