package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// A Window says what is counted in a forecast. The zero value stands for an hour from now, by the minute.
type Window struct {
	From, Until time.Time
	Step        string // an ISO 8601 duration of whole seconds
	Host        string // of the actions; "" for all
	Except      string // a job of the collection that is not counted
}

func (w Window) query() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"step": w.Step, "host": w.Host, "except": w.Except} {
		if value != "" {
			q.Set(name, value)
		}
	}
	for name, at := range map[string]time.Time{"from": w.From, "until": w.Until} {
		if !at.IsZero() {
			q.Set(name, string(At(at)))
		}
	}
	return q
}

// A Forecast says how many occurrences come due in a window.
type Forecast struct {
	From     time.Time        `json:"from"`
	Until    time.Time        `json:"until"`    // the end of what was counted
	Complete bool             `json:"complete"` // that is the end of the window
	Step     string           `json:"step"`
	Due      int              `json:"due"`
	Steps    []ForecastStep   `json:"steps"`   // those in which something is due
	Fullest  []ForecastSecond `json:"fullest"` // the 8 fullest seconds
	// Unspread is the fullest second if no job had a flexible window; nil if none has.
	Unspread    *ForecastFullest `json:"unspread,omitempty"`
	Hosts       []ForecastCount  `json:"hosts"`
	Collections []ForecastCount  `json:"collections"` // by "resource group/name"
	Jobs        int              `json:"jobs"`
	Unread      int              `json:"unread"`
	AsOf        time.Time        `json:"asOf"`

	Occurrences []ForecastSecond `json:"occurrences,omitempty"` // of the job in the body, with how many others are due
	Done        bool             `json:"done,omitempty"`        // none follows those
}

// A ForecastStep is how many occurrences are due in a step.
type ForecastStep struct {
	Time       time.Time       `json:"time"`
	Due        int             `json:"due"`
	Fullest    ForecastFullest `json:"fullest"`
	Host       *ForecastCount  `json:"host,omitempty"`       // the one with the most
	Collection *ForecastCount  `json:"collection,omitempty"` // likewise
}

// A ForecastFullest is the fullest second of a step.
type ForecastFullest struct {
	Time time.Time `json:"time"`
	Due  int       `json:"due"`
}

// A ForecastSecond is how many occurrences are due in a second.
type ForecastSecond struct {
	Time       time.Time      `json:"time"`
	Due        int            `json:"due"`
	Host       *ForecastCount `json:"host,omitempty"`       // the one with the most
	Collection *ForecastCount `json:"collection,omitempty"` // likewise
}

// A ForecastCount is how many occurrences a host or a job collection has.
type ForecastCount struct {
	Name string `json:"name"`
	Due  int    `json:"due"`
}

// Forecast returns how many occurrences come due in a window.
func (c *Client) Forecast(ctx context.Context, of Scope, w Window) (found Forecast, err error) {
	_, err = c.call(ctx, message{method: http.MethodGet, at: c.scoped(of, "forecast"), query: w.query()}, &found)
	return found, err
}

// ForecastBeside is Forecast with the next occurrences of a job that is not stored, and how many others are due with
// each.
func (c *Client) ForecastBeside(ctx context.Context, of Scope, w Window, p Preview) (Forecast, error) {
	return c.ForecastBesideBody(ctx, of, w, p)
}

// ForecastBesideBody is ForecastBeside for any body, such as a [encoding/json.RawMessage].
func (c *Client) ForecastBesideBody(ctx context.Context, of Scope, w Window, body any) (found Forecast, err error) {
	m := message{method: http.MethodPost, at: c.scoped(of, "forecast"), query: w.query(), body: body}
	_, err = c.call(ctx, m, &found)
	return found, err
}
