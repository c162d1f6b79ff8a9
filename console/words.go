package console

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"

	"almanac/client"
)

// maxWords is how many recurrences a [cache] remembers.
const maxWords = 20_000

// A cache has the words of recurrences, as the API says them.
type cache struct {
	mu    sync.Mutex
	words map[string]string
}

func (c *cache) get(key string) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	text, ok := c.words[key]
	return text, ok
}

func (c *cache) put(key, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.words == nil || len(c.words) >= maxWords {
		c.words = map[string]string{}
	}
	c.words[key] = text
}

// when returns when a job repeats, in English.
func (p *page) when(collection string, j *client.JobProperties) (string, error) {
	if j.Recurrence == nil {
		return "once", nil
	}
	key, err := json.Marshal([]any{j.StartTime, j.Recurrence})
	if err != nil {
		return "", err
	}
	if text, ok := p.console.words.get(string(key)); ok {
		return text, nil
	}
	found, err := preview(p.ctx, p.api(), collection, j, 1)
	switch {
	case err != nil && len(j.Recurrence.Calendars) > 0: // the page of the job says why
		return "by calendars that cannot be read now", nil
	case client.StatusOf(err) == http.StatusBadRequest: // of a job that was stored when more was accepted
		return "by a recurrence that would not be accepted any more", nil
	}
	if err != nil {
		return "", err
	}
	p.console.words.put(string(key), found.Text)
	return found.Text, nil
}

// preview returns when a job of a collection would run.
func preview(
	ctx context.Context, c *client.Client, collection string, j *client.JobProperties, take int,
) (client.PreviewResult, error) {
	return c.PreviewIn(ctx, collection, client.Preview{Take: take, Properties: &client.PreviewProperties{StartTime: j.StartTime, Recurrence: j.Recurrence}})
}
