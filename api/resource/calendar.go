package resource

import (
	"time"

	"almanac/job"
	"almanac/job/preview"
)

// A Calendar is a calendar of a job collection or a subscription.
type Calendar struct {
	ID         string `json:"id"`
	Type       string `json:"type"`
	Name       string `json:"name"`
	Properties struct {
		job.Calendar
		Version int `json:"version"`
		Entries int `json:"entries,omitempty"` // in a list, in place of the days

		Status *job.CalendarStatus `json:"status,omitempty"` // if its horizon is near
	} `json:"properties"`
}

// NewCalendar returns the form of a calendar at a time.
func NewCalendar(c job.KeptCalendar, now time.Time) Calendar {
	r := Calendar{ID: c.Key.ARMID(), Type: c.Key.Type(), Name: calendarName(c.Key)}
	r.Properties.Calendar, r.Properties.Version, r.Properties.Entries = c.Calendar, c.Version, c.Listed
	r.Properties.Status = c.Calendar.Status(now)
	return r
}

// CalendarEntry returns what makes an entry of a list of calendars at a time.
func CalendarEntry(now time.Time) func(job.KeptCalendar) any {
	return func(c job.KeptCalendar) any {
		if c.Unread != "" {
			return unread(c.Key.ARMID(), c.Key.Type(), calendarName(c.Key), c.Unread)
		}
		return NewCalendar(c, now)
	}
}

// calendarName returns the name of a calendar in its resource.
func calendarName(k job.CalendarKey) string {
	if k.Scope.Name == "" {
		return k.Name
	}
	return k.Scope.Name + "/" + k.Name
}

// A CalendarUser is a job that uses a calendar.
type CalendarUser struct {
	ID         string `json:"id"`
	Type       string `json:"type"`
	Name       string `json:"name"`
	Properties struct {
		OnMatch     string             `json:"onMatch"`
		State       job.State          `json:"state"`
		Reason      string             `json:"reason,omitempty"`
		Adjustments []preview.Adjusted `json:"adjustments"`
		Until       *job.Time          `json:"until"`
	} `json:"properties"`
}

// CalendarUsage returns an entry of a list of the jobs that use a calendar.
func CalendarUsage(u preview.Usage) any {
	if u.Unread != "" {
		return unreadEntry(u.Key, u.Unread)
	}
	r := CalendarUser{ID: u.Key.ARMID(), Type: typeJob, Name: jobName(u.Key)}
	p := &r.Properties
	p.OnMatch, p.State, p.Reason, p.Until = u.OnMatch, u.State, u.Idle, job.NewTime(u.Until)
	p.Adjustments = make([]preview.Adjusted, len(u.Adjustments))
	for i := range u.Adjustments {
		p.Adjustments[i] = u.Adjustments[i].Answer()
	}
	return r
}
