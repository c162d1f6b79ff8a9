package input

import (
	"encoding/json"
	"errors"
	"time"

	"almanac/internal/fields"
	"almanac/job"
	"almanac/job/template"
)

// A Preview is a request for the occurrences of a job that is created at Now.
type Preview struct {
	ID         json.RawMessage // returned unchanged; a JSON string or number, nil for none
	Now        time.Time
	Take       int            // maximum number of occurrences, 1 to 1000
	Definition job.Definition // as in a PUT; the Action is empty if it was absent
}

// A PreviewResult is the answer to a [Preview]: occurrences, or an error.
type PreviewResult struct {
	ID          json.RawMessage
	Occurrences []time.Time // whole seconds
	Done        bool        // no occurrence follows
	Text        string      // the recurrence in English; empty if there is none
	Notes       []string    // sentences for people: why the job runs at once, or never
	Error       *job.ErrorBody
}

// ParsePreview parses a request:
//
//	{"id": "a", "now": "2026-01-01T00:00:00Z", "take": 3, "properties": {"recurrence": {"frequency": "day"}}}
//
// All members are optional. now is the default of the request's now; take defaults to 10. The properties
// may be those of a whole job, and may be at the top. They are validated as by [ParseDefinition] for a new
// job. The error is an [*job.Error] of [job.KindInvalid]; the Preview then still has the ID, if it could be parsed,
// for [Preview.Failed].
func ParsePreview(line []byte, now time.Time) (Preview, error) {
	limits := new(DefaultLimits())
	p := Preview{Now: now}
	b, err := parseEnvelope("preview", line, limits, "", definitionMembers...)
	if b != nil {
		p.ID = b.previewID()
	}
	if err != nil {
		return p, err
	}
	var besides struct {
		Take int       `json:"take" field:"min=1,max=1000,default=10,quoted"`
		Now  *job.Time `json:"now" field:"rule=utcTime"`

		_ struct{} `ignore:"*"`
	}
	b.Rules = fixedRules
	b.Decode(b.tree, "", &besides)
	p.Take = besides.Take
	if besides.Now != nil {
		p.Now = besides.Now.Time
	}
	properties := b.properties
	if b.path == "" {
		properties = properties.Without("now", "take")
	}
	p.Definition = b.definition(properties, ParseOptions{Limits: limits, Now: p.Now, Created: p.Now, actionOptional: true})
	if err := b.err("preview"); err != nil {
		return p, err
	}
	return p, checkStored(&p.Definition)
}

// previewID returns the JSON of a string or number.
func (p *parser) previewID() json.RawMessage {
	n := p.tree.Member("id")
	if n == nil {
		return nil
	}
	if n.Kind != fields.String && n.Kind != fields.Number {
		p.Reject("id", n, "a string or a number")
		return nil
	}
	id, err := fields.PlainJSON(n.Scalar())
	if err != nil {
		return nil
	}
	return id
}

// Run computes the occurrences.
func (p Preview) Run() PreviewResult {
	plan, err := p.Definition.Timetable(p.Now, p.Now)
	if err != nil {
		return p.Failed(err)
	}
	r := PreviewResult{ID: p.ID, Done: true, Text: p.Definition.When()}
	for t := range plan.All() {
		if len(r.Occurrences) == p.Take {
			r.Done = false
			break
		}
		r.Occurrences = append(r.Occurrences, t)
	}
	r.Notes = p.notes(len(r.Occurrences) == 0)
	withErrorAction(&p.Definition.Action, "action", &job.Action{}, func(a *job.Action, path string, _ *job.Action) {
		if template.Forgotten(a) {
			r.Notes = append(r.Notes, "The placeholders in "+path+" are sent unchanged, because its template is not true.")
		}
	})
	return r
}

// notes returns explanations of a surprising result. never means that there are no occurrences.
func (p Preview) notes(never bool) []string {
	d := p.Definition
	switch {
	case never && (d.Recurrence == nil || d.Recurrence.EndTime == nil):
		return []string{"The job would never run, because no time is left before the end of the year 9999. It would be accepted, and be completed at once."}
	case never:
		return []string{"The job would never run, because its endTime, " + p.late() + ". It would be accepted, and be completed at once."}
	case d.State == job.StateDisabled:
		return []string{"The state is disabled: nothing runs until the job is enabled."}
	case d.StartTime == nil && d.Recurrence != nil:
		return []string{"The first occurrence is the creation of the job itself, because startTime is absent. Give a startTime to begin at another time."}
	case d.StartTime == nil:
		return []string{"The job runs once, as soon as it is created, because startTime is absent."}
	case d.Recurrence == nil && d.StartTime.Before(p.Now.Truncate(time.Second)):
		return []string{"The job runs once, as soon as it is created, because its startTime, " + instant(d.StartTime.Time) + ", is past."}
	}
	return nil
}

// late returns, for a job that never runs, its endTime and what the endTime comes before.
func (p Preview) late() string {
	d, endless := p.Definition, *p.Definition.Recurrence
	end := endless.EndTime.Time
	switch {
	case end.Before(p.Now.Truncate(time.Second)):
		return instant(end) + ", is past"
	case d.StartTime != nil && end.Before(d.StartTime.Time):
		return instant(end) + ", is before its startTime, " + instant(d.StartTime.Time)
	}
	endless.EndTime = nil
	d.Recurrence = &endless
	if plan, err := d.Timetable(p.Now, p.Now); err == nil {
		if first, ok := plan.First(); ok {
			return instant(end) + ", is before the first occurrence, " + instant(first)
		}
	}
	return instant(end) + ", is before the first occurrence"
}

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Failed returns the answer for an error.
func (p Preview) Failed(err error) PreviewResult {
	e, ok := errors.AsType[*job.Error](err)
	if !ok {
		e = &job.Error{Code: "InternalError", Message: "The preview failed", Err: err}
	}
	return PreviewResult{ID: p.ID, Error: new(e.Body())}
}

// MarshalJSON writes the ID, if any, with either occurrences, done and, if any, the text and the notes, or error.
func (r PreviewResult) MarshalJSON() ([]byte, error) {
	if r.Error != nil {
		return fields.PlainJSON(struct {
			ID    json.RawMessage `json:"id,omitempty"`
			Error *job.ErrorBody  `json:"error"`
		}{r.ID, r.Error})
	}
	occurrences := make([]job.Time, len(r.Occurrences))
	for i, t := range r.Occurrences {
		occurrences[i] = job.Time{Time: t}
	}
	return fields.PlainJSON(struct {
		ID          json.RawMessage `json:"id,omitempty"`
		Occurrences []job.Time      `json:"occurrences"`
		Done        bool            `json:"done"`
		Text        string          `json:"text,omitempty"`
		Notes       []string        `json:"notes,omitempty"`
	}{r.ID, occurrences, r.Done, r.Text, r.Notes})
}
