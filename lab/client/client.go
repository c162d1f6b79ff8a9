// Package client calls Almanac's REST API.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// A Client calls the APIs of an Almanac. Its methods may be called concurrently.
type Client struct {
	urls  []string
	token string // empty: none is sent
	http  *http.Client
}

// callTime is how long a call waits for its answer.
const callTime = 2 * time.Minute

// New returns a client of the APIs at these URLs. It sends a token, unless that is empty.
func New(token string, urls ...string) *Client {
	return &Client{urls, token, &http.Client{
		Timeout:   callTime,
		Transport: &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: 20 * time.Second}, // and no proxy
	}}
}

// Close closes the connections that no call uses.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// An Object is a JSON object.
type Object map[string]any

// Properties returns the body of a request with some properties of a job or of a collection.
func Properties(o Object) Object { return Object{"properties": o} }

// An Answer is one with any status.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Send sends one request to the API with a number, counted modulo their number. body is sent as JSON unless it is nil.
// An error means that the answer did not come, or not as a whole.
func (c *Client) Send(ctx context.Context, api int, method, path string, body Object) (Answer, error) {
	var text bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&text).Encode(body); err != nil {
			return Answer{}, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, c.urls[api%len(c.urls)]+path, &text)
	if err != nil {
		return Answer{}, err
	}
	req.GetBody = nil // the transport must not repeat a request that may have arrived
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	a := Answer{Status: resp.StatusCode, Header: resp.Header}
	a.Body, err = io.ReadAll(resp.Body)
	return a, err
}

// A statusError is an answer other than 2xx.
type statusError struct {
	call   string
	answer Answer
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%s: %d %.500s", e.call, e.answer.Status, e.answer.Body)
}

// HasStatus reports whether an error is an answer with that status.
func HasStatus(err error, status int) bool {
	e, ok := errors.AsType[*statusError](err)
	return ok && e.answer.Status == status
}

// Call sends a request to the first API as [Client.CallAPI] does.
func (c *Client) Call(ctx context.Context, method, path string, body Object, into any) error {
	return c.CallAPI(ctx, 0, method, path, body, into)
}

// CallAPI sends a request to the API with a number, and decodes the answer unless into is nil. Any answer other than
// 2xx is an error.
func (c *Client) CallAPI(ctx context.Context, api int, method, path string, body Object, into any) error {
	a, err := c.Send(ctx, api, method, path, body)
	switch {
	case err != nil:
		return fmt.Errorf("%s %s: %w", method, path, err)
	case a.Status/100 != 2:
		return &statusError{method + " " + path, a}
	case into != nil:
		return json.Unmarshal(a.Body, into)
	}
	return nil
}

// CreateCollection creates a collection with the largest plan.
func (c *Client) CreateCollection(ctx context.Context, name string) error {
	return c.CreateCollectionWith(ctx, name, 0)
}

// CreateCollectionWith is [Client.CreateCollection] with a maximum number of jobs; 0 means that of the plan.
func (c *Client) CreateCollectionWith(ctx context.Context, name string, jobs int) error {
	p := Object{"sku": Object{"name": "P20Premium"}}
	if jobs > 0 {
		p["quota"] = Object{"maxJobCount": jobs}
	}
	return c.Call(ctx, http.MethodPut, CollectionPath(name), Properties(p), nil)
}

// CollectionPath returns the path of a collection.
func CollectionPath(name string) string { return "/jobCollections/" + name }

// JobPath returns the path of a job.
func JobPath(collection, name string) string { return CollectionPath(collection) + "/jobs/" + name }

// PathOf returns a link without its scheme and host.
func PathOf(link string) string {
	_, rest, found := strings.Cut(link, "://")
	if !found {
		return link
	}
	_, path, _ := strings.Cut(rest, "/")
	return "/" + path
}
