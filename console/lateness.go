package console

import (
	"html/template"
	"time"

	"almanac/client"
)

// A latenessView is how late the executions of a job began.
type latenessView struct {
	Windows    []filterEntry
	Shown      bool
	Executions int
	Incomplete bool
	Read       string // of how many jobs it was read
	Numbers    []number
	Chart      template.HTML // "" for too few values
	Bars       []latenessBar
	Slowest    []slowRow
}

// A latenessBar is a bar of the histogram, as a row of its table.
type latenessBar struct {
	Text  string
	Count int
}

// A slowRow is one of the executions that began the latest.
type slowRow struct {
	At   *stamp
	Late string
	Why  string // what it waited for longest
	Link string
}

// latenessWindows are the windows in which the lateness is read.
var latenessWindows = []struct {
	value, text string
	length      time.Duration
}{{"P1D", "24 hours", 24 * time.Hour}, {"P7D", "7 days", 7 * 24 * time.Hour}, {"P30D", "30 days", 30 * 24 * time.Hour}}

// lateness reads how late the executions of a job began, in the window that the query names: it reads the history, which
// may take a while, so that the page does without unless it is asked for.
func (p *page) lateness(v *jobView, clock clock) (l latenessView, err error) {
	chosen := p.r.URL.Query().Get("lateness")
	window := time.Duration(0)
	for _, w := range latenessWindows {
		l.Windows = append(l.Windows, filterEntry{Text: w.text, Link: pageLink(p.Link(v.Path), "lateness", w.value) + "#lateness", Current: chosen == w.value})
		if chosen == w.value {
			window = w.length
		}
	}
	if window == 0 {
		return l, nil
	}
	found, err := p.api().JobLateness(p.ctx, v.Collection, v.Name, clock.Now.Add(-window).Truncate(time.Second), time.Time{})
	if err != nil {
		return l, err
	}
	q := &found.Properties
	l.Shown, l.Executions, l.Incomplete = true, q.Executions, !q.Complete
	l.Read = count(q.JobsRead) + " of " + plural(q.Jobs, "job", "jobs") + " read"
	if q.Executions == 0 {
		return l, nil
	}
	for _, n := range []struct {
		text    string
		seconds float64
	}{{"p50", q.Percentiles.Lateness.P50}, {"p90", q.Percentiles.Lateness.P90}, {"p99", q.Percentiles.Lateness.P99}, {"at most", q.Percentiles.Lateness.Max},
		{"waited for a worker, p99", q.Percentiles.Worker.P99}, {"waited for a place, p99", q.Percentiles.Place.P99}} {
		l.Numbers = append(l.Numbers, number{template.HTML("<b>" + escape(length(seconds(n.seconds))) + "</b>"), n.text, nil}) //nolint:gosec // escaped
	}
	l.histogram(q.Histogram, q.Executions)
	for _, s := range q.Slowest {
		row := slowRow{At: clock.at(s.ExpectedExecutionTime), Link: p.explainLink(v.Collection, v.Name, s.ExpectedExecutionTime)}
		if s.Split != nil {
			row.Late, row.Why = length(seconds(s.Split.Lateness)), longest(s.Split)
		}
		l.Slowest = append(l.Slowest, row)
	}
	return l, nil
}

// longest returns what an execution waited for longest.
func longest(s *client.Split) string {
	text, most := "", 0.0
	for _, part := range []struct {
		text    string
		seconds float64
	}{{"waited for a worker", s.Worker}, {"waited for Temporal", s.Server}, {"waited for a place", s.Place}, {"until it was sent", s.Send}} {
		if part.seconds > most {
			text, most = part.text, part.seconds
		}
	}
	return text
}

// least is the least number of values that a chart shows.
const least = 12

// histogram adds the bars, without those at both ends that are empty.
func (l *latenessView) histogram(bars []client.LatenessBar, executions int) {
	for len(bars) > 0 && bars[0].Count == 0 {
		bars = bars[1:]
	}
	for len(bars) > 0 && bars[len(bars)-1].Count == 0 {
		bars = bars[:len(bars)-1]
	}
	for _, b := range bars {
		text := "longer"
		if b.Below > 0 {
			text = "under " + length(seconds(b.Below))
		}
		l.Bars = append(l.Bars, latenessBar{text, b.Count})
	}
	if executions < least || len(bars) < 2 {
		return
	}
	const height, top = 110, 16
	most := 1
	for _, b := range bars {
		most = max(most, b.Count)
	}
	w := 100 / float64(len(bars))
	var out svg
	out.add(`<svg class="chart" height="%d" role="img" aria-label="How late %d executions began">`, height+18, executions)
	for i, b := range bars {
		x := float64(i) * w
		if b.Count > 0 {
			h := max(3, float64(height-top)*float64(b.Count)/float64(most))
			out.add(`<rect class="c-w" x="%s" y="%.1f" width="%s" height="%.1f"/>`, percent(x+w*.1), height-h, percent(w*.8), h)
			out.add(`<text class="strong" x="%s" y="%.1f" text-anchor="middle">%d</text>`, percent(x+w/2), height-h-4, b.Count)
		}
		class := ""
		if i%2 == 1 {
			class = ` class="lbl-w"`
		}
		text := "more"
		if b.Below > 0 {
			text = length(seconds(b.Below))
		}
		out.add(`<text%s x="%s" y="%d" text-anchor="middle">%s</text>`, class, percent(x+w/2), height+14, escape(text))
	}
	out.add(`<line class="rule" x1="0" x2="100%%" y1="%d.5" y2="%d.5"/></svg>`, height, height)
	l.Chart = out.html()
}
