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
	return c.TryJobBody(ctx, collection, name, Job{Properties: p})
}

// TryJobBody is [Client.TryJob] with any body, such as a [encoding/json.RawMessage] that a user wrote.
func (c *Client) TryJobBody(ctx context.Context, collection, name string, body any) (tried Trial, err error) {
	_, err = c.call(ctx, message{method: http.MethodPost, at: c.jobAt(collection, name, "try"), body: body}, &tried)
	return tried, err
}
