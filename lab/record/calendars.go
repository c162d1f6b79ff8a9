package record

import "time"

// The kinds of change of calendars.
const (
	PutCalendar    = "put-calendar"
	DeleteCalendar = "delete-calendar"
	// LoseCalendar ends the calendar's workflow from outside, so that no job can read it until it is put again.
	LoseCalendar = "lose-calendar"
)

// A Rule is that of a job with calendars. It fires in each minute of some hours on some days, or in each minute of all
// days.
type Rule struct {
	Zone        string // without daylight saving time
	Frequency   string // minute, day, week or month
	Hours       []int
	Minutes     []int
	WeekDays    []time.Weekday // of week
	WorkingDays []int          // of month: all are positive
	Uses        []Use
}

// A Use is a calendar of a job.
type Use struct{ Name, OnMatch string }

// A Calendar is one that jobs use, or what a request says of it. Dates are as in 2026-01-31.
type Calendar struct {
	Name          string
	WeekendDays   []time.Weekday
	Days          []DayOff
	Periods       []Period
	MakeUpDays    []string
	TimeZone      string
	CompleteUntil string

	Version int // that the answer says; 0: none
}

// A DayOff is a date with a name, which may be empty.
type DayOff struct{ Date, Name string }

// A Period is the dates from First to Last.
type Period struct{ First, Last, Name string }

// A CalendarDay is what an entry of a history says of a calendar.
type CalendarDay struct {
	Name    string
	Version int
	Day     string
}

// ByCalendars reports whether the job has calendars.
func (j *JobLog) ByCalendars() bool {
	created := j.Created()
	return created != nil && created.Definition != nil && created.Definition.Rule != nil
}
