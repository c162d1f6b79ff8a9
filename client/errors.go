package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ErrNotModified is the error of a GET with [IfNoneMatch] if nothing has changed.
var ErrNotModified = errors.New("it has not changed")

// An Error is an answer of the API that says that a request was refused or failed.
type Error struct {
	Status  int           // of HTTP
	Code    string        // what is wrong, for programs, such as ResourceNotFound; "" if the answer is not of the API
	Message string        // what is wrong, for people
	Details []ErrorDetail // one for each bad member

	// RetryAfter is after which time the request can be sent again, if the API says so.
	RetryAfter time.Duration

	// RequestID identifies the request in the log of the API.
	RequestID string

	Method, Path string // of the request
}

// An ErrorBody says what is wrong.
type ErrorBody struct {
	Code    string        `json:"code"`
	Message string        `json:"message"`
	Details []ErrorDetail `json:"details,omitempty"`
}

// An ErrorDetail says what is wrong with one member of a body, one parameter or one header.
type ErrorDetail struct {
	Code    string `json:"code"`    // such as OutOfRange
	Target  string `json:"target"`  // such as properties.recurrence.interval
	Message string `json:"message"` // the target, what is wrong, and what is allowed or what to do
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Field returns the first bad member; "" if there is none.
func (e *Error) Field() string {
	if len(e.Details) == 0 {
		return ""
	}
	return e.Details[0].Target
}

// StatusOf returns the HTTP status of the [Error] in err's tree; 0 if there is none.
func StatusOf(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Status
	}
	return 0
}

// CodeOf returns the code of the [Error] in err's tree; "" if there is none.
func CodeOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

// IsNotFound reports whether something does not exist, or the caller may not see it.
func IsNotFound(err error) bool { return StatusOf(err) == http.StatusNotFound }

// IsChanged reports whether a precondition does not hold, and therefore nothing was done.
func IsChanged(err error) bool { return StatusOf(err) == http.StatusPreconditionFailed }

// errorOf returns the error of an answer.
func errorOf(m message, resp *http.Response, body []byte) *Error {
	e := &Error{
		Status: resp.StatusCode, RequestID: resp.Header.Get("X-Ms-Request-Id"), Method: m.method, Path: m.at.path,
	}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	var said struct {
		Error ErrorBody `json:"error"`
	}
	if json.Unmarshal(body, &said) == nil && said.Error.Code != "" {
		e.Code, e.Message, e.Details = said.Error.Code, said.Error.Message, said.Error.Details
		return e
	}
	e.Message = fmt.Sprintf("%s %s was answered with %s, and not by Almanac", m.method, m.at.path,
		strings.TrimSpace(strconv.Itoa(resp.StatusCode)+" "+http.StatusText(resp.StatusCode)))
	return e
}

// An UnreadError is an entry of a list that the API could not read. The entries after it follow.
type UnreadError struct {
	ID     string
	Name   string
	Reason string // a sentence for people
}

// Error returns the name and the reason.
func (e *UnreadError) Error() string { return e.Name + ": " + e.Reason }
