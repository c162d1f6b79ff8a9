// Package report has what was measured, as tables, and holds it against the goals.
package report

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

// A Report is everything that was measured. The template has the words around it, and shows what is not
// empty.
type Report struct {
	Machine machine.Machine

	FirstTick, Systems, Calls, Across, Isolation, Bulk, Sleep, Observed, Breaking, Engines, Goals Rows

	BreakingPoint string // a sentence

	Sustained     time.Duration // a round of it; 0: not measured
	SustainedJobs int
	SleepingJobs  string // how many
	AcrossJobs    string // likewise
	AcrossWindow  time.Duration

	metrics    []metric
	Violations []error // what Almanac must never do, however fast it is
	Progress   *log.Logger
}

// Rows are those of a table, without its head.
type Rows [][]string

// Add adds a row of several groups of cells to a table, and logs it.
func (r *Report) Add(table *Rows, cells ...[]string) {
	row := slices.Concat(cells...)
	*table = append(*table, row)
	r.Progress.Println(strings.Join(row, " | "))
}

// Markdown completes the report and returns it as text.
func (r *Report) Markdown(m machine.Machine) (string, error) {
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
func markdownTable(rows Rows, head ...string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 1, ' ', 0)
	fmt.Fprintf(w, "| %s\t|\n|---%s\t|\n", strings.Join(head, "\t| "), strings.Repeat("\t|--:", len(head)-1))
	for _, row := range rows {
		fmt.Fprintf(w, "| %s\t|\n", strings.Join(row, "\t| "))
	}
	_ = w.Flush() // writing to a builder never fails
	return b.String()
}

// MustBePunctual checks ticks of Almanac.
func (r *Report) MustBePunctual(what string, ticks []Tick) {
	if all := Worst(ticks); all.Early+all.Twice > 0 {
		r.Violations = append(r.Violations, fmt.Errorf("%s: no request may be early or come twice (got %s)", what, all))
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
func (r *Report) Compare(name string, format func(float64) string, system string, value float64) {
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
	{MetricSustained, systems.Schedules, 3},
	{MetricSustained, systems.Loop, 1.05},
	{"requests sent early", "", 0},
}

func (r *Report) addMetricGoals() {
	for _, g := range metricGoals {
		for _, m := range r.metrics {
			if m.name != g.metric {
				continue
			}
			if got, ok := m.values[systems.Almanac]; ok && g.other == "" {
				r.AtMost(g.metric, got, g.want, m.format)
			} else if got, ok := m.better(g.other); ok && g.other != "" {
				r.AddGoal(g.metric+", beside "+g.other, "at least "+formatFactor(g.want), formatFactor(got), got >= g.want)
			}
		}
	}
}

// AddGoal adds a goal, and whether it was met.
func (r *Report) AddGoal(what, wanted, measured string, met bool) {
	verdict := "missed"
	if met {
		verdict = "met"
	}
	r.Goals = append(r.Goals, []string{what, wanted, measured, verdict})
}

// AtMost holds a figure against a limit.
func (r *Report) AtMost(what string, got, limit float64, format func(float64) string) {
	r.AddGoal(what, "at most "+format(limit), format(got), got <= limit)
}

// Within holds a duration against a limit, unless that is 0.
func (r *Report) Within(what string, got, limit time.Duration) {
	if limit > 0 {
		r.AtMost(what, InMilliseconds(got), InMilliseconds(limit), FormatMilliseconds)
	}
}

// InMilliseconds returns d in milliseconds.
func InMilliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// FormatDuration writes a duration as FormatMilliseconds does.
func FormatDuration(d time.Duration) string { return FormatMilliseconds(InMilliseconds(d)) }

// FormatMilliseconds writes milliseconds, as seconds from 1,000 on.
func FormatMilliseconds(ms float64) string {
	switch {
	case ms < 10:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 1000:
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.1f s", ms/1000)
}

// FormatTenth writes a number with one decimal.
func FormatTenth(v float64) string { return fmt.Sprintf("%.1f", v) }

// FormatCount writes a whole number such as 12,345.
func FormatCount(v float64) string { return message.NewPrinter(language.English).Sprintf("%.0f", v) }

// FormatMegabytes writes bytes as megabytes.
func FormatMegabytes(bytes float64) string { return fmt.Sprintf("%.0f MB", bytes/1e6) }

// FormatPercent writes a share of 1 in per cent.
func FormatPercent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

func formatFactor(f float64) string {
	if f < 10 {
		return fmt.Sprintf("%.2f ×", f)
	}
	return fmt.Sprintf("%.0f ×", f)
}

// CountOf writes how many of something there are.
func CountOf(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return FormatCount(float64(n)) + " " + what
}

// Cells returns p50, p99 and the maximum.
func (s Spread) Cells() []string {
	return []string{FormatDuration(s.P50), FormatDuration(s.P99), FormatDuration(s.Max)}
}

// Cells returns the lateness, and how many requests were early, twice or missing.
func (t Tick) Cells() []string {
	return append(t.Lateness.Cells(), fmt.Sprint(t.Early), fmt.Sprint(t.Twice), fmt.Sprint(t.Missing))
}

func (t Tick) String() string {
	c := t.Cells()
	return fmt.Sprintf("p50 %s, p99 %s, max %s, early %s, twice %s, missing %s", c[0], c[1], c[2], c[3], c[4], c[5])
}

// LogTicks logs each tick of a herd.
func (r *Report) LogTicks(herd string, ticks []Tick) {
	for i, t := range ticks {
		r.Progress.Printf("%s, tick %d: %s", herd, i+1, t)
	}
}
