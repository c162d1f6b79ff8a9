package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// A plot shows ranges of durations on a logarithmic scale, in groups beside
// each other.
type plot struct {
	title  string
	series []string // at most as many as there are colours
	groups []plotGroup
}

// A plotGroup holds one range of each series, or nil.
type plotGroup struct {
	label  string
	ranges []*plotRange
}

// A plotRange goes from one duration in milliseconds to another.
type plotRange struct{ from, to float64 }

// plot shows the lateness of all herds: from p50 to p99.
func (r *results) plot() plot {
	p := plot{title: "Lateness from p50 to p99, by the number of jobs due in the same second", series: []string{nameAlmanac, nameLoop, nameSchedules}}
	for _, n := range r.sizes() {
		g := plotGroup{label: countOf(n, "job")}
		for _, system := range p.series {
			from, ok := r.latenessP50(n).of(system)
			to, _ := r.latenessP99(n).of(system)
			if !ok {
				g.ranges = append(g.ranges, nil)
				continue
			}
			g.ranges = append(g.ranges, &plotRange{from, to})
		}
		p.groups = append(p.groups, g)
	}
	return p
}

// Geometry, in pixels.
const (
	plotWidth, plotHeight   = 800, 440
	plotLeft, plotRight     = 70, 20
	plotTop, plotBottom     = 80, 50
	plotBar                 = 16 // width of a range
	plotGap                 = 46 // between the ranges of a group
	plotLegend, plotLegendY = 150, 52
)

// Colours that people with any colour vision can tell apart (Okabe and Ito).
var plotColours = []string{"#0072b2", "#e69f00", "#d55e00"}

// svg draws the plot.
func (p plot) svg() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" font-family="system-ui, sans-serif" font-size="13" fill="#333" role="img">
<title>%[3]s</title>
<rect width="100%%" height="100%%" fill="#fff"/>
<text x="%[4]d" y="28" font-size="16" font-weight="600">%[3]s</text>
`, plotWidth, plotHeight, html.EscapeString(p.title), plotLeft)
	for i, name := range p.series {
		x := plotLeft + i*plotLegend
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="12" height="12" rx="3" fill="%s"/><text x="%d" y="%d">%s</text>`+"\n",
			x, plotLegendY-11, plotColours[i], x+18, plotLegendY, html.EscapeString(name))
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" font-size="11" text-anchor="end">figures: p99; logarithmic scale</text>`+"\n", plotWidth-plotRight, plotLegendY)
	scale := p.scale()
	scale.draw(&b)
	width := float64(plotWidth-plotLeft-plotRight) / float64(max(len(p.groups), 1))
	for i, g := range p.groups {
		p.drawGroup(&b, g, scale, plotLeft+width*(float64(i)+0.5))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// drawGroup draws the ranges of a group around x, each with its upper end in
// words.
func (p plot) drawGroup(b *strings.Builder, g plotGroup, scale logScale, x float64) {
	fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", x, plotHeight-plotBottom+26, html.EscapeString(g.label))
	for i, r := range g.ranges {
		if r == nil {
			continue
		}
		middle := x + (float64(i)-float64(len(p.series)-1)/2)*plotGap
		top, bottom := scale.y(r.to), scale.y(r.from)
		const least = 4 // so that a short range can be seen
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%d" height="%.1f" rx="3" fill="%s"><title>%s, %s: p50 %s, p99 %s</title></rect>`+"\n",
			middle-plotBar/2, top, plotBar, max(bottom-top, least), plotColours[i],
			html.EscapeString(p.series[i]), html.EscapeString(g.label), formatMilliseconds(r.from), formatMilliseconds(r.to))
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" font-size="11" text-anchor="middle">%s</text>`+"\n", middle, top-5, formatMilliseconds(r.to))
	}
}

// A logScale maps milliseconds to pixels: powers of ten are equally far apart.
type logScale struct{ low, high int } // exponents of ten

// scale returns the whole decades that hold all ranges.
func (p plot) scale() logScale {
	low, high := math.Inf(1), math.Inf(-1)
	for _, g := range p.groups {
		for _, r := range g.ranges {
			if r != nil {
				low, high = min(low, exponent(r.from)), max(high, exponent(r.to))
			}
		}
	}
	if low > high { // there is nothing to show
		low, high = 0, 1
	}
	s := logScale{int(math.Floor(low)), int(math.Ceil(high))}
	s.high = max(s.high, s.low+1)
	return s
}

// exponent returns the logarithm of milliseconds to the base of ten; what is
// shorter than a tenth of a millisecond, or early, is shown as that.
func exponent(ms float64) float64 { return math.Log10(max(ms, 0.1)) }

func (s logScale) y(ms float64) float64 {
	share := (exponent(ms) - float64(s.low)) / float64(s.high-s.low)
	return plotHeight - plotBottom - share*(plotHeight-plotBottom-plotTop)
}

func (s logScale) draw(b *strings.Builder) {
	for e := s.low; e <= s.high; e++ {
		ms := math.Pow10(e)
		label := fmt.Sprintf("%g ms", ms)
		if e >= 3 {
			label = fmt.Sprintf("%g s", ms/1000)
		}
		fmt.Fprintf(b, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
			plotLeft, plotWidth-plotRight, s.y(ms), s.y(ms), plotLeft-8, s.y(ms)+4, label)
	}
}
