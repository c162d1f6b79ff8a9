package job

import (
	"encoding/json"
	"errors"
	"time"
)

const (
	defaultTake = 10
	maxTake     = 1000
)

// A Preview asks when a job would run if it were created at Now.
type Preview struct {
	ID         json.RawMessage // echoed; a JSON string or number, nil for none
	Now        time.Time
	Take       int        // how many occurrences to list at most, 1 to 1000
	Definition Definition // as it would be written with PUT; its Action is empty where none was given
}

// A PreviewResult answers a [Preview]: with occurrences, or with what is wrong
// with the question.
type PreviewResult struct {
	ID          json.RawMessage
	Occurrences []time.Time // in whole seconds
	Done        bool        // there is none after those listed
	Notes       []string    // sentences about what may surprise: why the job runs at once, or never
	Error       *ErrorBody
}

// ParsePreview reads one question:
//
//	{"id": "a", "now": "2026-01-01T00:00:00Z", "take": 3, "properties": {"recurrence": {"frequency": "day"}}}
//
// All members may be left out; without a now it is the one given. The
// properties may be those of a whole job, and may stand at the top. All that is
// there is checked as [ParseDefinition] checks a new job. Where the
// error, an [*Error] of KindInvalid, is not nil, the Preview still holds the id
// for [Preview.Failed] if it could be read.
func ParsePreview(line []byte, now time.Time) (Preview, error) {
	limits := new(DefaultLimits())
	p := Preview{Now: now, Take: defaultTake}
	if err := limits.checkSize(line); err != nil {
		return p, err
	}
	tree, err := parseObject(line)
	if err != nil {
		return p, err
	}
	b := newBinder(limits)
	top, _ := b.object("", tree)
	p.ID = top.previewID()
	if take, ok := top.integer("take", 1, maxTake); ok {
		p.Take = take
	}
	if t := top.time("now", time.UTC); t != nil {
		p.Now = t.Time
	}
	if props, ok := b.properties(tree, definitionMembers...); ok {
		if props.path == "" {
			props.ignore("now", "take")
		}
		p.Definition = b.definition(props, ParseOptions{Limits: limits, Now: p.Now, Created: p.Now, actionless: true})
	}
	if err := b.err("preview"); err != nil {
		return p, err
	}
	return p, p.Definition.checkStored()
}

// previewID reads a string or a number as it is to be echoed.
func (o *object) previewID() json.RawMessage {
	n := o.get("id")
	if n == nil {
		return nil
	}
	if n.kind != jsonString && n.kind != jsonNumber {
		o.b.mismatch("id", n, "a string or a number")
		return nil
	}
	id, err := plainJSON(n.scalar())
	if err != nil {
		return nil
	}
	return id
}

// Run computes the answer.
func (p Preview) Run() PreviewResult {
	plan, err := p.Definition.Plan(p.Now, p.Now)
	if err != nil {
		return p.Failed(err)
	}
	r := PreviewResult{ID: p.ID, Done: true}
	for t := range plan.All() {
		if len(r.Occurrences) == p.Take {
			r.Done = false
			break
		}
		r.Occurrences = append(r.Occurrences, t)
	}
	r.Notes = p.notes(len(r.Occurrences) == 0)
	return r
}

// notes says what may surprise in the answer. never says that there are no occurrences.
func (p Preview) notes(never bool) []string {
	d := p.Definition
	switch {
	case never:
		return []string{"The job would never run, because its endTime, " + p.late() + ". It would be accepted, and be completed at once."}
	case d.State == StateDisabled:
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

// late says of the endTime of a job that never runs what it comes too early for.
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
	if plan, err := d.Plan(p.Now, p.Now); err == nil {
		if first, ok := plan.First(); ok {
			return instant(end) + ", is before the first occurrence, " + instant(first)
		}
	}
	return instant(end) + ", is before the first occurrence"
}

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Failed returns the answer that err is why there is no other.
func (p Preview) Failed(err error) PreviewResult {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		e = &Error{Code: "InternalError", Message: "The preview failed", Err: err}
	}
	return PreviewResult{ID: p.ID, Error: new(e.Body())}
}

// MarshalJSON writes the id, if there is one, with occurrences, done and the
// notes, if there are any, or with error.
func (r PreviewResult) MarshalJSON() ([]byte, error) {
	if r.Error != nil {
		return plainJSON(struct {
			ID    json.RawMessage `json:"id,omitempty"`
			Error *ErrorBody      `json:"error"`
		}{r.ID, r.Error})
	}
	occurrences := make([]Time, len(r.Occurrences))
	for i, t := range r.Occurrences {
		occurrences[i] = Time{t}
	}
	return plainJSON(struct {
		ID          json.RawMessage `json:"id,omitempty"`
		Occurrences []Time          `json:"occurrences"`
		Done        bool            `json:"done"`
		Notes       []string        `json:"notes,omitempty"`
	}{r.ID, occurrences, r.Done, r.Notes})
}
