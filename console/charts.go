package console

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"
)

// An svg is made of texts that a chart writes itself; what comes from elsewhere is escaped by escape.
type svg struct{ strings.Builder }

func (s *svg) add(format string, values ...any) { fmt.Fprintf(&s.Builder, format, values...) }

func (s *svg) html() template.HTML { return template.HTML(s.String()) } //nolint:gosec // see svg

func escape(text string) string { return template.HTMLEscapeString(text) }

// percent returns a position in per cent, which keeps the size of text at every width.
func percent(v float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', 3, 64), "0"), ".") + "%"
}

// outcomes are the words of a bar, in the order in which they are counted.
var outcomes = []struct {
	sign rune
	word string
}{
	{'s', "succeeded"}, {'a', "assumed to have succeeded"}, {'r', "succeeded after a retry"}, {'f', "failed"}, {'m', "missed"}, {'k', "skipped"}, {'c', "cancelled"}, {'u', "running"},
}

// bars shows the last n outcomes, the newest at the right: shape before colour. The signs are s, a, r, f, m, k, c and u.
func bars(pattern string, n int, what string) template.HTML {
	if len(pattern) > n {
		pattern = pattern[len(pattern)-n:]
	}
	var classes []string
	paths := map[string]*svg{}
	add := func(class, format string, values ...any) {
		if paths[class] == nil {
			paths[class] = new(svg)
			classes = append(classes, class)
		}
		paths[class].add(format, values...)
	}
	for i := range n {
		x, sign := i*5, byte('.')
		if at := i - (n - len(pattern)); at >= 0 {
			sign = pattern[at]
		}
		bar(add, x, sign)
	}
	var out svg
	out.add(`<svg viewBox="0 0 %d 16" width="%d" height="16" role="img" aria-label="%s">`, n*5-1, n*5-1, escape(barsLabel(pattern, what)))
	for _, class := range classes {
		out.add(`<path class="%s" d="%s"/>`, class, paths[class])
	}
	out.add(`</svg>`)
	return out.html()
}

// bar adds one bar.
func bar(add func(class, format string, values ...any), x int, sign byte) {
	hollow := strconv.FormatFloat(float64(x)+.625, 'f', -1, 64)
	switch sign {
	case 's':
		add("b-ok", "M%d 6h4v10h-4z", x)
	case 'a':
		add("b-maybe", "M%s 6.625h2.75v8.75h-2.75z", hollow)
	case 'r':
		add("b-ok", "M%d 10h4v6h-4z", x)
		add("b-again", "M%d 4h4v4h-4z", x)
	case 'f':
		add("b-fail", "M%d 0h4v16h-4z", x)
	case 'm':
		add("b-miss", "M%s 6.625h2.75v8.75h-2.75z", hollow)
	case 'k', 'c':
		add("b-skip", "M%d 13h4v3h-4z", x)
	case 'u':
		add("b-run", "M%s 6.625h2.75v8.75h-2.75zM%d 9v4", hollow, x+2)
	default:
		add("b-none", "M%d 15h4v1h-4z", x)
	}
}

func barsLabel(pattern, what string) string {
	var parts []string
	for _, o := range outcomes {
		if n := strings.Count(pattern, string(o.sign)); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, o.word))
		}
	}
	if len(parts) == 0 {
		return "No run yet"
	}
	return fmt.Sprintf("%s %d: %s", what, len(pattern), strings.Join(parts, ", "))
}

// A barSign is a bar and what it stands for.
type barSign struct {
	Chart template.HTML
	Text  string
}

// barKey returns what the bars of lists stand for.
func barKey() (all []barSign) {
	for _, o := range outcomes {
		if o.sign != 'r' && o.sign != 'u' {
			all = append(all, barSign{bars(string(o.sign), 1, ""), o.word})
		}
	}
	return all
}

// heights are those of the levels of a heat chart, in pixels.
var heights = []int{1, 6, 11, 16, 22, 28}

// level returns the tone of a number of occurrences.
func level(n int) int {
	level := 0
	for i, least := range []int{0, 1, 5, 15, 40, 100} {
		if n >= least {
			level = i
		}
	}
	return level
}

// A heatPiece is ten minutes of a heat chart.
type heatPiece struct {
	Chart template.HTML
	Text  string // when it begins
	Total int
}

// heat shows how many occurrences are due, in cells of ten seconds and pieces of ten minutes. The cells before now are
// not counted. Tone and height say the same thing.
func heat(cells []int, start time.Time, past int) (pieces []heatPiece) {
	const perPiece = 60
	for from := 0; from < len(cells); from += perPiece {
		to := min(from+perPiece, len(cells))
		begin := start.Add(time.Duration(from) * 10 * time.Second)
		paths, total, most := map[string]*svg{}, 0, 0
		for i := max(from, past); i < to; i++ {
			l := level(cells[i])
			class := fmt.Sprintf("q%d", l)
			if paths[class] == nil {
				paths[class] = new(svg)
			}
			paths[class].add("M%d %dh.86v%dh-.86z", i-from, 28-heights[l], heights[l])
			total, most = total+cells[i], max(most, cells[i])
		}
		var out svg
		out.add(`<svg viewBox="0 0 60 28" preserveAspectRatio="none" role="img" aria-label="%s to %s: %d due, at most %d within 10 s">`,
			begin.Format("15:04"), begin.Add(10*time.Minute).Format("15:04"), total, most)
		for l := range heights {
			if path := paths[fmt.Sprintf("q%d", l)]; path != nil {
				out.add(`<path class="q%d" d="%s"/>`, l, path)
			}
		}
		if past >= from && past < to {
			out.add(`<path class="now" d="M%d 0v28" stroke="currentColor" stroke-width=".25"/>`, past-from)
		}
		out.add(`</svg>`)
		pieces = append(pieces, heatPiece{out.html(), begin.Format("15:04"), total})
	}
	return pieces
}

// heatKey returns what the tones of a heat chart stand for.
func heatKey() (key []heatPiece) {
	for l, text := range []string{"none", "1", "5", "15", "40", "100 or more"} {
		var out svg
		out.add(`<svg viewBox="0 0 12 28" preserveAspectRatio="none" aria-hidden="true"><path class="q%d" d="M0 %dh12v%dh-12z"/></svg>`, l, 28-heights[l], heights[l])
		key = append(key, heatPiece{Chart: out.html(), Text: text})
	}
	return key
}

// A month is a calendar of a month.
type month struct {
	Caption string
	Weeks   [][]calDay
	Clocks  bool // the clock changes on one of its days
}

// A calDay is a day of a calendar. Its Number is 0 before the first and after the last.
type calDay struct {
	Number int
	Class  string
	Lines  []calLine
	Change bool   // the clock changes
	Title  string // what calendars move or skip; "" for nothing
}

// A calLine is a line in a day.
type calLine struct {
	Mark, Label, Text string
}

// calendar returns the month of a time, with what its days have. The clock of own changes on the days that say so.
func calendar(of time.Time, today time.Time, days map[int]*calDay, own *time.Location) month {
	first := time.Date(of.Year(), of.Month(), 1, 12, 0, 0, 0, of.Location())
	m := month{Caption: first.Format("January 2006")}
	before := (int(first.Weekday()) + 6) % 7 // a week begins on Monday
	week := make([]calDay, before, 7)
	for t := first; t.Month() == first.Month(); t = t.AddDate(0, 0, 1) {
		d := calDay{}
		if known := days[t.Day()]; known != nil {
			d = *known
		}
		d.Number = t.Day()
		if t.Format(time.DateOnly) == today.Format(time.DateOnly) {
			d.Class = strings.TrimSpace(d.Class + " today")
		}
		if clockChanges(t.Year(), t.Month(), t.Day(), own) {
			d.Class, d.Change, m.Clocks = strings.TrimSpace(d.Class+" dst"), true, true
		}
		if week = append(week, d); len(week) == 7 {
			m.Weeks, week = append(m.Weeks, week), nil
		}
	}
	if len(week) > 0 {
		m.Weeks = append(m.Weeks, append(week, make([]calDay, 7-len(week))...))
	}
	return m
}
