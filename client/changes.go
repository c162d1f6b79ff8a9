package client

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// A Change is a change of a job or of a job collection.
type Change struct {
	ID         string           `json:"id"`
	Type       string           `json:"type"`
	Name       string           `json:"name"`
	Properties ChangeProperties `json:"properties"`
}

// ChangeProperties say who asked for a change, and what it was.
type ChangeProperties struct {
	EventTimestamp  time.Time    `json:"eventTimestamp"`
	OperationName   string       `json:"operationName"` // such as Microsoft.Scheduler/jobCollections/jobs/write
	Status          ChangeStatus `json:"status"`
	Caller          string       `json:"caller,omitempty"`
	ClientIPAddress string       `json:"clientIpAddress,omitempty"`
	CorrelationID   string       `json:"correlationId,omitempty"`
	Client          string       `json:"client,omitempty"`  // the Temporal client, if no API made the change
	Message         string       `json:"message,omitempty"` // why it failed, or how it was made
	Differences     []Difference `json:"differences,omitempty"`
}

// A ChangeStatus is how a change stands.
type ChangeStatus string

// The statuses of a change.
const (
	ChangeStarted   ChangeStatus = "Started"
	ChangeSucceeded ChangeStatus = "Succeeded"
	ChangeFailed    ChangeStatus = "Failed"
)

// A Difference is a member with another value. From and To are JSON; they are absent where there was or is none, and for
// secrets.
type Difference struct {
	Path   string          `json:"path"`
	From   json.RawMessage `json:"from,omitempty"`
	To     json.RawMessage `json:"to,omitempty"`
	Hidden bool            `json:"hidden,omitempty"` // it is a secret
}

// Changes returns who changed a job and what, newest first.
func (c *Client) Changes(ctx context.Context, collection, name string, l List) iter.Seq2[Change, error] {
	return lists[Change](ctx, c, c.jobAt(collection, name, "changes"), nil, l)
}

// ChangesPage returns a page of who changed a job and what.
func (c *Client) ChangesPage(ctx context.Context, collection, name string, l List) (Page[Change], error) {
	return pageOf[Change](ctx, c, c.jobAt(collection, name, "changes"), nil, l)
}

// CollectionChanges returns who changed a job collection and what, newest first.
func (c *Client) CollectionChanges(ctx context.Context, collection string, l List) iter.Seq2[Change, error] {
	return lists[Change](ctx, c, c.collectionAt(collection, "changes"), nil, l)
}
