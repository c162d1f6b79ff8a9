package client

import (
	"context"
	"iter"
	"net/http"
	"time"
)

// A Calendar says which days are off, for the jobs of a job collection or of a subscription. The API ignores ID, Type
// and Name in requests: the path has the name.
type Calendar struct {
	ID         string             `json:"id,omitempty"`
	Type       string             `json:"type,omitempty"`
	Name       string             `json:"name,omitempty"`
	Properties CalendarProperties `json:"properties"`

	ETag string `json:"-"` // for [IfMatch]; entries of lists have none
}

// CalendarProperties are the days of a calendar. Days are dates such as 2026-01-31.
type CalendarProperties struct {
	WeekendDays   []string         `json:"weekendDays"` // monday to sunday; required, and may be empty
	Days          []CalendarDay    `json:"days,omitempty"`
	Periods       []CalendarPeriod `json:"periods,omitempty"`
	MakeUpDays    []CalendarDay    `json:"makeUpDays,omitempty"` // working days, although of a weekend or in a period
	TimeZone      string           `json:"timeZone,omitempty"`   // "": that of each job
	CompleteUntil string           `json:"completeUntil,omitempty"`
	Source        string           `json:"source,omitempty"`
	Description   string           `json:"description,omitempty"`

	Version int `json:"version,omitempty"` // only in answers
	Entries int `json:"entries,omitempty"` // only in lists, which have no days: how many there are

	Status *CalendarStatus `json:"status,omitempty"` // only in answers, when CompleteUntil is near or past
}

// A CalendarStatus says that the days of a calendar are known for few days more.
type CalendarStatus struct {
	DaysLeft int    `json:"daysLeft"` // less than 0 when that is past
	Reason   string `json:"reason"`
}

// A CalendarDay is a date with a name.
type CalendarDay struct {
	Date string `json:"date"`
	Name string `json:"name,omitempty"`
}

// A CalendarPeriod is the dates from First to Last, both included.
type CalendarPeriod struct {
	First string `json:"first"`
	Last  string `json:"last"`
	Name  string `json:"name,omitempty"`
}

// Calendars are those of a job collection or of the subscription; see [Client.CalendarsOf].
type Calendars struct {
	client     *Client
	collection string
}

// CalendarsOf returns the calendars of a job collection; those of the subscription for "".
func (c *Client) CalendarsOf(collection string) Calendars { return Calendars{c, collection} }

// at returns the place of the calendars, or of one of them.
func (c Calendars) at(name ...string) place {
	parts := append([]string{"calendars"}, name...)
	if c.collection == "" {
		return c.client.wholeSubscription(parts...)
	}
	return c.client.collectionAt(c.collection, parts...)
}

// List returns the calendars by name, without their days.
func (c Calendars) List(ctx context.Context, l List) iter.Seq2[Calendar, error] {
	return lists[Calendar](ctx, c.client, c.at(), nil, l)
}

// Page returns a page of the calendars by name, without their days.
func (c Calendars) Page(ctx context.Context, l List) (Page[Calendar], error) {
	return pageOf[Calendar](ctx, c.client, c.at(), nil, l)
}

// Get returns a calendar.
func (c Calendars) Get(ctx context.Context, name string, conditions ...Condition) (Calendar, error) {
	return calendarOf(get[Calendar](ctx, c.client, c.at(name), conditions...))
}

// Put creates or replaces a calendar. One that is the same keeps its version.
func (c Calendars) Put(
	ctx context.Context, name string, of CalendarProperties, conditions ...Condition,
) (Calendar, error) {
	return c.PutBody(ctx, name, Calendar{Properties: of}, conditions...)
}

// PutBody creates or replaces a calendar with any body, such as a [encoding/json.RawMessage] that a user wrote.
func (c Calendars) PutBody(ctx context.Context, name string, body any, conditions ...Condition) (Calendar, error) {
	return calendarOf(send[Calendar](ctx, c.client, http.MethodPut, c.at(name), body, conditions))
}

// Delete deletes a calendar.
func (c Calendars) Delete(ctx context.Context, name string, conditions ...Condition) error {
	_, err := c.client.call(ctx, message{method: http.MethodDelete, at: c.at(name), conditions: conditions}, nil)
	return err
}

// A CalendarUser is a job that uses a calendar. Its name has that of its job collection before it.
type CalendarUser struct {
	ID         string                 `json:"id"`
	Type       string                 `json:"type"`
	Name       string                 `json:"name"`
	Properties CalendarUserProperties `json:"properties"`
}

// CalendarUserProperties are what a calendar makes of the next runs of a job.
type CalendarUserProperties struct {
	OnMatch     string       `json:"onMatch"`
	State       JobState     `json:"state"`
	Reason      string       `json:"reason,omitempty"` // why nothing is due, if the job or its collection is not enabled
	Adjustments []Adjustment `json:"adjustments"`      // the runs that the calendar moves or skips
	Until       time.Time    `json:"until"`            // up to here that is complete: 90 days, or less if there are many
}

// Usage returns the jobs that use a calendar, with what it makes of their next runs.
func (c Calendars) Usage(ctx context.Context, name string, l List) iter.Seq2[CalendarUser, error] {
	return lists[CalendarUser](ctx, c.client, c.at(name, "usage"), nil, l)
}

// UsagePage returns a page of the jobs that use a calendar.
func (c Calendars) UsagePage(ctx context.Context, name string, l List) (Page[CalendarUser], error) {
	return pageOf[CalendarUser](ctx, c.client, c.at(name, "usage"), nil, l)
}

// calendarOf adds the headers of an answer to a calendar.
func calendarOf(found Calendar, a *answer, err error) (Calendar, error) {
	if err != nil {
		return found, err
	}
	found.ETag = a.header.Get("ETag")
	return found, nil
}
