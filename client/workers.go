package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Workers are those on record in a window.
type Workers struct {
	From     time.Time  `json:"from"`
	Until    time.Time  `json:"until"`
	Since    time.Time  `json:"since"` // of what was before, nothing is known
	Value    []Worker   `json:"value"`
	Absences []TimeSpan `json:"absences"` // no worker checked in
}

// A Worker is a process that runs jobs.
type Worker struct {
	Name         string     `json:"name"` // its process and host
	Version      string     `json:"version,omitempty"`
	ZoneInfo     string     `json:"zoneinfo,omitempty"` // release of its time zone database
	FirstCheckIn time.Time  `json:"firstCheckIn"`
	LastCheckIn  time.Time  `json:"lastCheckIn"`
	End          string     `json:"end,omitempty"`  // stopped or lost; empty if it is there
	Gaps         []TimeSpan `json:"gaps,omitempty"` // times without a check-in of more than 15 s
}

// A TimeSpan is a time.
type TimeSpan struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// Workers returns the workers that were there in a window, the first to come first: from its beginning, 24 hours before
// its end if it is zero, until its end, which is now if it is zero.
func (c *Client) Workers(ctx context.Context, from, until time.Time) (w Workers, err error) {
	query := url.Values{}
	if !from.IsZero() {
		query.Set("from", string(At(from)))
	}
	if !until.IsZero() {
		query.Set("until", string(At(until)))
	}
	_, err = c.call(ctx, message{method: http.MethodGet, at: c.wholeSubscription("workers"), query: query}, &w)
	return w, err
}
