package main

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"text/template"

	"almanac/bench/engines"
	"almanac/bench/systems"
)

//go:embed report.md.tmpl
var reportText string

var reportTemplate = template.Must(template.New("report").Parse(reportText))

// markdown returns the report: the tables of what was measured, and what they mean.
func (r *results) markdown(m machine, o options) (string, error) {
	var b strings.Builder
	err := reportTemplate.Execute(&b, map[string]any{
		"Machine": m, "Sustained": len(r.sustained) > 0, "Sustain": o.sustain.String(), "Jobs": sustainedJobs,
		// Tables; empty: not measured.
		"FirstTick": r.firstTickTable(), "Systems": r.systemTable(), "Ticks": r.tickTable(), "Calls": r.callTable(),
		"Isolation": r.isolationTable(), "Sleep": r.sleepTable(), "Engines": r.engineTable(), "Goals": r.goalTable(),
	})
	return b.String(), err
}

// firstTickTable shows the first tick of each scenario, and the worst of those after it.
func (r *results) firstTickTable() table {
	t := table{{"jobs due in one second", "", "created/s", "p50", "p99", "max", "early", "twice", "missing"}}
	for _, s := range r.scenarios {
		name := countOf(s.jobs, "job") + " " + s.label
		t.add([]string{name, "first tick", formatTenth(s.perSecond)}, s.ticks[0].cells())
		if more := len(s.ticks) - 1; more > 0 {
			t.add([]string{name, fmt.Sprintf("worst of %d more", more), ""}, worst(s.ticks[1:]).cells())
		}
	}
	return t
}

// systemTable compares the systems.
func (r *results) systemTable() table {
	t := table{{"", systems.Almanac, systems.Loop, systems.Schedules, "better than the loop", "better than Schedules"}}
	cell := func(format func(float64) string, value float64, ok bool) string {
		if !ok {
			return "–"
		}
		return format(value)
	}
	for _, m := range r.metrics() {
		row := []string{m.name}
		for _, system := range []string{systems.Almanac, systems.Loop, systems.Schedules} {
			value, ok := m.values[system]
			row = append(row, cell(m.format, value, ok))
		}
		for _, other := range []string{systems.Loop, systems.Schedules} {
			factor, ok := m.better(other)
			row = append(row, cell(formatFactor, factor, ok))
		}
		t.add(row)
	}
	return t
}

// tickTable shows every tick, those that warm up too.
func (r *results) tickTable() table {
	t := table{{"system", "jobs", "tick", "p50", "p99", "max", "early", "twice", "missing"}}
	for _, h := range r.herds {
		for i, k := range slices.Concat(h.warmUp, h.ticks) {
			number := fmt.Sprint(i + 1)
			if i < len(h.warmUp) {
				number += ", warm-up"
			}
			t.add([]string{h.system, formatCount(float64(h.jobs)), number}, k.cells())
		}
	}
	return t
}

func (r *results) callTable() table {
	t := table{{"", "p50", "p99"}}
	for _, c := range r.calls {
		t.add([]string{c.name, formatDuration(c.p50), formatDuration(c.p99)})
	}
	return t
}

// isolationTable shows each kind of call in each stage.
func (r *results) isolationTable() table {
	t := table{{"call", "stage", "calls", "p50", "p99", "max", "not 2xx"}}
	if r.isolation != nil {
		for _, c := range r.isolation.calls {
			t.add([]string{c.name, c.stage, fmt.Sprint(c.took.n)}, c.took.cells(), []string{fmt.Sprint(c.failed)})
		}
	}
	return t
}

func (r *results) sleepTable() table {
	s := r.sleep
	if s == nil {
		return nil
	}
	return table{
		{countOf(s.jobs, "sleeping job"), ""},
		{"created a second", formatTenth(s.perSecond)},
		{"CPU at rest", formatPercent(s.idleCPU) + " of a core"},
		{"memory once they were created", formatMegabytes(float64(s.created))},
		{"memory at rest", formatMegabytes(float64(s.resident))},
		{"memory after a restart", formatMegabytes(float64(s.restarted))},
		{"files", formatMegabytes(float64(s.disk))},
		{"from a restart after kill -9 until the API answers", formatDuration(s.ready)},
		{"from that restart to the first overdue execution", formatDuration(s.first)},
	}
}

// engineTable has a row for each question, and a column for each engine.
func (r *results) engineTable() table {
	names := []string{engines.Almanac, engines.Cron, engines.RRule}
	t := table{append([]string{"schedule", "asked"}, names...)}
	for _, e := range r.engines {
		if last := t[len(t)-1]; last[0] != e.Schedule || last[1] != e.Distance {
			t.add([]string{e.Schedule, e.Distance, "–", "–", "–"})
		}
		t[len(t)-1][2+slices.Index(names, e.Engine)] = fmt.Sprintf("%s ns, %d allocs", formatCount(e.Nanoseconds), e.Allocs)
	}
	return t
}

func (r *results) goalTable() table {
	t := table{{"goal", "wanted", "measured", ""}}
	for _, g := range r.goals() {
		verdict := "missed"
		if g.met {
			verdict = "met"
		}
		t.add([]string{g.what, g.wanted, g.measured, verdict})
	}
	return t
}

func (s spread) cells() []string {
	return []string{formatDuration(s.p50), formatDuration(s.p99), formatDuration(s.max)}
}

func (t tick) cells() []string {
	return append(t.lateness.cells(), fmt.Sprint(t.early), fmt.Sprint(t.twice), fmt.Sprint(t.missing))
}

// A table is rows of cells; the first row is the head.
type table [][]string

// add adds a row of several groups of cells.
func (t *table) add(cells ...[]string) { *t = append(*t, slices.Concat(cells...)) }

// String returns the table in Markdown, with the columns aligned for those who read it as text, or ""
// if it has no rows but the head. Markdown shows all columns but the first flush right.
func (t table) String() string {
	if len(t) < 2 {
		return ""
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 1, ' ', 0)
	for i, row := range t {
		fmt.Fprintln(w, "| "+strings.Join(row, "\t| ")+"\t|")
		if i == 0 {
			fmt.Fprintln(w, "|---"+strings.Repeat("\t|--:", len(row)-1)+"\t|")
		}
	}
	_ = w.Flush() // writing to a builder never fails
	return b.String()
}
