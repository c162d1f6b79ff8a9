package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"almanac/cmd/almanac/internal/importer/value"
	"almanac/internal/fields"
	"almanac/job"
	"almanac/job/input"
)

// Finish hides the secrets of what a reader found, checks it, compares the runs and reports.
func Finish(kind string, r Result, now time.Time) *Report {
	now = now.UTC().Truncate(time.Second)
	report := &Report{Kind: kind, Now: now, Problems: r.Problems, Drafts: r.Drafts}
	for _, c := range r.Collections {
		report.Collections = append(report.Collections, collectionReport(c))
	}
	secrets, names, unnamed := newVault(r.Secrets), map[string]*Draft{}, Names{}
	collections := map[string][]*Collection{}
	for _, c := range r.Collections {
		collections[fields.Normalize(c.Name)] = append(collections[fields.Normalize(c.Name)], c)
	}
	for _, d := range r.Drafts {
		d.stop(collections[fields.Normalize(d.From.Name)])
		secrets.rename(d, unnamed)
		if first := names[key(d)]; first != nil {
			d.Properties = nil
			d.Say(Never, "", d.Line, fmt.Sprintf("the name is that of the job in %s, line %d: give one of them another name", first.File, first.Line))
		} else {
			names[key(d)] = d
		}
		entry := JobReport{Collection: d.Collection, Name: d.Name, File: d.File, Line: d.Line}
		if d.Properties != nil {
			secrets.hide(d)
			entry.Runs = finish(d, now)
		}
		if d.Verdict() >= NotYet {
			d.Properties = nil
		}
		entry.Verdict, entry.Findings, entry.Needs = d.Verdict(), d.Findings, d.needs()
		report.Jobs = append(report.Jobs, entry)
	}
	report.Secrets = secrets.listed
	report.count()
	return report
}

// stop disables a job whose collection is not enabled. all are the collections of the source with the name of its own.
func (d *Draft) stop(all []*Collection) {
	if d.Properties == nil || d.From.Name == "" || d.Properties.Get("state").Is("disabled") {
		return
	}
	exact := slices.ContainsFunc(all, func(c *Collection) bool { return c.Group != "" && strings.EqualFold(c.Group, d.From.Group) })
	var enabled, stopped, unknown *Collection
	for _, c := range all {
		if exact && !strings.EqualFold(c.Group, d.From.Group) || c.Group != "" && d.From.Group != "" && !strings.EqualFold(c.Group, d.From.Group) {
			continue
		}
		switch state := stateOf(c); {
		case state != nil && state.Kind == value.Unknown:
			unknown = c
		case state == nil || state.Is("enabled"):
			enabled = c
		default:
			stopped = c
		}
	}
	switch {
	case unknown != nil:
		d.Properties.Set("state", value.Needed(d.Line, "the state of its job collection, which counts for the job as well: "+strings.Join(stateOf(unknown).Why, "; ")))
	case stopped != nil && enabled != nil:
		d.Properties.Set("state", value.Needed(d.Line, fmt.Sprintf(
			"which of the job collections of this name it is in: that in %s, line %d, is not enabled", stopped.File, stopped.Line)))
	case stopped != nil:
		d.Properties.Set("state", value.Text("disabled", d.Line))
		d.Say(Same, "state", d.Line, fmt.Sprintf("its job collection is not enabled (%s, line %d), so it is written as disabled", stopped.File, stopped.Line))
	}
}

// stateOf returns the state of a collection; nil if it has none, which is enabled.
func stateOf(c *Collection) *value.Value {
	if all := c.Body.Get("properties"); all != nil && all.Kind == value.Unknown {
		return all
	}
	return c.Body.Get("properties", "state")
}

func key(d *Draft) string { return fields.Normalize(d.Collection) + "\x00" + fields.Normalize(d.Name) }

// needs returns how many values somebody has to give.
func (d *Draft) needs() (n int) {
	for _, f := range d.Findings {
		if f.Verdict == Needs {
			n++
		}
	}
	return n
}

// finish checks a draft and compares its runs.
func finish(d *Draft, now time.Time) *Plan {
	var missing []string
	d.Properties.Walk("", func(path string, v *value.Value) bool {
		switch v.Kind {
		case value.Unknown:
			missing = append(missing, path)
			d.Say(Needs, path, v.LineOr(d.Line), strings.Join(v.Why, "; "))
		case value.Env:
			missing = append(missing, path)
		}
		return true
	})
	plan := d.best(missing, now)
	definition, refused := check(d, missing, now)
	for _, e := range refused {
		if d.Waits != "" && strings.HasPrefix(e.Path, "properties.recurrence") {
			d.Say(NotYet, "recurrence", line(d, "recurrence"), d.Waits)
			continue
		}
		shown := *e
		shown.Value = nil // it may be a secret of a kind that is not known
		path := strings.TrimPrefix(e.Path, "properties.")
		shown.Path = path
		d.Say(Never, path, line(d, path), "the API refuses it: "+shown.Error())
	}
	if definition == nil || len(refused) > 0 {
		return nil
	}
	if plan != nil && !plan.Equal {
		d.Say(Differs, "recurrence", line(d, "recurrence"), plan.text())
	}
	return plan
}

// best sets the first recurrence whose runs are those of the source, or else the first one, and returns its plan; nil
// if the runs are not known.
func (d *Draft) best(missing []string, now time.Time) *Plan {
	var first *Plan
	candidates := d.Recurrences
	if len(candidates) == 0 {
		candidates = []*value.Value{d.Properties.Get("recurrence")}
	}
	for i, candidate := range candidates {
		if candidate != nil {
			d.Properties.Set("recurrence", candidate)
		}
		plan := d.plan(missing, now)
		if i == 0 {
			first = plan
		}
		if i == 0 && plan == nil || plan != nil && plan.Equal {
			return plan
		}
	}
	if len(d.Recurrences) > 1 {
		d.Properties.Set("recurrence", candidates[0])
	}
	return first
}

// plan compares the runs; nil if they are not known.
func (d *Draft) plan(missing []string, now time.Time) *Plan {
	for _, path := range missing {
		if path == "startTime" || path == "recurrence" || strings.HasPrefix(path, "recurrence.") {
			return nil
		}
	}
	definition, refused := check(d, missing, now)
	if definition == nil || len(refused) > 0 || d.Source == nil {
		return nil
	}
	plan, err := compare(definition, d.Source, d.Zone, now)
	if err != nil {
		return nil
	}
	return &plan
}

// check returns the definition by the rules of the API for a new job, and the errors of fields that do not come from
// missing values.
func check(d *Draft, missing []string, now time.Time) (*job.Definition, []*job.FieldError) {
	body, err := json.Marshal(value.Obj(0).Set("properties", filled(d.Properties)))
	if err != nil {
		return nil, []*job.FieldError{{Path: "properties", Code: fields.Invalid}}
	}
	definition, err := input.ParseDefinition(body, input.ParseOptions{Now: now})
	if err == nil {
		return &definition, nil
	}
	e, ok := errors.AsType[*job.Error](err)
	if !ok || len(e.Fields) == 0 {
		return nil, []*job.FieldError{{Path: "properties", Code: fields.Invalid, Hint: err.Error()}}
	}
	var refused []*job.FieldError
	for _, f := range e.Fields {
		if !concerns(strings.TrimPrefix(f.Path, "properties."), missing) {
			refused = append(refused, f)
		}
	}
	if len(refused) > 0 {
		return nil, refused
	}
	// Only missing values are refused: the times count all the same.
	p, err := input.ParsePreview(timing(d.Properties), now)
	if err != nil {
		return &job.Definition{}, nil
	}
	return &p.Definition, nil
}

// timing returns a request for a preview of the times of a job.
func timing(properties *value.Value) []byte {
	only := value.Obj(0)
	for _, name := range []string{"startTime", "recurrence"} {
		if v := properties.Get(name); v != nil {
			only.Set(name, v)
		}
	}
	body, _ := json.Marshal(value.Obj(0).Set("properties", only)) // it was written once
	return body
}

// concerns reports whether a path is that of a missing value, or inside or around it.
func concerns(path string, missing []string) bool {
	for _, m := range missing {
		if strings.EqualFold(path, m) || inside(path, m) || inside(m, path) && path != "action" && !strings.HasSuffix(path, "recurrence") {
			return true
		}
	}
	return false
}

func inside(path, of string) bool {
	return len(path) > len(of) && strings.EqualFold(path[:len(of)], of) && (path[len(of)] == '.' || path[len(of)] == '[')
}

// filled returns a copy with a word in place of each missing value.
func filled(v *value.Value) *value.Value {
	c := v.Clone()
	c.Walk("", func(path string, v *value.Value) bool {
		if v.Kind == value.Unknown || v.Kind == value.Env {
			text := "x"
			if strings.HasSuffix(path, ".uri") {
				text = "https://needs.example/"
			}
			*v = value.Value{Kind: value.String, Text: text}
		}
		return true
	})
	return c
}

// line returns the line of a member of a draft.
func line(d *Draft, path string) int {
	v, last := d.Properties, d.Line
	for name := range strings.SplitSeq(path, ".") {
		name, _, _ = strings.Cut(name, "[")
		if v = v.Get(name); v == nil {
			break
		}
		last = v.LineOr(last)
	}
	return last
}
