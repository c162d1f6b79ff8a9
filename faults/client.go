//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"almanac/faults/laws"
)

// A caller calls the APIs.
type caller struct {
	system *system
	client *http.Client
}

func newCaller(s *system) *caller {
	return &caller{s, &http.Client{
		Timeout:   callTime,
		Transport: &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: 20 * time.Second},
	}}
}

// callTime is how long an answer is waited for.
const callTime = 2 * time.Minute

// call makes one request and returns the answer. Status 0 means that there was none.
func (c *caller) call(ctx context.Context, api int, method, path, body string) (laws.Try, []byte, http.Header) {
	t := laws.Try{Issued: time.Now().UTC()}
	text, header, err := c.send(ctx, &t, c.system.api(api)+path, method, body)
	t.Answered = time.Now().UTC()
	switch {
	case err != nil:
		t.Status, t.Error = 0, err.Error()
	case t.Status >= 300:
		t.Error = strings.ToValidUTF8(string(text[:min(len(text), 300)]), "")
	}
	return t, text, header
}

func (c *caller) send(ctx context.Context, t *laws.Try, url, method, body string) ([]byte, http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	req.GetBody = nil // the client must not repeat what may have arrived
	resp, err := c.client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	t.Status = resp.StatusCode
	return text, resp.Header, err
}

// get reads something until that works, at most for a while.
func (c *caller) get(ctx context.Context, path string, into any) (laws.Try, error) {
	var t laws.Try
	for try := range 60 {
		var text []byte
		if t, text, _ = c.call(ctx, try, http.MethodGet, path, ""); t.Status == http.StatusNotFound {
			return t, nil
		}
		if t.Status == http.StatusOK {
			return t, json.Unmarshal(text, into)
		}
		if err := pause(ctx, time.Second); err != nil {
			return t, err
		}
	}
	return t, fmt.Errorf("GET %s was answered %d sixty times: %s", path, t.Status, t.Error)
}

// pause waits for a while, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func collectionPath(name string) string { return "/jobCollections/" + name }
func jobPath(j laws.Job) string         { return collectionPath(j.Collection) + "/jobs/" + j.Name }
