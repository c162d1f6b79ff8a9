package console

import (
	"fmt"
	"sync"

	"almanac/client"
)

// maxHours is how many forecasts are kept.
const maxHours = 200

// hours are the forecasts of the next hour that Home has shown, by what they are of: a window begins anew every ten
// seconds. To count them takes a while where there are thousands of jobs.
type hours struct {
	mu  sync.Mutex
	all map[string]client.Forecast
}

// of returns the forecast of a window, as it was counted for another page of the same caller unless something was
// changed through this process since.
func (h *hours) of(p *page, window client.Window) (client.Forecast, error) {
	key := fmt.Sprint(lookKey(p), window.From.Unix(), p.console.looks.changes.Load())
	h.mu.Lock()
	found, ok := h.all[key]
	h.mu.Unlock()
	if ok {
		return found, nil
	}
	found, err := p.api().Forecast(p.ctx, client.Scope{}, window)
	if err != nil {
		return found, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all == nil || len(h.all) >= maxHours {
		h.all = map[string]client.Forecast{}
	}
	h.all[key] = found
	return found, nil
}
