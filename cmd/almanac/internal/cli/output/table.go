package output

import (
	"bufio"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// A Mark says how a cell is meant.
type Mark string

// The marks.
const (
	Plain Mark = ""
	Good  Mark = "32" // the parameters of ECMA-48's SGR
	Warn  Mark = "33"
	Bad   Mark = "31"
	Faint Mark = "2"
	Bold  Mark = "1"
)

// A Cell is a text in a table.
type Cell struct {
	Text string
	Mark Mark
}

// A Column shows something of a T.
type Column[T any] struct {
	Head string
	Of   func(T) Cell

	Wide   bool // only in wide tables
	Shrink bool // it may be cut where a line is longer than the terminal is wide
	Right  bool // numbers
}

// A View says how things are shown.
type View[T any] struct {
	Columns []Column[T]
	Name    func(T) string
}

// List prints things: a table, a list in JSON or YAML, or a name for each.
func List[T any](p *Printer, v View[T], things []T) error {
	switch {
	case p.Format.ForPeople():
		return table(p, v, things)
	case p.Format.kind == "name":
		for _, one := range things {
			if err := p.Value(one, v.Name(one)); err != nil {
				return err
			}
		}
		return nil
	case things == nil:
		things = []T{}
	}
	return p.Value(things, "")
}

// One prints a thing: a table with a line, or its JSON or YAML.
func One[T any](p *Printer, v View[T], thing T) error {
	if p.Format.ForPeople() {
		return table(p, v, []T{thing})
	}
	return p.Value(thing, v.Name(thing))
}

// A Pair is a line of what is shown of one thing.
type Pair struct {
	Head string
	Cell
}

// Pairs prints what is known of a thing, a line each, without those that are empty. Texts of several lines are indented.
func (p *Printer) Pairs(pairs []Pair) error {
	widest := 0
	for _, one := range pairs {
		if one.Text != "" {
			widest = max(widest, displayWidth(one.Head))
		}
	}
	w := bufio.NewWriter(p.Out)
	for _, one := range pairs {
		if one.Text == "" {
			continue
		}
		lines := strings.Split(strings.TrimRight(Clean(one.Text), "\n"), "\n")
		_, _ = w.WriteString(p.Paint(padded(one.Head, widest, false), Faint))
		for i, line := range lines {
			if i > 0 {
				_, _ = w.WriteString(strings.Repeat(" ", widest))
			}
			_, _ = w.WriteString("  " + p.Paint(line, one.Mark) + "\n")
		}
	}
	return w.Flush()
}

// Paint returns a clean text with the colour of a mark, if there are colours.
func (p *Printer) Paint(text string, m Mark) string {
	if !p.Colour || m == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(m) + "m" + text + "\x1b[0m"
}

// table prints a line for each thing, below a line of headings.
func table[T any](p *Printer, v View[T], things []T) error {
	var shown []Column[T]
	for _, c := range v.Columns {
		if !c.Wide || p.Format.Wide() {
			shown = append(shown, c)
		}
	}
	rows := make([][]Cell, 0, len(things)+1)
	if !p.NoHeads && len(things) > 0 {
		heads := make([]Cell, len(shown))
		for i, c := range shown {
			heads[i] = Cell{c.Head, Bold}
		}
		rows = append(rows, heads)
	}
	for _, one := range things {
		row := make([]Cell, len(shown))
		for i, c := range shown {
			row[i] = c.Of(one)
			if row[i].Text = Line(row[i].Text); row[i].Text == "" {
				row[i] = Cell{"-", Faint}
			}
		}
		rows = append(rows, row)
	}
	widths := widthsOf(shown, rows)
	if p.Width > 0 && !p.Format.Wide() {
		shrink(shown, widths, p.Width)
	}
	return p.rows(rows, widths, func(i int) bool { return shown[i].Right })
}

func widthsOf[T any](shown []Column[T], rows [][]Cell) []int {
	widths := make([]int, len(shown))
	for _, row := range rows {
		for i, c := range row {
			widths[i] = max(widths[i], displayWidth(c.Text))
		}
	}
	return widths
}

// least is how narrow a column is made, and gap is between two.
const (
	least = 8
	gap   = 2
)

// shrink makes the widest of the columns that may be cut narrower until a line fits.
func shrink[T any](shown []Column[T], widths []int, fit int) {
	total := gap * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for ; total > fit; total-- {
		widest := -1
		for i, c := range shown {
			if c.Shrink && widths[i] > least && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

func (p *Printer) rows(rows [][]Cell, widths []int, right func(int) bool) error {
	w := bufio.NewWriter(p.Out)
	for _, row := range rows {
		for i, c := range row {
			if i > 0 {
				_, _ = w.WriteString(strings.Repeat(" ", gap))
			}
			text := cut(c.Text, widths[i])
			if i < len(row)-1 || right(i) {
				text = padded(text, widths[i], right(i))
			}
			_, _ = w.WriteString(p.Paint(text, c.Mark))
		}
		_ = w.WriteByte('\n')
	}
	return w.Flush()
}

func padded(text string, to int, right bool) string {
	blanks := strings.Repeat(" ", max(0, to-displayWidth(text)))
	if right {
		return blanks + text
	}
	return text + blanks
}

// cut returns the beginning of a text that is no wider than that, with an ellipsis if something is missing.
func cut(text string, to int) string {
	if displayWidth(text) <= to {
		return text
	}
	wide, end := 0, 0
	for i, r := range text {
		if wide += runeWidth(r); wide > to-1 {
			break
		}
		end = i + utf8.RuneLen(r)
	}
	return text[:end] + "…"
}

// displayWidth returns how many columns of a terminal a text takes.
func displayWidth(text string) (columns int) {
	for _, r := range text {
		columns += runeWidth(r)
	}
	return columns
}

func runeWidth(r rune) int {
	if r < 0x300 {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}
