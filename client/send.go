package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
)

// maxAnswer is how much of an answer is read, in bytes. A page of 100 jobs of 24 KiB each is below it.
const maxAnswer = 16 << 20

// A Condition is a precondition of a request.
type Condition func(http.Header)

// IfMatch lets a request through only if what it is about has this ETag.
func IfMatch(etag string) Condition { return func(h http.Header) { h.Set("If-Match", etag) } }

// IfExists lets a request through only if what it is about exists: a PUT replaces and does not create.
func IfExists() Condition { return IfMatch("*") }

// IfNoneMatch has a GET return [ErrNotModified] if the answer still has this ETag.
func IfNoneMatch(etag string) Condition { return func(h http.Header) { h.Set("If-None-Match", etag) } }

// IfAbsent lets a request through only if what it is about does not exist: a PUT creates and does not replace.
func IfAbsent() Condition { return IfNoneMatch("*") }

// named gives a request a name, under which it can be repeated.
func named(name string) Condition {
	return func(h http.Header) {
		if name != "" {
			h.Set("Repeatability-Request-ID", name)
		}
	}
}

// A message is a request to be sent.
type message struct {
	method     string
	at         place
	query      url.Values
	body       any // nil: none; json.RawMessage as it is
	conditions []Condition
}

// An answer is an answer without an error.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// call sends a request, and decodes the body of the answer into result, unless that is nil.
func (c *Client) call(ctx context.Context, m message, result any) (*answer, error) {
	r, err := c.request(ctx, m)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, fmt.Errorf("call the API: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the answer of the API: %w", err)
	case len(body) > maxAnswer:
		return nil, fmt.Errorf("the answer to %s %s has more than %d bytes", m.method, m.at.path, maxAnswer)
	case resp.StatusCode == http.StatusNotModified:
		return nil, ErrNotModified
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return nil, errorOf(m, resp, body)
	}
	if result != nil {
		if err := json.Unmarshal(body, result); err != nil {
			return nil, fmt.Errorf("the answer to %s %s cannot be read: %w", m.method, m.at.path, err)
		}
	}
	return &answer{resp.StatusCode, resp.Header, body}, nil
}

func (c *Client) request(ctx context.Context, m message) (*http.Request, error) {
	query := url.Values{}
	maps.Copy(query, m.at.query)
	maps.Copy(query, m.query)
	target := c.base + m.at.path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	var body io.Reader
	if m.body != nil {
		text, err := json.Marshal(m.body)
		if err != nil {
			return nil, fmt.Errorf("the body of %s %s: %w", m.method, m.at.path, err)
		}
		body = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, m.method, target, body)
	if err != nil {
		return nil, fmt.Errorf("the request %s %s: %w", m.method, m.at.path, err)
	}
	r.Header.Set("Accept", "application/json")
	if m.body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	for _, condition := range m.conditions {
		condition(r.Header)
	}
	return r, nil
}

// get calls GET, and decodes the answer.
func get[T any](ctx context.Context, c *Client, at place, conditions ...Condition) (result T, a *answer, err error) {
	a, err = c.call(ctx, message{method: http.MethodGet, at: at, conditions: conditions}, &result)
	return result, a, err
}

// post calls POST without a body, and decodes the answer.
func post[T any](ctx context.Context, c *Client, at place, query url.Values, conditions ...Condition) (result T, a *answer, err error) {
	a, err = c.call(ctx, message{method: http.MethodPost, at: at, query: query, conditions: conditions}, &result)
	return result, a, err
}
