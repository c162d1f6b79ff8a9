package job

import (
	"fmt"
	"slices"

	"almanac/internal/fields"
	"almanac/recurrence/calendars"
)

// A CalendarUse is a calendar by which a job runs, and what becomes of an occurrence on a day that it matches. The name is
// that of a calendar of the job's collection, or else of its subscription.
type CalendarUse struct {
	Name    string `json:"name" field:"required"`
	OnMatch string `json:"onMatch,omitempty" field:"default=skip,enum=skip|only|nextWorkingDay|previousWorkingDay|nextWorkingDayInMonth|previousWorkingDayInMonth"`
}

// Policy returns what becomes of an occurrence; false for a word that this program does not know.
func (u *CalendarUse) Policy() (calendars.Policy, bool) {
	if u.OnMatch == "" {
		return calendars.Skip, true
	}
	return calendars.ParsePolicy(u.OnMatch)
}

// CalendarNames returns the names of the calendars of a recurrence, in their order; nil for a job that runs once.
func (r *Recurrence) CalendarNames() (names []string) {
	if r == nil {
		return nil
	}
	for _, use := range r.Calendars {
		names = append(names, use.Name)
	}
	return names
}

// ByCalendars reports whether calendars say when the job runs.
func (r *Recurrence) ByCalendars() bool { return r != nil && len(r.Calendars) > 0 }

// Uses returns the calendars of the recurrence, ready for use. kept are the calendars with its names, in their order.
func (r *Recurrence) Uses(kept []KeptCalendar) ([]calendars.Use, error) {
	if !r.ByCalendars() {
		return nil, nil
	}
	if len(kept) != len(r.Calendars) {
		return nil, fmt.Errorf("%d calendars for a recurrence that has %d", len(kept), len(r.Calendars))
	}
	var uses []calendars.Use
	for i := range kept {
		use := &r.Calendars[i]
		policy, ok := use.Policy()
		if !ok {
			return nil, fmt.Errorf("onMatch %q of the calendar %q is not known to this version", use.OnMatch, use.Name)
		}
		table, err := kept[i].Calendar.Table(kept[i].Version)
		if err != nil {
			return nil, fmt.Errorf("the calendar %q: %w", use.Name, err)
		}
		uses = append(uses, calendars.Use{Name: use.Name, OnMatch: policy, Table: table})
	}
	return uses, nil
}

// UnknownCalendar returns the error of a job in a collection whose recurrence names, at an index, a calendar that exists
// neither there nor in the subscription. names are those that exist.
func UnknownCalendar(k CollectionKey, r *Recurrence, index int, names []string) *Error {
	name := r.Calendars[index].Name
	hint := fmt.Sprintf("no calendar has this name in the job collection %q or in the subscription %q", k.Name, k.Subscription)
	if near := fields.Nearest(name, names); near != "" {
		hint += fmt.Sprintf("; did you mean %q?", near)
	}
	return &Error{Kind: KindInvalid, Code: "BadRequest", Message: "The job is not valid", Fields: []*FieldError{{
		Path: fmt.Sprintf("properties.recurrence.calendars[%d].name", index), Code: fields.Invalid, Value: name, Hint: hint,
		Allowed: "the name of a calendar of the job collection or of the subscription",
	}}}
}

// NoCalendar returns the error of a question about a recurrence that names a calendar, where that cannot be read. instead
// says where it can.
func NoCalendar(r *Recurrence, name, instead string) *Error {
	i := slices.Index(r.CalendarNames(), name)
	return &Error{Kind: KindInvalid, Code: "BadRequest", Message: "The job is not valid", Fields: []*FieldError{{
		Path: fmt.Sprintf("properties.recurrence.calendars[%d].name", i), Code: fields.Invalid, Value: name,
		Allowed: "a calendar that is given", Hint: instead,
	}}}
}

// CheckCalendarName returns the error of a name that no calendar can have; nil if there is none.
func CheckCalendarName(name string) *FieldError { return checkName("", name, maxCalendarName) }

// Text returns what becomes of an occurrence on a day that the calendar matches, in English, to stand after a rule.
func (u *CalendarUse) Text() string {
	policy, _ := u.Policy()
	return policy.Describe(u.Name)
}

// withWorkingDays returns the text of a rule with the numbers of its working days.
func (f *FurtherRule) withWorkingDays(text string) string {
	numbers := f.workingDays()
	if len(numbers) == 0 {
		return text
	}
	return calendars.DescribeWorkingDays(text, numbers, len(f.Schedule.MonthDays)+len(f.Schedule.MonthlyOccurrences) > 0)
}
