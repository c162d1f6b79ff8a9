// Package importer turns job definitions of other schedulers into files for Almanac, and says of each job how far it is
// the same.
//
// Its parts:
//
//	source      reads files, only below the directory of a source
//	value       JSON with lines, unknown values and references to secrets
//	azure       templates, dumps, Terraform states and configurations
//	crontab     crontabs
//	kubernetes  CronJobs
//	cronline    cron expressions as the programs read them, and when they fire
//	webcall     commands that are plain web requests
//
// A reader returns a [Result] of [Draft]s. [Finish] hides their secrets, checks them by the rules of the API, and
// compares the runs of each by the rules of its source with its runs here. The packages are pure: they read no clock,
// open no connection and write no file.
package importer

import (
	"encoding/json"
	"iter"
	"slices"
	"time"

	"almanac/cmd/almanac/internal/importer/value"
)

// A Verdict says how far a job here is the one of the source. The worst of a job's findings is that of the job.
type Verdict int

// The verdicts, from good to bad.
const (
	Same    Verdict = iota // of a finding: a note
	Differs                // it is written, and does something else
	Needs                  // it is written, and refused until somebody gives values
	NotYet                 // it is not written; something here has to come first
	Never                  // it is not written
)

var verdicts = [...]string{Same: "same", Differs: "differs", Needs: "needs values", NotYet: "cannot be yet", Never: "cannot be"}

// String returns the verdict in words.
func (v Verdict) String() string { return verdicts[v] }

// MarshalText returns the verdict in words.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// MarshalJSON calls a finding of the verdict same a note.
func (f Finding) MarshalJSON() ([]byte, error) {
	type plain Finding
	kind := f.Verdict.String()
	if f.Verdict == Same {
		kind = "note"
	}
	return json.Marshal(struct {
		Verdict string `json:"verdict"`
		plain
	}{kind, plain(f)})
}

// A Finding is something that is said of a job.
type Finding struct {
	Verdict Verdict `json:"-"`
	Path    string  `json:"path,omitempty"` // of the member in the properties
	Line    int     `json:"line,omitempty"` // in the source
	Text    string  `json:"text"`           // without values of the source that may be secrets
}

// Runs returns the runs of a job from a time on, in order.
type Runs = func(from time.Time) iter.Seq[time.Time]

// A Draft is a job of a source.
type Draft struct {
	Collection, Name string
	File             string
	Line             int

	// From is the job collection of the source, whatever Collection is; nothing if it has none.
	From CollectionOf

	Properties *value.Value // as the API takes them; nil if the job cannot be
	Findings   []Finding

	// Source has the runs by the rules of the source, for a job that is made at the time of the import; nil if they are
	// not known.
	Source Runs
	// Recurrences are ways to say when the job repeats, the best first. The first one with the same runs is taken.
	// None: that of Properties.
	Recurrences []*value.Value
	// Waits says what the recurrence waits for, if the API refuses it; "" if it waits for nothing.
	Waits string
	// Zone is the time zone whose clock changes are compared too; nil for none.
	Zone *time.Location
}

// Say adds a finding.
func (d *Draft) Say(v Verdict, path string, line int, text string) {
	for _, f := range d.Findings {
		if f.Verdict == v && f.Path == path && f.Text == text {
			return
		}
	}
	d.Findings = append(d.Findings, Finding{v, path, line, text})
}

// Need says that the job as a whole needs a value, and makes apply refuse it until somebody has taken that out.
func (d *Draft) Need(line int, why string) {
	if d.Properties == nil || d.Properties.Kind != value.Object {
		d.Say(Needs, "", line, why)
		return
	}
	all := []string{why}
	if there := d.Properties.Get("$needs"); there != nil {
		all = append(slices.Clone(there.Why), why)
	}
	d.Properties.Set("$needs", value.Needed(line, all...))
}

// Verdict returns the worst of the findings.
func (d *Draft) Verdict() (worst Verdict) {
	for _, f := range d.Findings {
		worst = max(worst, f.Verdict)
	}
	return worst
}

// A CollectionOf names a job collection of a source.
type CollectionOf struct {
	Group string // its resource group; "" if it is not known
	Name  string
}

// A Collection is a job collection of a source.
type Collection struct {
	Group string // its resource group; "" if it is not known
	Name  string
	File  string
	Line  int
	Body  *value.Value // with location, tags and properties, as far as they are known
}

// A Problem is something that is said of a file.
type Problem struct {
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
	Text string `json:"text"`
	Note bool   `json:"note,omitempty"` // nothing is missing because of it
}

// A Result is what a reader found.
type Result struct {
	Drafts      []*Draft
	Collections []*Collection
	Problems    []Problem
	Secrets     []string // values that are secret wherever they are used

	known map[string]bool // those secrets, up to the number that is noted
	noted int
}

// Problem adds a problem.
func (r *Result) Problem(file string, line int, text string) {
	r.Problems = append(r.Problems, Problem{File: file, Line: line, Text: text})
}

// Note adds what should be known of a file.
func (r *Result) Note(file string, line int, text string) {
	r.Problems = append(r.Problems, Problem{File: file, Line: line, Text: text, Note: true})
}

// Add adds what another reader found.
func (r *Result) Add(o Result) {
	r.Drafts = append(r.Drafts, o.Drafts...)
	r.Collections = append(r.Collections, o.Collections...)
	r.Problems = append(r.Problems, o.Problems...)
	r.Secrets = append(r.Secrets, o.Secrets...)
}
