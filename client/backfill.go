package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// A BackfillRequest asks for the occurrences of a time to be run, whether or not they were run before.
type BackfillRequest struct {
	From, Until time.Time     // Until is the first instant after it
	Name        string        // "": the API chooses one
	AtOnce      int           // how many run at once, 10 at most; 0: one
	Every       time.Duration // the least time between two starts
}

func (r *BackfillRequest) query() url.Values {
	query := url.Values{"from": {string(At(r.From))}, "until": {string(At(r.Until))}}
	if r.Name != "" {
		query.Set("name", r.Name)
	}
	if r.AtOnce > 0 {
		query.Set("atOnce", strconv.Itoa(r.AtOnce))
	}
	if r.Every > 0 {
		query.Set("every", "PT"+strconv.FormatFloat(r.Every.Seconds(), 'f', -1, 64)+"S")
	}
	return query
}

// A Backfill is a backfill and its progress.
type Backfill struct {
	ID         string             `json:"id"`
	Type       string             `json:"type"`
	Name       string             `json:"name"` // of the job collection, the job and the backfill
	Properties BackfillProperties `json:"properties"`
}

// BackfillProperties are how a backfill stands.
type BackfillProperties struct {
	State     string    `json:"state"` // running, paused, done or ended
	From      time.Time `json:"from"`
	Until     time.Time `json:"until"`
	AtOnce    int       `json:"atOnce"`
	Every     string    `json:"every,omitempty"`
	Total     int       `json:"total"`
	Begun     int       `json:"begun"`
	Succeeded int       `json:"succeeded"`
	Failed    int       `json:"failed"`
	Left      int       `json:"left"`
	Time      time.Time `json:"time"`
	Caller    string    `json:"caller,omitempty"`
	EndTime   time.Time `json:"endTime,omitzero"`
	Reason    string    `json:"reason,omitempty"` // why it ended before all were run, or what it waits for
}

// A BackfillPreview is which occurrences a backfill would run.
type BackfillPreview struct {
	Total       int         `json:"total"`
	More        bool        `json:"more,omitempty"` // there are more than a backfill may have
	Occurrences []time.Time `json:"occurrences"`    // the first 20
	Last        time.Time   `json:"last,omitzero"`
}

// PreviewBackfill returns which occurrences of a job a backfill would run.
func (c *Client) PreviewBackfill(ctx context.Context, collection, name string, r BackfillRequest) (BackfillPreview, error) {
	query := r.query()
	for _, other := range []string{"name", "atOnce", "every"} {
		query.Del(other)
	}
	found, _, err := post[BackfillPreview](ctx, c, c.jobAt(collection, name, "previewBackfill"), query)
	return found, err
}

// Backfill begins to run the occurrences of a time.
func (c *Client) Backfill(ctx context.Context, collection, name string, r BackfillRequest) (Backfill, error) {
	begun, _, err := post[Backfill](ctx, c, c.jobAt(collection, name, "backfill"), r.query())
	return begun, err
}

// ChangeBackfill pauses, resumes or ends a backfill: the action is pause, resume or end.
func (c *Client) ChangeBackfill(ctx context.Context, collection, name, backfill, action string) (Backfill, error) {
	changed, _, err := post[Backfill](ctx, c, c.jobAt(collection, name, "backfills", backfill), url.Values{"action": {action}})
	return changed, err
}

// Backfills returns the backfills of a job, newest first.
func (c *Client) Backfills(ctx context.Context, collection, name string) ([]Backfill, error) {
	var found struct {
		Value []Backfill `json:"value"`
	}
	_, err := c.call(ctx, message{method: http.MethodGet, at: c.jobAt(collection, name, "backfills")}, &found)
	return found.Value, err
}
