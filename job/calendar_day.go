package job

import (
	"fmt"
	"strings"
	"time"

	"almanac/recurrence/calendars"
)

// A CalendarDay is a calendar that moved or dropped an occurrence, and the day for which it did: the name of a day off,
// its date, or a day of the week; "" if the calendar does not have that day, and the job runs on its days alone.
type CalendarDay struct {
	Name    string `json:"name"`
	Version int    `json:"version,omitempty"` // 0 for one that is not kept
	Day     string `json:"day,omitempty"`
}

// ByCalendars is what calendars say of an occurrence: its nominal time, if that is not its due time; those that object to
// it; and those whose horizon it is behind.
type ByCalendars struct {
	Nominal       time.Time     `json:"nominal,omitzero"` // zero: the due time
	Calendars     []CalendarDay `json:"calendars,omitempty"`
	BeyondHorizon []string      `json:"beyondHorizon,omitempty"`
	Blackout      *BlackoutUse  `json:"blackout,omitempty"` // that made it due later; nil: none did
}

// CalendarDayOf returns the first calendar that objects to the nominal time of an occurrence; nil if none does.
func CalendarDayOf(o *calendars.Occurrence) *CalendarDay {
	if o.Objection.Name == "" {
		return nil
	}
	day := o.Objection.Day
	if len(day) > maxDay {
		day = strings.ToValidUTF8(day[:maxDay], "") + "…"
	}
	return &CalendarDay{Name: o.Objection.Name, Version: o.Objection.Version, Day: day}
}

// maxDay is how much of the name of a day is kept, in bytes: it is in the state of a job, once for each occurrence.
const maxDay = 120

// String returns the calendar and the day in English.
func (c *CalendarDay) String() string {
	if c.Day == "" {
		return fmt.Sprintf("the calendar %s (version %d) does not have that day", c.Name, c.Version)
	}
	return fmt.Sprintf("the calendar %s (version %d) has %s", c.Name, c.Version, c.Day)
}

// WhyByCalendar returns why an occurrence does not run that its calendars drop, in the words that follow those of
// [Outcome.NotRun].
func WhyByCalendar(o *calendars.Occurrence) string {
	by, blackout := CalendarDayOf(o), BlackoutOf(o)
	switch {
	case o.Reason == calendars.InBlackout:
		return fmt.Sprintf("%s covers that time, until %s", blackout, NewTime(o.Over))
	case o.Reason == calendars.NoAllowedTime && blackout != nil:
		return fmt.Sprintf("%s covers that time, and no other within %d days is free of blackouts", blackout, calendars.MaxReach)
	case o.Reason == calendars.NoAllowedTime:
		return fmt.Sprintf("no time within %d days is free of blackouts", calendars.MaxReach)
	case o.Reason == calendars.SameTime && blackout != nil:
		return fmt.Sprintf("%s held it, and of what is due when that is over the occurrence of %s alone runs", blackout, NewTime(o.SameAs))
	case o.Reason == calendars.TooManyHeld:
		return fmt.Sprintf("%s held more than run when it is over", blackout)
	case o.Reason == calendars.SameTime:
		return "the occurrence of " + o.SameAs.UTC().Format(time.RFC3339) + " is due at the same time"
	case by == nil:
		return "its calendars leave no time for it"
	case o.Reason == calendars.NoWorkingDay:
		return fmt.Sprintf("%s, and there is no working day to which it could move within %d days", by, calendars.MaxReach)
	}
	return by.String()
}

// Because returns why calendars or blackouts move or drop an occurrence, to follow "because"; times are in a zone.
func Because(o *calendars.Occurrence, zone *time.Location) string {
	switch blackout := BlackoutOf(o); {
	case blackout != nil && !o.Ran():
		return WhyByCalendar(o)
	case blackout != nil:
		return fmt.Sprintf("%s covers that time", blackout)
	}
	why := "of its calendars"
	if by := CalendarDayOf(o); by != nil && by.Day != "" {
		why = by.Name + " has " + by.Day
	} else if by != nil {
		why = by.Name + " does not have that day"
	}
	switch {
	case o.Reason == calendars.SameTime:
		same := "the run of " + o.SameAs.In(zone).Format("Mon 2006-01-02 15:04") + " is due at the same time"
		if o.Objection.Name == "" {
			return same
		}
		return why + ", and " + same
	case o.Reason == calendars.NoWorkingDay:
		return why + ", and no working day is in reach"
	case !o.TooLate.IsZero():
		return why + ", and " + o.TooLate.In(zone).Format("Mon 2006-01-02 15:04") + " is past"
	}
	return why
}
