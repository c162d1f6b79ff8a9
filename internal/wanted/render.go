package wanted

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"strings"
	"time"
	"unicode"

	"almanac/internal/fields"
)

// JSON writes a plan for programs: its summary, and the jobs that are created or changed, or whose secrets were not
// compared.
func (p *Plan) JSON(w io.Writer) error {
	shown := struct {
		Summary Summary   `json:"summary"`
		Changes []*Change `json:"changes"`
	}{p.Summary(), []*Change{}}
	for _, c := range p.Changes {
		if c.Action != Keep || len(c.Secrets) > 0 {
			shown.Changes = append(shown.Changes, c)
		}
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(shown)
}

// Text writes a plan for people.
func (p *Plan) Text(w io.Writer) error {
	var b strings.Builder
	for _, c := range p.Changes {
		if c.Action != Keep {
			c.text(&b)
		}
	}
	b.WriteString(p.Summary().String() + "\n" + p.stays())
	_, err := io.WriteString(w, b.String())
	return err
}

// String returns the summary as a sentence.
func (s Summary) String() string {
	text := fmt.Sprintf("%d to create, %d to change, %d unchanged", s.Create, s.Update, s.Unchanged)
	if s.Prune > 0 {
		text = fmt.Sprintf("%d to create, %d to change, %d to prune, %d unchanged", s.Create, s.Update, s.Prune, s.Unchanged)
	}
	if s.Create+s.Update+s.Prune == 0 {
		text = fmt.Sprintf("No changes: %s as the files say", jobs(s.Unchanged))
	}
	if s.Secrets > 0 {
		text += fmt.Sprintf(" (%s with secrets, which were not compared)", jobs(s.Secrets))
	}
	return text + "."
}

func jobs(n int) string {
	if n == 1 {
		return "1 job"
	}
	return fmt.Sprintf("%d jobs", n)
}

var marks = map[Action]string{Create: "+", Update: "~", Prune: "-"}

// stays returns a line about jobs that are not pruned, or nothing.
func (p *Plan) stays() string {
	if len(p.Once) == 0 {
		return ""
	}
	return fmt.Sprintf("%s of this owner, which the files do not have, stay, since they run once: %s\n",
		jobs(len(p.Once)), visible(fields.Cut(strings.Join(p.Once, ", "), 500)))
}

func (c *Change) text(b *strings.Builder) {
	if c.Action == Prune {
		fmt.Fprintf(b, "- %s  (no file has it)\n    it is disabled, and deletes itself in 7 days, unless it is taken back\n\n", visible(c.name()))
		return
	}
	fmt.Fprintf(b, "%s %s  (%s:%d)\n", marks[c.Action], visible(c.name()), visible(c.File), c.Line)
	for _, line := range c.Lines() {
		b.WriteString("    " + line + "\n")
	}
	if c.Runs == nil {
		if c.Action == Update {
			b.WriteString("    runs: none moves\n")
		}
		b.WriteString("\n")
		return
	}
	fmt.Fprintf(b, "    runs: %s\n", c.Runs.summary())
	for _, r := range c.Runs.Runs {
		fmt.Fprintf(b, "      %s\n", r.text(c.Runs.NotDue == ""))
	}
	b.WriteString("\n")
}

// Lines returns the members of a change, a line each.
func (c *Change) Lines() (lines []string) {
	for _, f := range c.Fields {
		from, to := shown(f)
		lines = append(lines, fmt.Sprintf("%s: %s → %s", visible(f.Path), from, to))
	}
	for _, s := range c.Secrets {
		lines = append(lines, visible(s)+": secret: not compared")
	}
	if c.Owner != "" {
		lines = append(lines, "it belongs to another owner, "+visible(c.Owner)+", and keeps that")
	}
	return lines
}

// shown returns the values of a member in a line of a plan: the beginnings of long ones or, if these are the same, from
// where they differ.
func shown(f Field) (from, to string) {
	const most, before = 200, 40
	text := func(v json.RawMessage) []rune {
		if v == nil {
			return []rune("(none)")
		}
		return []rune(visible(string(v)))
	}
	a, b := text(f.From), text(f.To)
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	lead := ""
	if max(len(a), len(b)) > most && same > most-before {
		a, b, lead = a[same-before:], b[same-before:], "…"
	}
	return lead + fields.Cut(string(a), most), lead + fields.Cut(string(b), most)
}

// visible returns a text without characters that move the cursor or change the direction of writing.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

// summary returns what becomes of the runs, in words.
func (r *Runs) summary() string {
	var parts []string
	for _, part := range []struct {
		n    int
		word string
	}{{r.Same, "unchanged"}, {r.Moved, "moved"}, {r.Added, "added"}, {r.Dropped, "dropped"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.word))
		}
	}
	if len(parts) == 0 {
		parts = []string{"none"}
	}
	text := strings.Join(parts, ", ")
	switch {
	case r.WasText != "" && r.WasText != r.Text:
		text += fmt.Sprintf(" (%s → %s)", r.WasText, orNone(r.Text, "once"))
	case r.Text != "":
		text += " (" + r.Text + ")"
	}
	if r.NotDue != "" {
		text += "; " + r.NotDue
	}
	return visible(text)
}

func orNone(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// text returns a run in a line. Others are shown if they are known.
func (r Run) text(others bool) string {
	var text string
	switch r.Change {
	case "moved":
		text = "~ " + instant(r.Was) + " → " + instant(r.WillBe)
	case "added":
		text = "+ " + instant(r.WillBe)
	case "dropped":
		return "- " + instant(r.Was)
	default:
		text = "  " + instant(r.WillBe)
	}
	if others && r.Others > 0 {
		text += fmt.Sprintf("  with %d others in that second", r.Others)
	}
	return text
}

func instant(t time.Time) string { return t.UTC().Format("Mon 2006-01-02T15:04:05Z") }

// Markdown writes a plan for a comment on a pull request.
func (p *Plan) Markdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString("### Plan of jobs\n\n" + p.Summary().String() + "\n")
	for _, c := range p.Changes {
		if c.Action != Keep {
			c.markdown(&b)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (c *Change) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "\n<details><summary>%s %s: %s</summary>\n\n", marks[c.Action], code(c.name()), c.Action)
	if c.Action == Prune {
		b.WriteString("No file has it. It is disabled, and deletes itself in 7 days, unless it is taken back.\n")
	}
	if c.Owner != "" {
		fmt.Fprintf(b, "It belongs to another owner, %s, and keeps that.\n\n", code(c.Owner))
	}
	if len(c.Fields)+len(c.Secrets) > 0 {
		b.WriteString("| member | before | after |\n|---|---|---|\n")
		for _, f := range c.Fields {
			from, to := shown(f)
			fmt.Fprintf(b, "| %s | %s | %s |\n", code(f.Path), code(from), code(to))
		}
		for _, s := range c.Secrets {
			fmt.Fprintf(b, "| %s | secret: not compared | |\n", code(s))
		}
		b.WriteString("\n")
	}
	if c.Runs != nil {
		fmt.Fprintf(b, "Runs: %s\n\n", escaped(c.Runs.summary()))
		if len(c.Runs.Runs) > 0 {
			b.WriteString("| before | after | others due |\n|---|---|---|\n")
		}
		for _, r := range c.Runs.Runs {
			fmt.Fprintf(b, "| %s | %s | %s |\n", cell(r.Was), cell(r.WillBe), r.others(c.Runs.NotDue == ""))
		}
	} else if c.Action == Update {
		b.WriteString("Runs: none moves.\n")
	}
	b.WriteString("\n</details>\n")
}

func (r Run) others(known bool) string {
	if !known || r.WillBe.IsZero() {
		return ""
	}
	return fmt.Sprint(r.Others)
}

func cell(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return instant(t)
}

// code returns a text as code in a cell of a table, whatever it has.
func code(text string) string { return "<code>" + escaped(text) + "</code>" }

// escaped returns a text that Markdown and HTML show as it is.
func escaped(text string) string {
	return marksOfMarkdown.Replace(html.EscapeString(visible(text)))
}

var marksOfMarkdown = strings.NewReplacer(
	"|", "&#124;", "`", "&#96;", "*", "&#42;", "_", "&#95;", "[", "&#91;", "@", "&#64;", "\\", "&#92;", "://", "&#58;//",
)
