// Package preview computes when a job would run, and says what may surprise.
package preview

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"almanac/internal/fields"
	"almanac/job"
	"almanac/job/kind"
	"almanac/job/template"
	"almanac/job/timetable"
	"almanac/recurrence/calendars"
)

// A Preview is a request for the occurrences of a job that is created at Now.
type Preview struct {
	ID         json.RawMessage // returned unchanged; a JSON string or number, nil for none
	Now        time.Time
	Take       int            // maximum number of occurrences, 1 to 1000
	Definition job.Definition // as in a PUT; the Action is empty if it was absent
}

// A Result is the answer to a [Preview]: occurrences, or an error.
type Result struct {
	ID          json.RawMessage
	Occurrences []time.Time // whole seconds
	Done        bool        // no occurrence follows
	Text        string      // the recurrence in English; empty if there is none
	Notes       []string    // sentences for people: why the job runs at once, or never
	Error       *job.ErrorBody
}

// Run computes the occurrences of a job that runs by no calendars.
func (p Preview) Run() Result { return p.RunBy(nil) }

// RunBy computes the occurrences by the calendars of the job.
func (p Preview) RunBy(uses []calendars.Use) Result {
	plan, err := p.plan(&p.Definition, uses)
	if errors.Is(err, timetable.ErrCalendars) {
		err = job.NoCalendars("this preview reads no calendars, without which the times would be wrong: POST it to the forecast of the job collection")
	}
	if err != nil {
		return p.Failed(err)
	}
	r := Result{ID: p.ID, Done: true, Text: p.Definition.When()}
	for t := range plan.All() {
		if len(r.Occurrences) == p.Take {
			r.Done = false
			break
		}
		r.Occurrences = append(r.Occurrences, t)
	}
	atOnce := len(r.Occurrences) > 0 && r.Occurrences[0].Equal(p.Now.Truncate(time.Second))
	r.Notes = p.notes(len(r.Occurrences) == 0, atOnce, uses)
	action := &p.Definition.Action
	for _, a := range []struct {
		path string
		*job.Action
	}{{"action", action}, {"action.errorAction", action.ErrorAction}} {
		if a.Action == nil {
			continue
		}
		if template.Forgotten(a.Action) {
			r.Notes = append(r.Notes, "The placeholders in "+a.path+" are sent unchanged, because its template is not true.")
		}
		if sent := sentURI(a.Request); sent != "" {
			r.Notes = append(r.Notes, "The uri of "+a.path+" is sent as "+sent+", because a request target may not have all of its characters.")
		}
	}
	return r
}

// sentURI returns the URI of a request, which may be nil, as it is sent; "" if that is as it is written, or if there is
// none.
func sentURI(r *kind.Request) string {
	if r == nil {
		return ""
	}
	uri := r.URI
	if r.Template {
		uri = template.Filled(uri)
	}
	written, _, _ := strings.Cut(uri, "#")
	if sent := kind.SentURI(uri); sent != written {
		return sent
	}
	return ""
}

// plan returns the timetable of a definition that is created now.
func (p Preview) plan(d *job.Definition, uses []calendars.Use) (*timetable.Timetable, error) {
	if err := timetable.Check(d, p.Now, p.Now); err != nil {
		return nil, err
	}
	return timetable.With(d, p.Now, uses, p.Now, nil)
}

// notes returns explanations of a surprising result: there are no occurrences, or the first one is the creation.
func (p Preview) notes(never, atOnce bool, uses []calendars.Use) []string {
	d := p.Definition
	switch {
	case never && len(d.Blackouts) > 0 && p.open(uses):
		return []string{"The job would never run, because its blackouts leave no time of the next 100 years. It would be accepted, and be completed at once."}
	case never && len(uses) > 0 && p.without(uses, func(r *job.Recurrence) { r.Calendars = nil }):
		return []string{"The job would never run, because its calendars leave no day of the next 100 years. It would be accepted, and be completed at once."}
	case never && d.Recurrence != nil && len(d.Recurrence.Exclusions) > 0 && p.without(uses, func(r *job.Recurrence) { r.Exclusions = nil }):
		return []string{"The job would never run, because its exclusions leave out every time of the next 100 years. It would be accepted, and be completed at once."}
	case never && (d.Recurrence == nil || d.Recurrence.EndTime == nil):
		return []string{"The job would never run, because no time is left before the end of the year 9999. It would be accepted, and be completed at once."}
	case never:
		return []string{"The job would never run, because its endTime, " + p.late(uses) + ". It would be accepted, and be completed at once."}
	case d.State == job.StateDisabled:
		return []string{"The state is disabled: nothing runs until the job is enabled."}
	case d.StartTime == nil && d.Recurrence != nil && !atOnce:
		return nil
	case d.StartTime == nil && d.Recurrence != nil:
		return []string{"The first occurrence is the creation of the job itself, because startTime is absent. Give a startTime to begin at another time."}
	case d.StartTime == nil:
		return []string{"The job runs once, as soon as it is created, because startTime is absent."}
	case d.Recurrence == nil && d.StartTime.Before(p.Now.Truncate(time.Second)):
		return []string{"The job runs once, as soon as it is created, because its startTime, " + instant(d.StartTime.Time) + ", is past."}
	}
	return nil
}

// without reports whether the job would run if its recurrence lacked something.
func (p Preview) without(uses []calendars.Use, drop func(r *job.Recurrence)) bool {
	d, rest := p.Definition, *p.Definition.Recurrence
	drop(&rest)
	if d.Recurrence = &rest; !rest.ByCalendars() {
		uses = nil
	}
	plan, err := p.plan(&d, uses)
	if err != nil {
		return false
	}
	_, ok := plan.First()
	return ok
}

// open reports whether the job would run if it had no blackouts.
func (p Preview) open(uses []calendars.Use) bool {
	d := p.Definition
	d.Blackouts = nil
	plan, err := p.plan(&d, uses)
	if err != nil {
		return false
	}
	_, ok := plan.First()
	return ok
}

// late returns, for a job that never runs, its endTime and what the endTime comes before.
func (p Preview) late(uses []calendars.Use) string {
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
	if plan, err := p.plan(&d, uses); err == nil {
		if first, ok := plan.First(); ok {
			return instant(end) + ", is before the first occurrence, " + instant(first)
		}
	}
	return instant(end) + ", is before the first occurrence"
}

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Failed returns the answer for an error.
func (p Preview) Failed(err error) Result {
	e, ok := errors.AsType[*job.Error](err)
	if !ok {
		e = &job.Error{Code: "InternalError", Message: "The preview failed", Err: err}
	}
	return Result{ID: p.ID, Error: new(e.Body())}
}

// MarshalJSON writes the ID, if any, with either occurrences, done and, if any, the text and the notes, or error.
func (r Result) MarshalJSON() ([]byte, error) {
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
