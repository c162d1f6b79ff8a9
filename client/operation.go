package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"time"
)

// An Operation is a change of a job collection that takes a while.
type Operation struct {
	ID     string          `json:"id"`
	Name   string          `json:"name"` // by which [Client.Operation] finds it
	Status OperationStatus `json:"status"`
	Error  *ErrorBody      `json:"error,omitempty"` // why it failed

	RetryAfter time.Duration `json:"-"` // after which to ask again
}

// An OperationStatus is how an operation stands.
type OperationStatus string

// The statuses of an operation.
const (
	InProgress OperationStatus = "InProgress"
	Succeeded  OperationStatus = "Succeeded"
	Failed     OperationStatus = "Failed"
)

// begin sends a request that may take longer than its answer.
func (c *Client) begin(ctx context.Context, collection string, m message) (*Operation, error) {
	a, err := c.call(ctx, m, nil)
	if err != nil || a.status != http.StatusAccepted {
		return nil, err
	}
	o := &Operation{Name: lastPart(a.header.Get("Location")), Status: InProgress, RetryAfter: retryAfter(a.header)}
	if o.Name == "" {
		return nil, errors.New("the answer does not name the operation on the job collection " + collection)
	}
	return o, nil
}

// lastPart returns the last part of the path of a URL.
func lastPart(link string) string {
	u, err := url.Parse(link)
	if err != nil || u.Path == "" {
		return ""
	}
	return path.Base(u.Path)
}

// retryAfter returns when to ask again: after a second if an answer does not say it.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 1 {
		seconds = 1
	}
	return time.Duration(seconds) * time.Second
}

// Operation returns how an operation on a job collection stands.
func (c *Client) Operation(ctx context.Context, collection, name string) (Operation, error) {
	o, a, err := get[Operation](ctx, c, c.collectionAt(collection, "operations", name))
	if err == nil {
		o.RetryAfter = retryAfter(a.header)
	}
	return o, err
}

// OperationResult reports whether an operation on a job collection has succeeded. Its error is that of the operation.
func (c *Client) OperationResult(ctx context.Context, collection, name string) (done bool, err error) {
	a, err := c.call(ctx, message{method: http.MethodGet, at: c.collectionAt(collection, "operationResults", name)}, nil)
	return err == nil && a.status == http.StatusOK, err
}

// Wait returns when an operation has ended. The error is an [*Error] without a status if the operation failed. A nil
// operation has ended.
func (c *Client) Wait(ctx context.Context, collection string, o *Operation) error {
	if o == nil {
		return nil
	}
	for now := *o; ; {
		switch now.Status {
		case Succeeded:
			return nil
		case Failed:
			failed := &Error{Message: "the operation failed"}
			if now.Error != nil {
				failed.Code, failed.Message, failed.Details = now.Error.Code, now.Error.Message, now.Error.Details
			}
			return failed
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(max(now.RetryAfter, time.Second)):
		}
		var err error
		if now, err = c.Operation(ctx, collection, o.Name); err != nil {
			return err
		}
	}
}
