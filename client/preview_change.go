package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// A ChangePreview is what a change does to the next runs of a job.
type ChangePreview struct {
	Runs              []ChangeRun `json:"runs"`
	Same              int         `json:"same"`
	Moves             int         `json:"moves"`
	New               int         `json:"new"`
	Goes              int         `json:"goes"`
	NextExecutionTime time.Time   `json:"nextExecutionTime,omitzero"` // by the new definition
	Done              bool        `json:"done"`                       // no run follows, by either definition
	WasText           string      `json:"wasText,omitempty"`
	Text              string      `json:"text,omitempty"`
	AsOf              time.Time   `json:"asOf,omitzero"` // zero: the other jobs could not be read

	Adjustments []Adjustment `json:"adjustments,omitempty"` // by the calendars of the new definition, up to its last run
}

// A ChangeRun is a run before and after a change.
type ChangeRun struct {
	Change string         `json:"change"` // same, moves, new or goes
	Was    time.Time      `json:"was,omitzero"`
	WillBe time.Time      `json:"willBe,omitzero"`
	Others int            `json:"others,omitempty"` // other jobs that are due in the second of WillBe
	Host   *ForecastCount `json:"host,omitempty"`   // the host with the most of them
}

// PreviewChange returns what a PUT of a job would do to its next runs: take of each definition, or 10 if it is 0.
func (c *Client) PreviewChange(
	ctx context.Context, collection, name string, take int, p JobProperties,
) (ChangePreview, error) {
	return c.PreviewChangeBody(ctx, collection, name, take, Job{Properties: p})
}

// PreviewChangeBody is PreviewChange for any body, such as a [encoding/json.RawMessage].
func (c *Client) PreviewChangeBody(
	ctx context.Context, collection, name string, take int, body any,
) (ChangePreview, error) {
	query := url.Values{}
	if take > 0 {
		query.Set("take", strconv.Itoa(take))
	}
	return c.previewChange(ctx, collection, name, query, body)
}

// PreviewChangeBeside is PreviewChange that counts other jobs with the first runs only, with as many as others says:
// where there are thousands of jobs, that takes less time.
func (c *Client) PreviewChangeBeside(
	ctx context.Context, collection, name string, take, others int, p JobProperties,
) (ChangePreview, error) {
	query := url.Values{"take": {strconv.Itoa(take)}, "others": {strconv.Itoa(others)}}
	return c.previewChange(ctx, collection, name, query, Job{Properties: p})
}

func (c *Client) previewChange(
	ctx context.Context, collection, name string, query url.Values, body any,
) (found ChangePreview, err error) {
	m := message{
		method: http.MethodPost, at: c.jobAt(collection, name, "previewChange"), query: query, body: body,
	}
	_, err = c.call(ctx, m, &found)
	return found, err
}
