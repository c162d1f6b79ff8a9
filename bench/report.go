package main

import (
	_ "embed"
	"fmt"
	"strings"
	"text/template"
	"unicode/utf8"

	"almanac/bench/engines"
)

//go:embed report.md.tmpl
var reportText string

var reportTemplate = template.Must(template.New("report").Parse(reportText))

// markdown returns the report: the tables of what was measured, and what they mean.
func (r *results) markdown() (string, error) {
	var b strings.Builder
	err := reportTemplate.Execute(&b, struct {
		Machine     machine
		Command     string
		Synchronous string
		Plot        string // empty: there is nothing to show

		Scenes, Summary, Ticks, Calls, Isolation, Sleep, Engines, Goals string // tables; empty: not measured
		Sustained                                                       bool
		Sustain                                                         string // a round
		Jobs                                                            int    // of them
	}{
		r.machine, r.command, r.options.synchronous, r.plotName(),
		r.sceneTable(), r.summary(), r.tickTable(), r.callTable(), r.isolationTable(), r.sleepTable(), r.engineTable(), r.goalTable(),
		len(r.sustained) > 0, r.options.sustain.String(), sustainedJobs,
	})
	return b.String(), err
}

func (r *results) plotName() string {
	if len(r.herds) == 0 {
		return ""
	}
	return plotFile
}

// summary compares the systems.
func (r *results) summary() string {
	t := table{{"", nameAlmanac, nameLoop, nameSchedules, "better than the loop", "better than Schedules"}}
	for _, m := range r.metrics() {
		row := []string{m.name}
		for _, system := range []string{nameAlmanac, nameLoop, nameSchedules} {
			row = append(row, cell(m.format)(m.of(system)))
		}
		for _, other := range []string{nameLoop, nameSchedules} {
			row = append(row, cell(formatFactor)(m.better(nameAlmanac, other)))
		}
		t = append(t, row)
	}
	return t.String()
}

// cell formats a figure, if there is one.
func cell(format func(float64) string) func(float64, bool) string {
	return func(value float64, ok bool) string {
		if !ok {
			return "–"
		}
		return format(value)
	}
}

func formatFactor(f float64) string {
	if f < 10 {
		return fmt.Sprintf("%.2f ×", f)
	}
	return fmt.Sprintf("%.0f ×", f)
}

// tickTable shows every tick, those that settled too.
func (r *results) tickTable() string {
	t := table{{"system", "jobs", "tick", "p50", "p99", "max", "early", "twice", "missing"}}
	for _, h := range r.herds {
		for i, k := range h.ticks {
			number := fmt.Sprint(i + 1)
			if k.settling {
				number += ", settling"
			}
			t = append(t, []string{
				h.system, formatCount(float64(h.jobs)), number, formatMilliseconds(milliseconds(k.lateness.p50)),
				formatMilliseconds(milliseconds(k.lateness.p99)), formatMilliseconds(milliseconds(k.lateness.max)),
				formatCount(float64(k.early)), formatCount(float64(k.duplicates)), formatCount(float64(k.missing)),
			})
		}
	}
	return t.String()
}

func (r *results) callTable() string {
	t := table{{"", "p50", "p99"}}
	for _, c := range r.calls {
		t = append(t, []string{c.name, formatMilliseconds(milliseconds(c.p50)), formatMilliseconds(milliseconds(c.p99))})
	}
	return t.String()
}

func (r *results) sleepTable() string {
	s := r.sleep
	if s == nil {
		return ""
	}
	return table{
		{countOf(s.jobs, "sleeping job"), ""},
		{"created a second", formatTenth(s.perSecond)},
		{"CPU at rest", formatPercent(s.idleCPU) + " of a core"},
		{"memory once they were created", formatMegabytes(float64(s.created))},
		{"memory at rest", formatMegabytes(float64(s.resident))},
		{"memory after a restart", formatMegabytes(float64(s.restarted))},
		{"files", formatMegabytes(float64(s.disk))},
		{"from a restart after kill -9 until the API answers", formatMilliseconds(milliseconds(s.ready))},
		{"from that restart to the first overdue execution", formatMilliseconds(milliseconds(s.first))},
	}.String()
}

// engineTable has one line for each question, and one column for each engine.
func (r *results) engineTable() string {
	names := []string{engines.Almanac, engines.Cron, engines.RRule}
	t := table{append([]string{"schedule", "asked"}, names...)}
	rows := map[string][]string{}
	for _, e := range r.engines {
		key := e.Schedule + "\n" + e.Distance
		row, ok := rows[key]
		if !ok {
			row = []string{e.Schedule, e.Distance, "–", "–", "–"}
			rows[key] = row
			t = append(t, row)
		}
		for i, name := range names {
			if name == e.Engine {
				row[2+i] = fmt.Sprintf("%s ns, %d allocs", formatCount(e.Nanoseconds), e.Allocs)
			}
		}
	}
	return t.String()
}

func (r *results) goalTable() string {
	t := table{{"goal", "wanted", "measured", ""}}
	for _, g := range r.goals() {
		verdict := "missed"
		if g.met {
			verdict = "met"
		}
		t = append(t, []string{g.what, g.want, g.got, verdict})
	}
	return t.String()
}

// A table is rows of cells; the first row is the head.
type table [][]string

// String returns the table in Markdown, with its columns aligned for those who
// read it as text, or "" if it has no rows but the head. Columns of figures,
// which are all but the first, are flush right.
func (t table) String() string {
	if len(t) < 2 {
		return ""
	}
	widths := make([]int, len(t[0]))
	for _, row := range t {
		for i, text := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(text), 2)
		}
	}
	var b strings.Builder
	for n, row := range t {
		for i, text := range row {
			blanks := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
			if i == 0 {
				b.WriteString("| " + text + blanks)
			} else {
				b.WriteString(" | " + blanks + text)
			}
		}
		b.WriteString(" |\n")
		if n == 0 {
			for i, w := range widths {
				if i == 0 {
					b.WriteString("|" + strings.Repeat("-", w+2))
				} else {
					b.WriteString("|" + strings.Repeat("-", w+1) + ":")
				}
			}
			b.WriteString("|\n")
		}
	}
	return b.String()
}
