package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// A Preview is a question: when would a job run?
type Preview struct {
	ID         any                `json:"id,omitempty"`   // a text or a number, which the answer has as well
	Now        Time               `json:"now,omitempty"`  // when the job is created; the current time by default
	Take       int                `json:"take,omitempty"` // how many occurrences at most; 10 by default
	Properties *PreviewProperties `json:"properties,omitempty"`

	// Calendars of the job by their names. They stand before those that are stored, which only PreviewIn reads.
	Calendars map[string]CalendarProperties `json:"calendars,omitempty"`
}

// PreviewProperties are of a job what a preview takes. The action is only checked.
type PreviewProperties struct {
	StartTime  Time        `json:"startTime,omitempty"`
	Action     *Action     `json:"action,omitempty"`
	Recurrence *Recurrence `json:"recurrence,omitempty"`
	State      JobState    `json:"state,omitempty"`
	Blackouts  []Blackout  `json:"blackouts,omitempty"`
}

// A PreviewResult is when a job would run.
type PreviewResult struct {
	ID          any         `json:"id,omitempty"`
	Occurrences []time.Time `json:"occurrences"`
	Done        bool        `json:"done"`            // there is none after those
	Text        string      `json:"text,omitempty"`  // the recurrence in English
	Notes       []string    `json:"notes,omitempty"` // sentences about what may surprise

	Adjustments []Adjustment `json:"adjustments,omitempty"` // up to the last occurrence
}

// An Adjustment is what calendars make of an occurrence, or of those of a day that they skip for one reason.
type Adjustment struct {
	Change                string           `json:"change"`                         // moved or skipped
	NominalTime           time.Time        `json:"nominalTime"`                    // of several, of the first
	ExpectedExecutionTime time.Time        `json:"expectedExecutionTime,omitzero"` // of one that is moved
	Count                 int              `json:"count,omitempty"`                // how many are skipped
	Text                  string           `json:"text"`
	Reason                string           `json:"reason"`
	Calendars             []CalendarReason `json:"calendars,omitempty"`
}

// Preview returns when a job would run. Nothing is stored.
func (c *Client) Preview(ctx context.Context, p Preview) (PreviewResult, error) {
	return c.PreviewBody(ctx, p)
}

// PreviewBody returns when a job would run, for any body.
func (c *Client) PreviewBody(ctx context.Context, body any) (PreviewResult, error) {
	found, _, err := send[PreviewResult](ctx, c, http.MethodPost, c.group("previewRecurrence"), body, nil)
	return found, err
}

// PreviewIn returns when a job of a job collection would run, by the calendars there.
func (c *Client) PreviewIn(ctx context.Context, collection string, p Preview) (PreviewResult, error) {
	return c.PreviewBodyIn(ctx, collection, p)
}

// PreviewBodyIn is PreviewIn for any body.
func (c *Client) PreviewBodyIn(ctx context.Context, collection string, body any) (PreviewResult, error) {
	found, _, err := send[PreviewResult](ctx, c, http.MethodPost, c.collectionAt(collection, "previewRecurrence"), body, nil)
	return found, err
}

// An Index says where things are.
type Index struct {
	Service   string   `json:"service"`
	Version   string   `json:"version,omitempty"`
	Resources []string `json:"resources"`
	Preview   string   `json:"preview"`
	OpenAPI   string   `json:"openapi"`
	Docs      string   `json:"docs"`
	Health    string   `json:"health"`
	Readiness string   `json:"readiness"`
}

// Index returns where things are.
func (c *Client) Index(ctx context.Context) (Index, error) {
	found, _, err := get[Index](ctx, c, place{path: "/"})
	return found, err
}

// A Health is the status of the service.
type Health struct {
	Status  string `json:"status"`            // alive, ready or not ready
	Missing string `json:"missing,omitempty"` // what is missing
	Problem string `json:"problem,omitempty"` // what is wrong although jobs can be stored and run
	Build   *Build `json:"build,omitempty"`
}

// A Build is what the program was built from.
type Build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Go       string `json:"go"`
	SDK      string `json:"sdk"`
	Server   string `json:"server,omitempty"`   // of the embedded Temporal server
	ZoneInfo string `json:"zoneinfo,omitempty"` // the release of the IANA time zone database
}

// Health returns whether the process is alive, and what it was built from.
func (c *Client) Health(ctx context.Context) (Health, error) {
	found, _, err := get[Health](ctx, c, place{path: "/healthz"})
	return found, err
}

// Ready returns whether jobs can be stored and run. That they cannot is no error.
func (c *Client) Ready(ctx context.Context) (Health, error) {
	r, err := c.request(ctx, message{method: http.MethodGet, at: place{path: "/readyz"}})
	if err != nil {
		return Health{}, err
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return Health{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return Health{}, fmt.Errorf("read the answer of the API: %w", err)
	}
	var found Health
	if err := json.Unmarshal(body, &found); err != nil || found.Status == "" {
		return Health{}, errorOf(message{method: http.MethodGet, at: place{path: "/readyz"}}, resp, body)
	}
	return found, nil
}

// OpenAPI returns the description of the API, in YAML.
func (c *Client) OpenAPI(ctx context.Context) ([]byte, error) { return c.text(ctx, "/openapi.yaml") }

// JobSchema returns the JSON schema of job files.
func (c *Client) JobSchema(ctx context.Context) ([]byte, error) {
	return c.text(ctx, "/job.schema.json")
}

// Metrics returns the metrics of the process that answers, in the text format of Prometheus.
func (c *Client) Metrics(ctx context.Context) ([]byte, error) { return c.text(ctx, "/metrics") }

func (c *Client) text(ctx context.Context, path string) ([]byte, error) {
	m := message{method: http.MethodGet, at: place{path: path}, conditions: []Condition{anyType}}
	a, err := c.call(ctx, m, nil)
	if err != nil {
		return nil, err
	}
	return a.body, nil
}

func anyType(h http.Header) { h.Set("Accept", "*/*") }
