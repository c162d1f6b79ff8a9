package importer

import (
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"almanac/cmd/almanac/internal/importer/value"
)

// A Report says how far each job of a source is the same here.
type Report struct {
	Kind     string         `json:"kind"`
	Now      time.Time      `json:"now"`
	Jobs     []JobReport    `json:"jobs"`
	Secrets  []Secret       `json:"secrets,omitempty"`
	Problems []Problem      `json:"problems,omitempty"`
	Count    map[string]int `json:"count"` // jobs of each verdict

	Collections []CollectionReport `json:"collections,omitempty"` // of the source; they are to be made before apply

	Drafts []*Draft `json:"-"` // those that are written have Properties
}

// A CollectionReport is a job collection of a source.
type CollectionReport struct {
	Name  string `json:"name"`
	File  string `json:"file"`
	Line  int    `json:"line"`
	SKU   string `json:"sku,omitempty"`
	State string `json:"state,omitempty"`
	Quota string `json:"quota,omitempty"` // as JSON
}

func collectionReport(c *Collection) CollectionReport {
	r := CollectionReport{Name: c.Name, File: c.File, Line: c.Line}
	p := c.Body.Get("properties")
	r.SKU, _ = p.Get("sku", "name").Str()
	r.State, _ = p.Get("state").Str()
	if q := p.Get("quota"); q != nil && q.Kind == value.Object && q.Unknowns() == 0 {
		text, _ := q.MarshalJSON() // a quota of JSON always has a JSON form
		r.Quota = string(text)
	}
	return r
}

// A JobReport is the report of a job.
type JobReport struct {
	Collection string    `json:"collection"`
	Name       string    `json:"name"`
	File       string    `json:"file"`
	Line       int       `json:"line"`
	Verdict    Verdict   `json:"verdict"`
	Needs      int       `json:"needs,omitempty"`
	Findings   []Finding `json:"findings,omitempty"`
	Runs       *Plan     `json:"runs,omitempty"`    // nil: they cannot be compared
	Written    string    `json:"written,omitempty"` // the file of the job
}

func (r *Report) count() {
	r.Count = map[string]int{"jobs": len(r.Jobs)}
	for _, name := range verdicts {
		r.Count[name] = 0
	}
	for _, j := range r.Jobs {
		r.Count[j.Verdict.String()]++
	}
}

// Missing returns the error of an import that found no job, or could not read something; nil if there is none.
func (r *Report) Missing() error {
	if len(r.Jobs) == 0 {
		return errors.New("no job was found in the files; the report says what was read")
	}
	unread, unwritten := 0, 0
	for _, p := range r.Problems {
		if !p.Note {
			unread++
		}
	}
	for _, j := range r.Jobs {
		if j.Verdict >= NotYet {
			unwritten++
		}
	}
	switch {
	case unwritten > 0 && unread > 0:
		return fmt.Errorf("not all was imported (jobs that were not written: %d of %d; parts of files that could not be read: %d); the report says why", unwritten, len(r.Jobs), unread)
	case unwritten > 0:
		return fmt.Errorf("not all was imported (jobs that were not written: %d of %d); the report says why", unwritten, len(r.Jobs))
	case unread > 0:
		return fmt.Errorf("not all was imported (parts of files that could not be read: %d); the report names them", unread)
	}
	return nil
}

// words returns the verdict of a job for people.
func (j *JobReport) words() string {
	if j.Verdict == Needs && j.Needs == 1 {
		return "needs 1 value"
	} else if j.Verdict == Needs {
		return fmt.Sprintf("needs %d values", j.Needs)
	}
	return j.Verdict.String()
}

// runs says for people how the runs compare.
func (j *JobReport) runs() string {
	p := j.Runs
	switch {
	case p == nil:
		return "runs: not compared"
	case p.Compared == 0:
		return "runs: none, by the source and here"
	case !p.Equal:
		return "runs: they differ"
	}
	text := fmt.Sprintf("runs: the next %d are equal", p.Compared)
	if p.Compared == 1 {
		text = "runs: the next one is equal, and none follows"
	} else if p.Done {
		text += ", and none follows"
	}
	if p.Clock > 0 {
		text += fmt.Sprintf(", and those around %d clock changes", p.Clock)
	}
	return text + "; next " + p.Next[0].UTC().Format(time.RFC3339)
}

// Text writes the report for people.
func (r *Report) Text(w io.Writer) error {
	for i := range r.Jobs {
		j := &r.Jobs[i]
		fmt.Fprintf(w, "%s/%s  %s\n", printable(j.Collection), printable(j.Name), j.words())
		fmt.Fprintf(w, "  %s:%d\n", printable(j.File), j.Line)
		for _, f := range j.Findings {
			fmt.Fprintf(w, "  %s\n", f.line(j))
		}
		if j.Verdict < NotYet {
			fmt.Fprintf(w, "  %s\n", j.runs())
		}
		if j.Written != "" {
			fmt.Fprintf(w, "  written: %s\n", printable(j.Written))
		}
	}
	if len(r.Secrets) > 0 {
		fmt.Fprintln(w, "\nSecrets: set these variables for apply")
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, s := range r.Secrets {
			from := "in the source"
			if s.Lost {
				from = "not in the source"
			}
			fmt.Fprintf(table, "  %s\t%s %s\t%s\t%s:%d\n", s.Env, printable(s.Job), printable(s.Path), from, printable(s.File), s.Line)
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	if len(r.Collections) > 0 {
		fmt.Fprintln(w, "\nJob collections: create them before apply")
	}
	for _, c := range r.Collections {
		fmt.Fprintf(w, "  %s", printable(c.Name))
		for _, part := range [][2]string{{"sku", c.SKU}, {"state", c.State}, {"quota", c.Quota}} {
			if part[1] != "" {
				fmt.Fprintf(w, "  %s %s", part[0], printable(part[1]))
			}
		}
		fmt.Fprintf(w, "  %s:%d\n", printable(c.File), c.Line)
	}
	r.problems(w)
	_, err := fmt.Fprintf(w, "\n%s\n", r.summary())
	return err
}

func (r *Report) problems(w io.Writer) {
	if len(r.Problems) > 0 {
		fmt.Fprintln(w, "\nFiles:")
	}
	for _, p := range r.Problems {
		place := printable(p.File)
		if p.Line > 0 {
			place += fmt.Sprintf(":%d", p.Line)
		}
		fmt.Fprintf(w, "  %s  %s\n", place, printable(p.Text))
	}
}

func (f *Finding) line(j *JobReport) string {
	text := printable(f.Text)
	if f.Path != "" && !strings.Contains(f.Text, f.Path) {
		text = printable(f.Path) + ": " + text
	}
	if f.Line > 0 && f.Line != j.Line {
		text += fmt.Sprintf(" (line %d)", f.Line)
	}
	if f.Verdict == Same {
		return "note: " + text
	}
	return f.Verdict.word() + text
}

// word begins the line of a finding.
func (v Verdict) word() string {
	switch v {
	case Differs:
		return "differs because "
	case Needs:
		return "needs a value: "
	}
	return v.String() + ": "
}

func (r *Report) summary() string {
	parts := []string{fmt.Sprintf("%d jobs", len(r.Jobs))}
	if len(r.Jobs) == 1 {
		parts[0] = "1 job"
	}
	for _, name := range verdicts {
		if n := r.Count[name]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, name))
		}
	}
	return strings.Join(parts, ", ")
}

// Markdown writes the report as a table.
func (r *Report) Markdown(w io.Writer) error {
	fmt.Fprintf(w, "%s\n\n| job | verdict | why | runs | source |\n|---|---|---|---|---|\n", r.summary())
	for i := range r.Jobs {
		j := &r.Jobs[i]
		var why []string
		for _, f := range j.Findings {
			why = append(why, cell(f.line(j)))
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s:%d |\n", cell(j.Collection+"/"+j.Name), j.words(), strings.Join(why, "<br>"),
			strings.TrimPrefix(j.runs(), "runs: "), cell(j.File), j.Line)
	}
	for _, s := range r.Secrets {
		fmt.Fprintf(w, "\n- secret `%s`: %s `%s`", s.Env, cell(s.Job), cell(s.Path))
	}
	for _, p := range r.Problems {
		fmt.Fprintf(w, "\n- %s:%d: %s", cell(p.File), p.Line, cell(p.Text))
	}
	_, err := fmt.Fprintln(w)
	return err
}

func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "`", "'").Replace(printable(text))
}

// printable returns a text of a source without what a terminal would take for a command.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069':
			return '·'
		}
		return r
	}, text)
}

// Below says that the files of the jobs are below a directory; dry that they were not written.
func (r *Report) Below(dir string, dry bool) {
	for i := range r.Jobs {
		switch j := &r.Jobs[i]; {
		case j.Written == "":
		case dry:
			j.Written = ""
		default:
			j.Written = path.Join(filepath.ToSlash(dir), j.Written)
		}
	}
}
