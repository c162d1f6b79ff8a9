package client

import (
	"context"
	"iter"
	"net/url"
	"time"
)

// An Outcome is how an attempt or an execution ended, or why none was made.
type Outcome string

// The outcomes.
const (
	OutcomeCompleted Outcome = "Completed"
	OutcomeFailed    Outcome = "Failed"
	OutcomeMissed    Outcome = "Missed"    // nothing could run it in time
	OutcomeSkipped   Outcome = "Skipped"   // the one before it still ran
	OutcomeCancelled Outcome = "Cancelled" // it was withdrawn before it was sent
)

// An ActionName says which action of a job was performed.
type ActionName string

// The actions of a job.
const (
	MainAction  ActionName = "MainAction"
	ErrorAction ActionName = "ErrorAction"
)

// A History is an entry of the history of a job.
type History struct {
	ID         string            `json:"id"`
	Type       string            `json:"type"`
	Name       string            `json:"name"` // of the job collection and of the job, and the key of the entry
	Properties HistoryProperties `json:"properties"`
}

// HistoryProperties are an attempt, or an occurrence that was not run. Times that are zero are absent.
type HistoryProperties struct {
	StartTime             time.Time  `json:"startTime,omitzero"`
	EndTime               time.Time  `json:"endTime,omitzero"`
	ExpectedExecutionTime time.Time  `json:"expectedExecutionTime,omitzero"`
	Status                Outcome    `json:"status"`
	Message               string     `json:"message,omitempty"`
	RetryCount            int        `json:"retryCount"`  // 0 for the first attempt
	RepeatCount           int        `json:"repeatCount"` // the number of the execution; 0 for one that was not begun
	ActionName            ActionName `json:"actionName"`
	Caller                string     `json:"caller,omitempty"`      // who ran the job by hand
	PlannedStart          time.Time  `json:"plannedStart,omitzero"` // by the flexible window of the job
	Recovered             bool       `json:"recovered,omitempty"`   // it was held while the job or its collection was disabled
	Backfill              string     `json:"backfill,omitempty"`    // that ran it

	// When the rule of a job with calendars fired for it, the calendars that moved or skipped it, and the names of those
	// that do not know its days yet.
	NominalTime   time.Time        `json:"nominalTime,omitzero"`
	Calendars     []CalendarReason `json:"calendars,omitempty"`
	BeyondHorizon []string         `json:"beyondHorizon,omitempty"`

	Blackout *BlackoutReason `json:"blackout,omitempty"` // that skipped it, or made it due later; nil: none did
}

// A BlackoutReason is a blackout that skipped an occurrence, or made it due later.
type BlackoutReason struct {
	Name       string `json:"name"`
	Collection bool   `json:"collection,omitempty"` // it is one of the job collection
}

// A CalendarReason is a calendar in a version, and the day in it that moved or skipped an occurrence.
type CalendarReason struct {
	Name    string `json:"name"`
	Version int    `json:"version,omitempty"` // 0 for one that was in a request
	Day     string `json:"day,omitempty"`     // "" if the job runs only on days of the calendar
}

// History returns the history of a job, newest first: an entry for every attempt, and for every occurrence that was not
// run.
func (c *Client) History(ctx context.Context, collection, name string, l List) iter.Seq2[History, error] {
	return lists[History](ctx, c, c.jobAt(collection, name, "history"), nil, l)
}

// HistoryPage returns a page of the history of a job.
func (c *Client) HistoryPage(ctx context.Context, collection, name string, l List) (Page[History], error) {
	return pageOf[History](ctx, c, c.jobAt(collection, name, "history"), nil, l)
}

// HistoryAcross returns the history of all jobs of a scope, newest first. Without a condition on startTime it goes back 24
// hours.
func (c *Client) HistoryAcross(ctx context.Context, of Scope, l List) iter.Seq2[History, error] {
	return lists[History](ctx, c, c.scoped(of, "history"), nil, l)
}

// HistoryAcrossPage returns a page of the history of all jobs of a scope.
func (c *Client) HistoryAcrossPage(ctx context.Context, of Scope, l List) (Page[History], error) {
	return pageOf[History](ctx, c, c.scoped(of, "history"), nil, l)
}

// An Upcoming is an occurrence of a job that is to come.
type Upcoming struct {
	ID         string             `json:"id"` // of the job
	Type       string             `json:"type"`
	Name       string             `json:"name"` // of the job collection and of the job
	Properties UpcomingProperties `json:"properties"`
}

// UpcomingProperties are when an occurrence is due.
type UpcomingProperties struct {
	ExpectedExecutionTime time.Time `json:"expectedExecutionTime"`
}

// Upcoming returns when the jobs of a scope come due from now until a time, up to 7 days from now; an hour from now if it
// is zero. They are in the order of their due times.
func (c *Client) Upcoming(ctx context.Context, of Scope, until time.Time, l List) iter.Seq2[Upcoming, error] {
	return lists[Upcoming](ctx, c, c.scoped(of, "upcoming"), untilQuery(until), l)
}

// UpcomingPage returns a page of when the jobs of a scope come due.
func (c *Client) UpcomingPage(ctx context.Context, of Scope, until time.Time, l List) (Page[Upcoming], error) {
	return pageOf[Upcoming](ctx, c, c.scoped(of, "upcoming"), untilQuery(until), l)
}

func untilQuery(until time.Time) url.Values {
	if until.IsZero() {
		return nil
	}
	return url.Values{"until": {string(At(until))}}
}
