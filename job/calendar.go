package job

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"almanac/internal/fields"
	"almanac/recurrence"
	"almanac/recurrence/calendars"
)

// A CalendarKey names a calendar of a job collection, or of a subscription if the collection has no name.
type CalendarKey struct {
	Scope CollectionKey `json:"scope"`
	Name  string        `json:"name"`
}

// SubscriptionScope returns the scope of the calendars of a subscription.
func SubscriptionScope(subscription string) CollectionKey {
	return CollectionKey{Subscription: subscription}
}

// Calendar returns the key of a calendar of the collection, or of the subscription if k has no other name.
func (k CollectionKey) Calendar(name string) CalendarKey { return CalendarKey{Scope: k, Name: name} }

// scopeID returns the resource ID of a collection, or that of a subscription with the provider.
func (k CollectionKey) scopeID() string {
	if k.Name == "" {
		return "/subscriptions/" + k.Subscription + "/providers/Microsoft.Scheduler"
	}
	return k.ARMID()
}

// scopePath returns the path of a collection or a subscription in IDs of workflows.
func (k CollectionKey) scopePath() string {
	if k.Name == "" {
		return k.Subscription
	}
	return k.Subscription + "/" + k.Path()
}

// ARMID returns the calendar's resource ID.
func (k CalendarKey) ARMID() string { return k.Scope.scopeID() + "/calendars/" + k.Name }

// Type returns the type of the resource.
func (k CalendarKey) Type() string {
	if k.Scope.Name == "" {
		return "Microsoft.Scheduler/calendars"
	}
	return "Microsoft.Scheduler/jobCollections/calendars"
}

// WorkflowID returns the ID of the calendar's workflow.
func (k CalendarKey) WorkflowID() string {
	return workflowID("calendar/" + k.Scope.scopePath() + "/" + k.Name)
}

// CalendarsWorkflowID returns the ID of the workflow that lists the calendars of a collection, or of a subscription if
// k has no other name.
func (k CollectionKey) CalendarsWorkflowID() string { return workflowID("calendars/" + k.scopePath()) }

// maxCalendarName is the limit of the name of a calendar, in characters: a job names up to eight.
const maxCalendarName = 80

// Validate returns an error that lists the names that are not allowed.
func (k CalendarKey) Validate() error {
	if err := k.Scope.ValidateScope(); err != nil {
		return err
	}
	return invalidNames(checkName("calendarName", k.Name, maxCalendarName))
}

// ValidateScope is Validate for the scope of calendars: a collection, or a subscription if k has no other name.
func (k CollectionKey) ValidateScope() error {
	if k.Name == "" && k.ResourceGroup == "" {
		return invalidNames(checkName("subscriptionId", k.Subscription, maxName))
	}
	return k.Validate()
}

// A Calendar says which days are off. Its JSON is both the wire form and the stored form.
type Calendar struct {
	WeekendDays   []string      `json:"weekendDays" field:"required,enum=monday|tuesday|wednesday|thursday|friday|saturday|sunday"`
	Days          []NamedDay    `json:"days,omitempty"`
	Periods       []NamedPeriod `json:"periods,omitempty"`
	MakeUpDays    []NamedDay    `json:"makeUpDays,omitempty"`
	TimeZone      string        `json:"timeZone,omitempty" field:"rule=timeZone"`
	CompleteUntil string        `json:"completeUntil,omitempty" field:"rule=date"`
	Source        string        `json:"source,omitempty"`
	Description   string        `json:"description,omitempty"`

	_ struct{} `ignore:"version,entries,status"` // clients send back what they read
}

// A NamedDay is a date with a name, which may be empty.
type NamedDay struct {
	Date string `json:"date" field:"required,rule=date"`
	Name string `json:"name,omitempty"`
}

// A NamedPeriod is the dates from First to Last, both included.
type NamedPeriod struct {
	First string `json:"first" field:"required,rule=date"`
	Last  string `json:"last" field:"required,rule=date"`
	Name  string `json:"name,omitempty"`
}

// Limits of calendars.
const (
	MaxCalendarBytes     = 128 << 10 // of a calendar as it is stored
	MaxCalendarBodyBytes = 192 << 10 // of the body of a PUT
	MaxCalendars         = 100       // of a collection, and of a subscription
	MaxCalendarSource    = 1 << 10   // bytes; it is in lists, as the description is
	MaxCalendarText      = 2 << 10   // bytes of a description
)

// Entries returns how many days, periods and make-up days the calendar has.
func (c *Calendar) Entries() int { return len(c.Days) + len(c.Periods) + len(c.MakeUpDays) }

// LongestList returns the name of the list of the calendar that has the most entries.
func (c *Calendar) LongestList() string {
	switch n := len(c.Days); {
	case n >= len(c.Periods) && n >= len(c.MakeUpDays):
		return "days"
	case len(c.Periods) >= len(c.MakeUpDays):
		return "periods"
	}
	return "makeUpDays"
}

// Table returns the calendar in a version, ready for use. The error joins a [*FieldError] for each bad field, with its
// path within the calendar.
func (c *Calendar) Table(version int) (*calendars.Table, error) {
	t := calendars.Calendar{WeekendDays: []time.Weekday{}, Version: version}
	if c.WeekendDays == nil {
		t.WeekendDays = nil
	}
	var errs []error
	date := func(path, text string) calendars.Date {
		d, err := calendars.ParseDate(text)
		if err != nil {
			errs = append(errs, &FieldError{
				Path: path, Code: fields.Invalid, Value: text, Allowed: "a date such as 2026-01-31",
			})
		}
		return d
	}
	days := func(path string, list []NamedDay) (all []calendars.Day) {
		for i, d := range list {
			all = append(all, calendars.Day{Date: date(fields.ItemPath(path, i)+".date", d.Date), Name: d.Name})
		}
		return all
	}
	for _, d := range c.WeekendDays {
		t.WeekendDays = append(t.WeekendDays, weekdays[d])
	}
	t.Days, t.MakeUpDays = days("days", c.Days), days("makeUpDays", c.MakeUpDays)
	for i, p := range c.Periods {
		at := fields.ItemPath("periods", i)
		first, last := date(at+".first", p.First), date(at+".last", p.Last)
		t.Periods = append(t.Periods, calendars.Period{First: first, Last: last, Name: p.Name})
	}
	if c.CompleteUntil != "" {
		t.CompleteUntil = new(date("completeUntil", c.CompleteUntil))
	}
	if c.TimeZone != "" {
		loc, err := recurrence.LoadLocation(c.TimeZone)
		if err != nil {
			errs = append(errs, &FieldError{
				Path: "timeZone", Code: fields.Invalid, Value: c.TimeZone, Allowed: AllowedTimeZones,
			})
		}
		t.Location = loc
	}
	if errs != nil {
		return nil, errors.Join(errs...)
	}
	table, err := calendars.NewTable(t)
	return table, tableErrors(err)
}

// tableErrors returns the errors of package calendars as those of the members of a calendar.
func tableErrors(err error) error {
	var errs []error
	for _, f := range fields.Joined[*recurrence.FieldError](err) {
		path := strings.ToLower(f.Field[:1]) + f.Field[1:]
		if list, member, ok := strings.Cut(path, "]."); ok {
			path = list + "]." + strings.ToLower(member)
		}
		e := &FieldError{Path: path, Code: fields.Invalid, Value: f.Value, Allowed: f.Allowed}
		if f.Value == nil {
			e.Code = fields.Required
		}
		if _, tooMany := f.Value.(int); tooMany {
			e.Code, e.Value, e.Allowed = fields.TooMany, nil, fmt.Sprintf("%s (got %v)", f.Allowed, f.Value)
		}
		errs = append(errs, e)
	}
	if errs == nil {
		return err
	}
	return errors.Join(errs...)
}

// A KeptCalendar is a calendar as it is kept. Each change that changes anything makes its version one more.
type KeptCalendar struct {
	Key        CalendarKey `json:"key"` // as first written
	Calendar   Calendar    `json:"calendar"`
	Version    int         `json:"version"`
	Generation int         `json:"generation"` // greater than that of any earlier calendar of the name

	Listed int    `json:"entries,omitempty"` // number of entries, in a list, where Calendar has none
	Unread string `json:"-"`                 // why a calendar in a list could not be read
}

// Summary returns the calendar without its entries.
func (k KeptCalendar) Summary() KeptCalendar {
	k.Listed = k.Calendar.Entries()
	k.Calendar.Days, k.Calendar.Periods, k.Calendar.MakeUpDays = nil, nil, nil
	return k
}

// MissingCalendar returns the error of a calendar that does not exist.
func MissingCalendar(k CalendarKey) *Error {
	where := "under the subscription '" + k.Scope.Subscription + "'"
	if k.Scope.Name != "" {
		where = "in the job collection '" + k.Scope.Name + "'"
	}
	return &Error{
		Kind: KindNotFound, Code: "ResourceNotFound",
		Message: fmt.Sprintf("The Resource '%s/%s' was not found %s.", k.Type(), k.Name, where),
	}
}
