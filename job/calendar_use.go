package job

import (
	"fmt"

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
