package client

import (
	"context"
	"net/http"
	"time"
)

// A Trial is what became of an action that was sent once, without being saved.
type Trial struct {
	Status      Outcome   `json:"status"`
	StartTime   time.Time `json:"startTime"`
	EndTime     time.Time `json:"endTime"`
	Message     string    `json:"message"`          // as in the history
	Reason      string    `json:"reason,omitempty"` // why it failed, in one sentence
	ExecutionID string    `json:"executionId"`      // what the receiver got
}

// TryJob sends the action of a definition once, and saves nothing. The job need not exist. If it does, the secrets that
// are left out are those that [Client.PutJob] would keep.
func (c *Client) TryJob(ctx context.Context, collection, name string, p JobProperties) (tried Trial, err error) {
	m := message{method: http.MethodPost, at: c.jobAt(collection, name, "try"), body: Job{Properties: p}}
	_, err = c.call(ctx, m, &tried)
	return tried, err
}
