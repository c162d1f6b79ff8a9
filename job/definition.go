package job

import (
	"cmp"
	"strings"
	"time"

	"almanac/recurrence"
	"almanac/recurrence/cron"
	"almanac/recurrence/rrule"
	_ "almanac/recurrence/tzdata" // all of Almanac uses one release of the time zone database
)

// A Definition is the part of a job that users write: the "properties" of the REST API. Its JSON is both
// the wire form, with members in the service's order, and the stored form.
type Definition struct {
	StartTime  *Time       `json:"startTime,omitempty" field:"rule=localTime"`
	Action     Action      `json:"action"`
	Recurrence *Recurrence `json:"recurrence,omitempty"`
	State      State       `json:"state" field:"rule=state,default=enabled"`

	// nil: those of the collection
	Notifications []Notification `json:"notifications,omitzero"`
	// failures in a row after which the job is disabled; 0: never
	DisableAfter int `json:"disableAfter,omitempty" field:"min=1,max=1000,quoted"`

	// each occurrence starts within this time after it is due: see [Spread]; "": as the collection says
	FlexibleWindow Duration `json:"flexibleWindow,omitempty" field:"rule=flexibleWindow"`

	// times in which no occurrence starts; at most calendars.MaxBlackouts
	Blackouts []Blackout `json:"blackouts,omitempty"`

	Local *LocalTimes `json:"local,omitempty" field:"stored"`

	// Owner is the id of the directory of job files that the job belongs to; "" if it was made by other means. Only who
	// applies those files sets it: whoever else replaces the definition keeps it.
	Owner string `json:"owner,omitempty" field:"stored"`

	_ struct{} `ignore:"status"` // clients send back what they read
}

// LocalTimes are the startTime and the recurrence.endTime of a job as local times in its zone, such as
// 2026-01-31T08:30:00, if they were written so: "" if they have an offset. With other rules of the zone they are other
// instants. They are stored, and no part of an answer.
type LocalTimes struct {
	Start string `json:"start,omitempty"`
	End   string `json:"end,omitempty"`
}

// KeepLocal keeps the local times of the definition that d replaces, if the instants are the same: clients send back
// the instants that they read.
func (d *Definition) KeepLocal(o *Definition) {
	if o.Local == nil || d.Recurrence == nil || o.Recurrence == nil || d.Recurrence.TimeZone != o.Recurrence.TimeZone {
		return
	}
	var l LocalTimes
	if d.Local != nil {
		l = *d.Local
	}
	if l.Start == "" && equalJSON(d.StartTime, o.StartTime) {
		l.Start = o.Local.Start
	}
	if l.End == "" && equalJSON(d.Recurrence.EndTime, o.Recurrence.EndTime) {
		l.End = o.Local.End
	}
	if l != (LocalTimes{}) {
		d.Local = &l
	}
}

// KeepOwner keeps the owner of the definition that d replaces: a job never gets from one owner to another.
func (d *Definition) KeepOwner(o *Definition) { d.Owner = cmp.Or(o.Owner, d.Owner) }

// A State is the state of a job. Users set StateEnabled and StateDisabled. The other two are final: an
// enabled job gets one of them when it has no occurrence left, and keeps it until a user changes the job.
type State string

// The states of a job.
const (
	StateEnabled   State = "enabled"
	StateDisabled  State = "disabled"
	StateCompleted State = "completed" // no occurrence is left, and the last execution succeeded
	StateFaulted   State = "faulted"   // no occurrence is left, and the last execution failed
)

// Final reports whether a job in this state has no occurrence left.
func (s State) Final() bool { return s == StateCompleted || s == StateFaulted }

// A Recurrence defines when a job repeats.
type Recurrence struct {
	Frequency     string        `json:"frequency,omitempty" field:"required,enum=minute|hour|day|week|month|year"`
	Count         int           `json:"count,omitempty" field:"min=1,max=2147483647"`
	EndTime       *Time         `json:"endTime,omitempty" field:"rule=localTime"`
	Interval      int           `json:"interval" field:"min=1,default=1"` // the maximum depends on the frequency
	Schedule      *Schedule     `json:"schedule,omitempty"`
	TimeZone      string        `json:"timeZone,omitempty" field:"rule=timeZone"`
	CatchUpWindow Duration      `json:"catchUpWindow,omitempty" field:"rule=catchUpWindow"`
	OverlapPolicy OverlapPolicy `json:"overlapPolicy,omitempty" field:"enum=BufferOne|Skip|AllowAll"`

	// Cron or RRule is the first rule in another notation; Frequency, Interval and Schedule are then what it means, if
	// they can say it; Frequency is not required. See docs/cron.md.
	Cron  string `json:"cron,omitempty"`
	RRule string `json:"rrule,omitempty"`

	Also       []FurtherRule `json:"also,omitempty"`       // fires too; at most MaxFurtherRules
	Exclusions []Exclusion   `json:"exclusions,omitempty"` // what is left out; at most MaxExclusions

	Calendars []CalendarUse `json:"calendars,omitempty"` // at most calendars.MaxCalendars
}

// The maximum numbers of further rules and of exclusions of a recurrence.
const (
	MaxFurtherRules = 7
	MaxExclusions   = 100
)

// A Schedule restricts a recurrence to parts of the calendar.
type Schedule struct {
	Minutes            []int               `json:"minutes,omitempty" field:"min=0,max=59,quoted"`
	Hours              []int               `json:"hours,omitempty" field:"min=0,max=23,quoted"`
	WeekDays           []string            `json:"weekDays,omitempty" field:"enum=monday|tuesday|wednesday|thursday|friday|saturday|sunday"`
	MonthDays          []int               `json:"monthDays,omitempty" field:"min=-31,max=31,nonzero,quoted"`
	MonthlyOccurrences []MonthlyOccurrence `json:"monthlyOccurrences,omitempty"`
	Months             []int               `json:"months,omitempty" field:"min=1,max=12,quoted"`
	// numbers of working days of the month, by the calendars of the recurrence; a further filter
	WorkingDays []int `json:"workingDays,omitempty" field:"min=-31,max=31,nonzero,quoted"`
}

// A MonthlyOccurrence is a weekday of a month: the first, the last …, or every one.
type MonthlyOccurrence struct {
	Day        string `json:"day" field:"required,enum=monday|tuesday|wednesday|thursday|friday|saturday|sunday"`
	Occurrence int    `json:"occurrence,omitempty" field:"min=-5,max=5,nonzero,quoted"` // ±1 to ±5; 0: every such day
}

// An OverlapPolicy defines what happens to an occurrence that comes due while the previous execution is
// running or waiting for a retry.
type OverlapPolicy string

// The overlap policies. The zero value means OverlapBufferOne.
const (
	OverlapBufferOne OverlapPolicy = "BufferOne" // one occurrence waits and runs right after; further ones are missed
	OverlapSkip      OverlapPolicy = "Skip"      // the occurrence is skipped
	OverlapAllowAll  OverlapPolicy = "AllowAll"  // the occurrence runs at once, in parallel
)

// Overlap returns the overlap policy, OverlapBufferOne by default.
func (r *Recurrence) Overlap() OverlapPolicy {
	if r == nil {
		return OverlapBufferOne
	}
	return cmp.Or(r.OverlapPolicy, OverlapBufferOne)
}

// CatchUp returns the catch-up window: an occurrence that could not run when it was due still runs if it is
// not older than that. The default is 0.
func (r *Recurrence) CatchUp() time.Duration {
	if r == nil {
		return 0
	}
	return r.CatchUpWindow.Value()
}

// Limit returns the maximum number of occurrences to start; 0 means no limit.
func (d *Definition) Limit() int {
	if d.Recurrence == nil {
		return 1
	}
	return d.Recurrence.Count
}

// SameSchedule reports whether both definitions have the same start time and recurrence, so that one can
// take over the other's plan.
func (d *Definition) SameSchedule(o *Definition) bool {
	return equalJSON(d.StartTime, o.StartTime) && equalJSON(d.Recurrence.timing(), o.Recurrence.timing())
}

// SameBlackouts reports whether both definitions have the same blackouts.
func (d *Definition) SameBlackouts(o *Definition) bool {
	return len(d.Blackouts) == 0 && len(o.Blackouts) == 0 || equalJSON(d.Blackouts, o.Blackouts)
}

// timing returns the part of the recurrence that decides when occurrences are due.
func (r *Recurrence) timing() *Recurrence {
	if r == nil {
		return nil
	}
	t := *r
	t.CatchUpWindow, t.OverlapPolicy = "", ""
	return &t
}

// AllowedTimeZones describes the values of timeZone, for errors.
const AllowedTimeZones = "an IANA time zone such as Europe/Stockholm, or a Windows one such as W. Europe Standard Time"

// Rule returns the first rule of the recurrence as one of package recurrence, counted from an anchor. The anchor matters
// to an RRULE alone. If its time zone is unknown, the rule lacks it, and the error is a [*FieldError].
func (r *Recurrence) Rule(anchor time.Time) (recurrence.Rule, error) {
	loc, err := r.Location()
	rule := r.plain()
	switch {
	case r.Cron != "":
		if rule, err = cron.Parse(r.Cron); err != nil {
			return rule, notationError("recurrence.cron", r.Cron, err)
		}
	case r.RRule != "":
		set, err := rrule.ParseSet(r.RRule, anchor, loc)
		if err != nil {
			return rule, notationError("recurrence.rrule", r.RRule, err)
		}
		rule = set.Rule
	}
	if r.Notated() {
		rule.Count = cmp.Or(r.Count, rule.Count)
		if r.EndTime != nil && (rule.End.IsZero() || r.EndTime.Before(rule.End)) {
			rule.End = r.EndTime.Time
		}
	}
	rule.Location = loc
	return rule, err
}

// plain returns the rule that Frequency, Interval and Schedule say, without a time zone.
func (r *Recurrence) plain() recurrence.Rule {
	// New reports an unknown frequency together with the other bad fields
	f, _ := recurrence.ParseFrequency(r.Frequency)
	rule := recurrence.Rule{Frequency: f, Interval: r.Interval, Count: r.Count}
	if r.EndTime != nil {
		rule.End = r.EndTime.Time
	}
	if s := r.Schedule; s != nil {
		rule.Minutes, rule.Hours, rule.MonthDays, rule.Months = s.Minutes, s.Hours, s.MonthDays, s.Months
		for _, d := range s.WeekDays {
			rule.WeekDays = append(rule.WeekDays, weekdays[d])
		}
		for _, o := range s.MonthlyOccurrences {
			rule.MonthlyOccurrences = append(rule.MonthlyOccurrences, recurrence.MonthlyOccurrence{Day: weekdays[o.Day], Occurrence: o.Occurrence})
		}
		if len(s.WorkingDays) > 0 && len(s.MonthDays)+len(s.MonthlyOccurrences) == 0 {
			rule.MonthDays = everyMonthDay // and not that of the start time
		}
	}
	return rule
}

// everyMonthDay are the days on which a rule of months may fire that names working days, and no other days.
var everyMonthDay = []int{
	1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
}

var weekdays = map[string]time.Weekday{
	"sunday": time.Sunday, "monday": time.Monday, "tuesday": time.Tuesday, "wednesday": time.Wednesday,
	"thursday": time.Thursday, "friday": time.Friday, "saturday": time.Saturday,
}

// Text returns a line for people: what the job does and how often.
func (d *Definition) Text() string {
	when := "once"
	if d.Recurrence != nil {
		when = Shorten(d.When(), 150)
	}
	return d.Action.Text() + ", " + when
}

// When returns when the job repeats, in English, such as "every 2 weeks on Monday
// at 09:00, Europe/Stockholm". It is empty for a job that runs once.
func (d *Definition) When() string {
	if d.Recurrence == nil {
		return ""
	}
	var start time.Time
	if d.StartTime != nil {
		start = d.StartTime.Time
	}
	rule, _ := d.Recurrence.Rule(start) // a time zone that is unknown by now is left out
	text := []string{d.Recurrence.first().withWorkingDays(rule.Describe(start)) + d.Recurrence.besides(start)}
	for i := range d.Blackouts {
		text = append(text, d.Blackouts[i].Text())
	}
	return strings.Join(text, "; ")
}

// Equal reports whether both definitions have the same stored form.
func (d *Definition) Equal(o *Definition) bool { return equalJSON(d, o) }
