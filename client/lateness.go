package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// A Lateness is how late executions began: with this page and those before it.
type Lateness struct {
	ID         string             `json:"id"`
	Type       string             `json:"type"`
	Name       string             `json:"name"` // of the job collection, and of the job
	Properties LatenessProperties `json:"properties"`
	NextLink   string             `json:"nextLink"` // "" on the last page
}

// LatenessProperties are what was counted.
type LatenessProperties struct {
	From        time.Time           `json:"from"`
	Until       time.Time           `json:"until"`
	Jobs        int                 `json:"jobs"`
	JobsRead    int                 `json:"jobsRead"`
	Complete    bool                `json:"complete"` // all jobs were read
	Executions  int                 `json:"executions"`
	Percentiles LatenessPercentiles `json:"percentiles"`
	Histogram   []LatenessBar       `json:"histogram"`
	Slowest     []LateExecution     `json:"slowest"`          // ten at most, the latest first
	Unread      []UnreadJob         `json:"unread,omitempty"` // of this page
}

// LatenessPercentiles are those of the lateness, of what makes it up, and of what comes on top, as in a [Split].
type LatenessPercentiles struct {
	Lateness        Percentiles `json:"lateness"`
	Worker          Percentiles `json:"worker"`
	Server          Percentiles `json:"server"`
	Place           Percentiles `json:"place"`
	Send            Percentiles `json:"send"`
	EarlierAttempts Percentiles `json:"earlierAttempts"`
}

// Percentiles are in seconds.
type Percentiles struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// A LatenessBar is how many executions were less than Below late, in seconds, and not less than the bar before says. The
// last one has no bound.
type LatenessBar struct {
	Below float64 `json:"below,omitempty"`
	Count int     `json:"count"`
}

// A LateExecution is one of those that were the latest.
type LateExecution struct {
	ID                    string    `json:"id"`   // of the execution
	Name                  string    `json:"name"` // of the job
	ExpectedExecutionTime time.Time `json:"expectedExecutionTime"`
	Split                 *Split    `json:"split"`
}

// An UnreadJob is a job that could not be read.
type UnreadJob struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// CollectionLateness returns how late the executions of a collection's jobs began whose first attempts started in a
// window: from its beginning, 24 hours before its end if it is zero, until its end, which is now if it is zero. It reads
// all pages, which takes a while for thousands of jobs. If ctx ends or a page fails, what the pages before it have
// counted is returned with the error.
func (c *Client) CollectionLateness(ctx context.Context, collection string, from, until time.Time) (Lateness, error) {
	return c.lateness(ctx, c.collectionAt(collection, "lateness"), from, until)
}

// JobLateness is [Client.CollectionLateness] for one job.
func (c *Client) JobLateness(ctx context.Context, collection, name string, from, until time.Time) (Lateness, error) {
	return c.lateness(ctx, c.jobAt(collection, name, "lateness"), from, until)
}

func (c *Client) lateness(ctx context.Context, at place, from, until time.Time) (l Lateness, err error) {
	query := url.Values{}
	if !from.IsZero() {
		query.Set("from", string(At(from)))
	}
	if !until.IsZero() {
		query.Set("until", string(At(until)))
	}
	for {
		var page Lateness
		if _, err = c.call(ctx, message{method: http.MethodGet, at: at, query: query}, &page); err != nil || page.NextLink == "" {
			if err == nil {
				l = page
			}
			return l, err
		}
		l = page
		next, err := url.Parse(l.NextLink)
		if err != nil {
			return l, err
		}
		query = next.Query()
		query.Del("api-version")
	}
}
