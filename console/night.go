package console

import (
	"fmt"
	"html/template"
	"regexp"
	"time"
)

// mostCells is how many bars a chart of a night has at most.
const mostCells = 72

// steps are the widths of a bar, and their words.
var steps = []struct {
	length time.Duration
	text   string
}{
	{10 * time.Second, "10 seconds"}, {30 * time.Second, "30 seconds"}, {time.Minute, "a minute"}, {2 * time.Minute, "2 minutes"}, {5 * time.Minute, "5 minutes"},
	{10 * time.Minute, "10 minutes"}, {15 * time.Minute, "15 minutes"}, {30 * time.Minute, "30 minutes"}, {time.Hour, "an hour"}, {3 * time.Hour, "3 hours"},
}

// A nightCell is a bar of the chart: above the line what ran, below it what failed or did not run.
type nightCell struct{ ran, late, failed, missed int }

// night adds the chart, its lanes, and the table behind it. Executions stand where they began, all else where it was due.
func (f *incident) night(v *incidentView, all []*dueEntry) {
	if len(all) == 0 {
		return
	}
	step := steps[len(steps)-1]
	for _, s := range steps {
		if f.to.Sub(f.from) <= mostCells*s.length {
			step = s
			break
		}
	}
	v.Step = step.text
	cells := make([]nightCell, int((f.to.Sub(f.from)+step.length-1)/step.length))
	rows := make([]nightRow, len(cells)+1) // the last one is what began after the window
	for _, d := range all {
		at := d.began
		if mark := d.part(); mark != "ok" && mark != "fail" && mark != "run" {
			at = d.due
		}
		i := min(max(0, int(at.Sub(f.from)/step.length)), len(cells))
		rows[i].add(d)
		if i < len(cells) {
			cells[i].add(d)
		}
	}
	zone := f.page.Clock.Now.Location()
	form, days := "15:04", f.from.In(zone).Format(time.DateOnly) != f.to.In(zone).Format(time.DateOnly)
	if step.length < time.Minute {
		form = "15:04:05"
	}
	if f.from.In(zone).Format("-07") != f.to.In(zone).Format("-07") {
		form += " MST"
	}
	if days {
		form = "Mon 2 Jan " + form
	}
	for i := range rows {
		at := f.from.Add(time.Duration(i) * step.length).In(zone)
		rows[i].From = at.Format(form)
		if i == len(cells) {
			rows[i].From = "later"
		}
		if rows[i] != (nightRow{From: rows[i].From}) {
			v.Cells = append(v.Cells, rows[i])
		}
	}
	bands := f.bands()
	v.Bands = len(bands) > 0
	v.Night = nightChart(cells, f.ticks(len(cells), step.length), bands, fmt.Sprintf("Occurrences by %s: %s", step.text, f.page.Clock.heading(f.from, f.to)))
	f.lanes(v, all)
}

func (c *nightCell) add(d *dueEntry) {
	switch d.part() {
	case "fail":
		c.failed++
	case "ok", "run":
		if d.isLate() {
			c.late++
		} else {
			c.ran++
		}
	default:
		c.missed++
	}
}

func (r *nightRow) add(d *dueEntry) {
	switch d.part() {
	case "ok":
		r.Ran++
		if d.isLate() {
			r.Late++
		}
	case "fail":
		r.Failed++
	case "miss":
		r.Missed++
	case "run":
		r.Other++
	default:
		r.Skipped++
	}
}

// A band is a part of a chart, in per cent of its width.
type band struct{ from, to float64 }

func (f *incident) place(at time.Time) float64 {
	return min(100, max(0, 100*at.Sub(f.from).Seconds()/f.to.Sub(f.from).Seconds()))
}

// absence matches how the API says that no worker was there.
var absence = regexp.MustCompile(`^No worker checked in between (\S+) and (\S+?),? `)

// bands are the times without a worker.
func (f *incident) bands() (all []band) {
	for _, w := range f.workers {
		from, to := w.gone, w.back
		if !from.IsZero() && from.Before(to) && from.Before(f.to) && to.After(f.from) {
			all = append(all, band{f.place(from), f.place(to)})
		}
	}
	return all
}

// A tick is a time below a chart.
type tick struct {
	at   float64
	text string
	wide bool // only where there is room
}

func (f *incident) ticks(cells int, step time.Duration) (all []tick) {
	every := max(1, (cells+6)/7)
	form := "15:04"
	switch {
	case f.to.Sub(f.from) > 48*time.Hour:
		form = "2 Jan"
	case step < time.Minute:
		form = "15:04:05"
	}
	for i := 0; i <= cells; i += every {
		at := f.from.Add(time.Duration(i) * step)
		if at.After(f.to) {
			break
		}
		all = append(all, tick{f.place(at), at.In(f.page.Clock.Now.Location()).Format(form), len(all)%2 == 1})
	}
	return all
}

// nightChart shows what ran above a line, and below it, on a scale of its own, what did not. A bar that would dwarf the
// others is cut, and has its number.
func nightChart(cells []nightCell, ticks []tick, bands []band, title string) template.HTML {
	const height, base = 104, 64.5
	most, mostBelow := barLimit(cells), 1
	for _, c := range cells {
		mostBelow = max(mostBelow, c.failed+c.missed)
	}
	w := 100 / float64(len(cells))
	var out svg
	out.add(`<svg class="chart" height="%d" role="img" aria-label="%s">`, height+18, escape(title))
	for _, b := range bands {
		out.add(`<rect class="c-band" x="%s" y="0" width="%s" height="%d"/>`, percent(b.from), percent(b.to-b.from), height)
	}
	for i, c := range cells {
		x, width := float64(i)*w+w*.1, percent(w*.8)
		bar := func(class string, y, h float64) {
			out.add(`<rect class="%s" x="%s" y="%.1f" width="%s" height="%.1f"/>`, class, percent(x), y, width, h)
		}
		ran, late := float64(c.ran)/float64(most), float64(c.late)/float64(most)
		if whole := ran + late; whole > 1 {
			ran, late = ran/whole, late/whole
			out.add(`<text x="%s" y="9" dx="-3" text-anchor="end">%s ran</text>`, percent(x), count(c.ran+c.late))
		}
		if ran *= base; c.ran > 0 {
			bar("c-ran", base-ran, ran)
		}
		if late *= base; c.late > 0 {
			bar("c-late", base-ran-late, max(late, 1))
		}
		failed, missed := (height-base)*float64(c.failed)/float64(mostBelow), (height-base)*float64(c.missed)/float64(mostBelow)
		if c.failed > 0 {
			bar("c-fail", base+1, max(failed, 2))
		}
		if c.missed > 0 {
			bar("c-miss-f", base+1+failed, max(missed, 2))
		}
	}
	out.add(`<line class="rule" x1="0" x2="100%%" y1="%.1f" y2="%.1f"/>`, base+.5, base+.5)
	for _, t := range ticks {
		class, anchor := "", "middle"
		if t.wide {
			class = ` class="lbl-w"`
		}
		if t.at < 2 {
			anchor = "start"
		} else if t.at > 98 {
			anchor = "end"
		}
		out.add(`<g%s><line class="rule" x1="%[2]s" x2="%[2]s" y1="%.1[3]f" y2="%.1[4]f"/><text x="%[2]s" y="%[5]d" text-anchor="%[6]s">%[7]s</text></g>`,
			class, percent(t.at), base-2, base+3, height+13, anchor, escape(t.text))
	}
	out.add(`</svg>`)
	return out.html()
}

// barLimit returns the number from which on a bar is cut: no more than three times what nine of ten bars have.
func barLimit(cells []nightCell) int {
	counts := make([]time.Duration, 0, len(cells))
	most := 1
	for _, c := range cells {
		if n := c.ran + c.late; n > 0 {
			counts, most = append(counts, time.Duration(n)), max(most, n)
		}
	}
	if len(counts) == 0 {
		return most
	}
	return min(most, max(1, 3*int(quantile(counts, .9))))
}

// lanes adds when each host failed, and when something was changed or an alert was sent.
func (f *incident) lanes(v *incidentView, all []*dueEntry) {
	spans, order := map[string][]*dueEntry{}, []string{}
	for _, d := range all {
		if d.part() != "fail" || d.said.Host == "" || d.began.After(f.to) {
			continue
		}
		if spans[d.said.Host] == nil {
			order = append(order, d.said.Host)
		}
		spans[d.said.Host] = append(spans[d.said.Host], d)
	}
	const mostLanes = 5
	for _, host := range order[:min(len(order), mostLanes)] {
		of := spans[host]
		var out svg
		out.add(`<svg class="chart" height="14" role="img" aria-label="%s: %s failed">`, escape(host), plural(len(of), "execution", "executions"))
		last := -1.
		for _, d := range of {
			if at := min(99.5, f.place(d.began)); at-last >= .25 || last < 0 {
				last = at
				out.add(`<rect class="c-fail" x="%s" y="3" width=".5%%" height="8"/>`, percent(at))
			}
		}
		out.add(`</svg>`)
		v.Lanes = append(v.Lanes, lane{host, out.html()})
	}
	if len(f.changes)+len(f.alerts) == 0 {
		return
	}
	var out svg
	out.add(`<svg class="chart" height="14" role="img" aria-label="%s, %s">`, plural(len(f.changes), "change", "changes"), plural(len(f.alerts), "alert", "alerts"))
	there := map[string]bool{} // one sign for each 0.5 % of the width
	sign := func(at time.Time, mark string) {
		key := mark + itoa(int(2*f.place(at)))
		if there[key] {
			return
		}
		there[key] = true
		out.add(`<svg x="%s" y="2" width="10" height="10" class="m-%[2]s" overflow="visible"><use href="#m-%[2]s" width="10" height="10" x="-5"/></svg>`, percent(f.place(at)), mark)
	}
	for _, c := range f.changes {
		sign(c.at, "edit")
	}
	for _, a := range f.alerts {
		sign(a.at, "warn")
	}
	out.add(`</svg>`)
	v.Lanes = append(v.Lanes, lane{"changes and alerts", out.html()})
}
