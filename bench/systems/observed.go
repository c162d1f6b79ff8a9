package systems

import (
	"context"
	"fmt"
	"io"
	"net/http"
)

// Notify gives the collection of a herd notifications of all events.
func (a *AlmanacAPI) Notify(ctx context.Context, h Herd) error {
	return a.Call(ctx, http.MethodPatch, h.Path(), Object{"properties": Object{"notifications": []Object{{
		"on":     []string{"failed", "recovered", "missed", "late", "disabled", "quiet"},
		"lateBy": "PT1M", "within": "PT1H",
		"target": Object{"type": "Http", "request": Object{"uri": a.receiver.target("notifications", 0)}},
	}}}}, nil)
}

// Metrics reads the metrics of the API, and returns their size in bytes.
func (r *REST) Metrics(ctx context.Context) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+"/metrics", http.NoBody)
	if err != nil {
		return 0, err
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("GET /metrics: %s", resp.Status)
	}
	return int(n), err
}
