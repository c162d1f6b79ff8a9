package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// An Explanation says why an occurrence of a job ran late or not at all, or whether one to come will run.
type Explanation struct {
	ID         string                `json:"id"`
	Type       string                `json:"type"`
	Name       string                `json:"name"` // of the job collection and of the job, and the time
	Properties ExplanationProperties `json:"properties"`
}

// ExplanationProperties are the answer and the facts from which it follows.
type ExplanationProperties struct {
	Time     time.Time `json:"time"`
	Outcome  string    `json:"outcome"` // such as missed; the description of the API lists them, and the causes
	Cause    string    `json:"cause"`
	Sentence string    `json:"sentence"`

	PreviousExecutionTime time.Time `json:"previousExecutionTime,omitzero"` // the nearest occurrences of the schedule
	NextExecutionTime     time.Time `json:"nextExecutionTime,omitzero"`
	Execution             string    `json:"execution,omitempty"`      // its id
	OtherExecution        string    `json:"otherExecution,omitempty"` // of the one that it waited for, or was left out for

	Split   *Split   `json:"split,omitempty"` // of one that ran
	Facts   []Fact   `json:"facts"`           // oldest first
	Hazards []string `json:"hazards,omitempty"`
	Unread  []string `json:"unread,omitempty"` // what could not be read, or is not kept
}

// A Split is what an execution waited for, in seconds.
type Split struct {
	Lateness        float64 `json:"lateness"` // the sum of the next three
	Worker          float64 `json:"worker"`
	Server          float64 `json:"server"`
	Place           float64 `json:"place"`
	Send            float64 `json:"send"`
	EarlierAttempts float64 `json:"earlierAttempts"`
}

// A Fact is what is recorded, and where.
type Fact struct {
	Time   time.Time `json:"time,omitzero"`
	Text   string    `json:"text"`
	Source string    `json:"source"`
	ID     string    `json:"id,omitempty"` // of the entry of the history, the change or the execution
}

// Explain says why the occurrence of a job that was due at a time ran late or not at all, and of one to come whether it
// will run. The time is as in the body of a job: without an offset it is local time in the job's time zone. "" asks about
// the latest occurrence that was due.
func (c *Client) Explain(ctx context.Context, collection, name, at string) (Explanation, error) {
	query := url.Values{}
	if at != "" {
		query.Set("at", at)
	}
	var e Explanation
	_, err := c.call(ctx, message{method: http.MethodGet, at: c.jobAt(collection, name, "explain"), query: query}, &e)
	return e, err
}
