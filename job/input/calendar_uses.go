package input

import (
	"fmt"
	"slices"

	"almanac/internal/fields"
	"almanac/job"
	"almanac/recurrence/calendars"
)

// calendarUses checks the calendars of a recurrence, and the working days that are counted by them.
func (p *parser) calendarUses(r *job.Recurrence) {
	if r == nil {
		return
	}
	path := p.pathOf("recurrence")
	list := path + ".calendars"
	if len(r.Calendars) > calendars.MaxCalendars {
		p.fail(list, fields.TooMany, fmt.Sprintf("at most %d", calendars.MaxCalendars), "")
	}
	elapsed := elapses(r)
	for i := range r.Calendars {
		use, at := &r.Calendars[i], p.BodyPath(fields.ItemPath(list, i))
		if use.Name != "" {
			p.addAt(at+".name", job.CheckCalendarName(use.Name))
		}
		if slices.ContainsFunc(r.Calendars[:i], func(o job.CalendarUse) bool { return fields.SameName(o.Name, use.Name) }) {
			p.Add(&job.FieldError{Path: at + ".name", Code: fields.Invalid, Value: use.Name, Allowed: "a name that no other calendar of the job has"})
		}
		if policy, ok := use.Policy(); ok && policy.Moves() && elapsed {
			p.Add(&job.FieldError{
				Path: at + ".onMatch", Code: fields.Invalid, Value: use.OnMatch, Allowed: "skip or only with a rule of minutes or hours",
			})
		}
	}
	if !r.Notated() {
		p.workingDays(path+".schedule", r.Schedule, r.Frequency, r)
	}
	for i := range r.Also {
		p.workingDays(p.BodyPath(fields.ItemPath(path+".also", i))+".schedule", r.Also[i].Schedule, r.Also[i].Frequency, r)
	}
	for i := range r.Exclusions {
		if s := r.Exclusions[i].Schedule; s != nil && len(s.WorkingDays) > 0 {
			at := p.BodyPath(fields.ItemPath(path+".exclusions", i))
			p.fail(at+".schedule.workingDays", fields.Forbidden, "", "an exclusion has no working days")
		}
	}
}

// workingDays checks the working days of a schedule, at a path.
func (p *parser) workingDays(path string, s *job.Schedule, frequency string, r *job.Recurrence) {
	path += ".workingDays"
	switch {
	case s == nil || len(s.WorkingDays) == 0:
	case frequency != "month":
		p.fail(path, fields.Forbidden, "with frequency month", "")
	case len(r.Calendars) == 0 && !p.Has(p.pathOf("recurrence.calendars")):
		p.fail(path, fields.Forbidden, "with recurrence.calendars, which say what a working day is", "")
	}
}

// elapses reports whether a recurrence has a rule that counts minutes or hours, and not the days of a calendar.
func elapses(r *job.Recurrence) bool {
	counts := func(frequency string) bool { return frequency == "minute" || frequency == "hour" }
	return !r.Notated() && counts(r.Frequency) ||
		slices.ContainsFunc(r.Also, func(f job.FurtherRule) bool { return counts(f.Frequency) })
}
