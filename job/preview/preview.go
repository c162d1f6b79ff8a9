// Package preview computes when a job would run, and says what may surprise.
package preview

import (
	"encoding/json"
	"errors"
	"slices"
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

	Calendars map[string]job.Calendar // by their names in normal form; a job's others are not in the request
}

// A Result is the answer to a [Preview]: occurrences, or an error.
type Result struct {
	ID          json.RawMessage
	Occurrences []time.Time  // whole seconds
	Done        bool         // no occurrence follows
	Adjustments []Adjustment // what calendars make of occurrences up to the last of those, or to the end
	Text        string       // the recurrence in English; empty if there is none
	Notes       []string     // sentences for people: why the job runs at once, or never
	Error       *job.ErrorBody
}

// Missing returns the recurrence with those of its calendars that the request does not have; nil if it has all.
func (p Preview) Missing() *job.Recurrence {
	if !p.Definition.Recurrence.ByCalendars() {
		return nil
	}
	rest := *p.Definition.Recurrence
	rest.Calendars = slices.DeleteFunc(slices.Clone(rest.Calendars), func(u job.CalendarUse) bool {
		_, has := p.Calendars[job.NormalizeName(u.Name)]
		return has
	})
	if len(rest.Calendars) == 0 {
		return nil
	}
	return &rest
}

// Uses returns the calendars of the job: those that the request has, and others, which are those of [Preview.Missing]
// in their order.
func (p Preview) Uses(others []calendars.Use) ([]calendars.Use, error) {
	r := p.Definition.Recurrence
	if !r.ByCalendars() {
		return nil, nil
	}
	var uses []calendars.Use
	for i := range r.Calendars {
		given, has := p.Calendars[job.NormalizeName(r.Calendars[i].Name)]
		if !has && len(others) == 0 {
			return nil, timetable.ErrCalendars
		}
		if !has {
			uses, others = append(uses, others[0]), others[1:]
			continue
		}
		one := job.Recurrence{Calendars: r.Calendars[i : i+1]}
		use, err := one.Uses([]job.KeptCalendar{{Calendar: given}})
		if err != nil {
			return nil, err
		}
		uses = append(uses, use...)
	}
	return uses, nil
}

// Run computes the occurrences by the calendars that the request has.
func (p Preview) Run() Result { return p.RunOr("") }

// RunOr is [Preview.Run]. What to do about a calendar that the request does not have is in the error.
func (p Preview) RunOr(instead string) Result {
	if missing := p.Missing(); missing != nil {
		return p.Failed(job.NoCalendar(p.Definition.Recurrence, missing.Calendars[0].Name, instead))
	}
	uses, err := p.Uses(nil)
	if err != nil {
		return p.Failed(err)
	}
	return p.RunBy(uses)
}

// RunBy computes the occurrences by the calendars of the job.
func (p Preview) RunBy(uses []calendars.Use) Result {
	plan, err := p.plan(&p.Definition, uses)
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
	r.Adjustments = p.adjust(plan, &r)
	if note := beyond(uses, r.last(p.Now)); note != "" {
		r.Notes = append(r.Notes, note)
	}
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

// last returns the last occurrence; now if there is none.
func (r *Result) last(now time.Time) time.Time {
	if len(r.Occurrences) == 0 {
		return now
	}
	return r.Occurrences[len(r.Occurrences)-1]
}

// adjust returns what calendars make of occurrences up to the last one of the result, or to the end of the job.
func (p Preview) adjust(plan *timetable.Timetable, r *Result) []Adjustment {
	if !plan.ByDays() {
		return nil
	}
	until := r.last(p.Now)
	if r.Done && (plan.Count() == 0 || len(r.Occurrences) < plan.Count()) {
		until = toEnd(p.Definition.Recurrence, plan, until, p.Now)
	}
	zone := zoneOf(&p.Definition)
	all, complete := adjustments(plan, p.Now.Truncate(time.Second), until, zone)
	if complete.Before(until) {
		r.Notes = append(r.Notes, "What calendars move or skip is listed up to "+complete.In(zone).Format(time.DateOnly)+" only.")
	}
	return all
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
		Adjustments []Adjusted      `json:"adjustments,omitempty"`
		Text        string          `json:"text,omitempty"`
		Notes       []string        `json:"notes,omitempty"`
	}{r.ID, occurrences, r.Done, answers(r.Adjustments), r.Text, r.Notes})
}
