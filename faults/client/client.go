// Package client changes and reads jobs over Almanac's REST API, and records the answers.
package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"almanac/faults/record"
	"almanac/internal/wait"
)

// A Client calls the APIs of Almanac, each request the one that the caller chooses.
type Client struct {
	urls []string
	http *http.Client
}

// callTime is how long a call waits for its answer.
const callTime = 2 * time.Minute

// New returns a client of the APIs at these URLs.
func New(urls []string) *Client {
	return &Client{urls, &http.Client{
		Timeout:   callTime,
		Transport: &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: 20 * time.Second},
	}}
}

// CreateCollection creates a collection of jobs.
func (c *Client) CreateCollection(ctx context.Context, name string) error {
	t, _, _ := c.call(ctx, 0, http.MethodPut, collectionPath(name), `{"properties":{"sku":{"name":"P20Premium"}}}`)
	if t.Status/100 != 2 {
		return fmt.Errorf("create the collection %s: %d %s", name, t.Status, t.Error)
	}
	return nil
}

// Change makes one try of a change, by the API with that number, and waits until it is applied. body is that
// of the request, empty for a change that has none.
func (c *Client) Change(ctx context.Context, api int, kind string, j record.Job, body string) record.Try {
	method, path := changeRequest(kind, j)
	t, _, header := c.call(ctx, api, method, path, body)
	if t.Status == http.StatusAccepted {
		return c.awaitOperation(ctx, t, header.Get("Location"))
	}
	return t
}

func changeRequest(kind string, j record.Job) (method, path string) {
	switch kind {
	case record.Create:
		return http.MethodPut, jobPath(j)
	case record.Delete:
		return http.MethodDelete, jobPath(j)
	case record.ManualRun:
		return http.MethodPost, jobPath(j) + "/run"
	case record.Skip:
		return http.MethodPost, jobPath(j) + "/skip"
	case record.DisableCollection:
		return http.MethodPost, collectionPath(j.Collection) + "/disable"
	case record.EnableCollection:
		return http.MethodPost, collectionPath(j.Collection) + "/enable"
	}
	return http.MethodPatch, jobPath(j)
}

// maxPolls bounds how often the status of an operation is read.
const maxPolls = 300

// awaitOperation waits until an accepted operation has ended. It returns the try with the operation's answer.
func (c *Client) awaitOperation(ctx context.Context, t record.Try, location string) record.Try {
	for range maxPolls {
		if wait.For(ctx, 200*time.Millisecond) != nil {
			break
		}
		next, _, _ := c.call(ctx, 0, http.MethodGet, pathOf(location), "")
		next.Issued = t.Issued
		switch next.Status {
		case http.StatusOK:
			return next
		case http.StatusNotFound:
			next.Status = 0
			return next
		}
	}
	t.Status, t.Error, t.Answered = 0, "the operation did not end", time.Now().UTC()
	return t
}

// call makes one request. Status 0 means that it got no answer.
func (c *Client) call(ctx context.Context, api int, method, path, body string) (record.Try, []byte, http.Header) {
	t := record.Try{Issued: time.Now().UTC()}
	text, header, err := c.send(ctx, &t, c.urls[api%len(c.urls)]+path, method, body)
	t.Answered = time.Now().UTC()
	switch {
	case err != nil:
		t.Status, t.Error = 0, err.Error()
	case t.Status >= 300:
		t.Error = strings.ToValidUTF8(string(text[:min(len(text), 300)]), "")
	}
	return t, text, header
}

func (c *Client) send(ctx context.Context, t *record.Try, url, method, body string) ([]byte, http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	req.GetBody = nil // the client must not repeat a request that may have arrived
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	t.Status = resp.StatusCode
	return text, resp.Header, err
}

// get reads a resource, and tries again for about a minute. A status other than 200 or 404 is an error.
func (c *Client) get(ctx context.Context, path string, into any) (status int, err error) {
	var t record.Try
	for try := range 60 {
		var text []byte
		if t, text, _ = c.call(ctx, try, http.MethodGet, path, ""); t.Status == http.StatusNotFound {
			return t.Status, nil
		}
		if t.Status == http.StatusOK {
			return t.Status, json.Unmarshal(text, into)
		}
		if err := wait.For(ctx, time.Second); err != nil {
			return t.Status, err
		}
	}
	return t.Status, fmt.Errorf("GET %s was answered %d sixty times: %s", path, t.Status, t.Error)
}

func collectionPath(name string) string { return "/jobCollections/" + name }
func jobPath(j record.Job) string       { return collectionPath(j.Collection) + "/jobs/" + j.Name }

// pathOf returns a link without its scheme and host.
func pathOf(link string) string {
	_, rest, found := strings.Cut(link, "://")
	if !found {
		return link
	}
	_, path, _ := strings.Cut(rest, "/")
	return "/" + path
}
