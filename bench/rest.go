package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// A rest calls Almanac's REST API.
type rest struct {
	url    string
	client *http.Client
	once   bool // jobs get retryType none
}

func newREST(url string) *rest {
	return &rest{url: url, client: &http.Client{
		Timeout:   time.Minute,
		Transport: &http.Transport{MaxIdleConnsPerHost: 2 * parallel}, // and no proxy
	}}
}

func (r *rest) close() { r.client.CloseIdleConnections() }

// A statusError is an answer that was not wanted.
type statusError struct {
	call string
	code int
	body string
}

func (e *statusError) Error() string { return fmt.Sprintf("%s: %d %s", e.call, e.code, e.body) }

// maxErrorBody is how much of an answer an error quotes, in bytes.
const maxErrorBody = 500

// call sends body, unless it is nil, as JSON and returns the answer's body. An
// answer whose status is none of those wanted is a [statusError].
func (r *rest) call(ctx context.Context, method, path string, body any, want ...int) ([]byte, error) {
	sent := []byte(nil)
	if body != nil {
		var err error
		if sent, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, r.url+path, bytes.NewReader(sent))
	if err != nil {
		return nil, err
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if !slices.Contains(want, resp.StatusCode) {
		return nil, &statusError{method + " " + path, resp.StatusCode, string(text[:min(len(text), maxErrorBody)])}
	}
	return text, nil
}

// An object is a JSON object that is sent.
type object map[string]any

func collectionPath(collection string) string {
	return "/jobCollections/" + url.PathEscape(collection)
}

func jobPath(collection, job string) string {
	return collectionPath(collection) + "/jobs/" + url.PathEscape(job)
}

func (r *rest) putCollection(ctx context.Context, name string) error {
	_, err := r.call(ctx, http.MethodPut, collectionPath(name), object{"properties": object{"sku": object{"name": "P20Premium"}}},
		http.StatusOK, http.StatusCreated)
	return err
}

// putJob creates a job that calls a target; more is added to its properties.
// Under full load the API may answer that Temporal did not in time; it is asked
// again then, as the answer says.
func (r *rest) putJob(ctx context.Context, collection, name, target string, more object) error {
	action := object{"type": "Http", "request": object{"method": "GET", "uri": target}}
	if r.once {
		action["retryPolicy"] = object{"retryType": "none"}
	}
	properties := object{"action": action}
	maps.Copy(properties, more)
	for end := time.Now().Add(putWithin); ; {
		_, err := r.call(ctx, http.MethodPut, jobPath(collection, name), object{"properties": properties}, http.StatusCreated, http.StatusOK)
		answer, ok := errors.AsType[*statusError](err)
		if !ok || answer.code != http.StatusServiceUnavailable || time.Now().After(end) {
			return err
		}
		if err := pause(ctx, putPause); err != nil {
			return err
		}
	}
}

// A job that cannot be created is tried again for as long as putWithin.
const (
	putWithin = time.Minute
	putPause  = 200 * time.Millisecond
)
