// Package exit says with which status the program ends.
package exit

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"almanac/client"
)

// The statuses, which the help of every command of the client has.
const (
	OK          = 0
	Failed      = 1 // it was done and failed, such as a run that is waited for, or the service failed
	Usage       = 2 // the command line or a file is wrong, or a question could not be asked
	NotFound    = 3
	Refused     = 4 // the service refused it, or whoever was asked
	Unreachable = 5
)

// UsageStatus is the annotation with the status of a command whose command line is wrong, if it is not [Usage].
const UsageStatus = "almanac/exit/usage"

// Help describes the statuses.
const Help = `Exit status: 0 fine, 1 failed, 2 wrong command line, 3 not found, 4 refused,
5 the API cannot be reached.`

// An Error is an error with a status.
type Error struct {
	Code int
	Err  error // nil: there is nothing to print, because it was printed
}

// With returns an error with a status; nil if err is.
func With(code int, err error) error {
	if err == nil {
		return nil
	}
	return &Error{code, err}
}

// Silent returns an error of which nothing is printed.
func Silent(code int) error { return &Error{Code: code} }

// Error returns what is wrong.
func (e *Error) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

// Unwrap returns the error without its status.
func (e *Error) Unwrap() error { return e.Err }

// Status returns the own status of an error, or [Failed].
func Status(err error) int {
	if own, ok := errors.AsType[*Error](err); ok {
		return own.Code
	}
	return Failed
}

// CodeOf returns the status of an error: its own, or that of the answer of the API or of the connection.
func CodeOf(err error) int {
	if err == nil {
		return OK
	}
	if own, ok := errors.AsType[*Error](err); ok {
		return own.Code
	}
	if errors.Is(err, context.Canceled) { // by an interrupt
		return Failed
	}
	if answered, ok := errors.AsType[*client.Error](err); ok {
		return ofAnswer(answered)
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		return Unreachable
	}
	return Failed
}

func ofAnswer(e *client.Error) int {
	switch {
	case e.Status == 0: // of an operation
		return Failed
	case e.Code == "": // not of the API
		return Unreachable
	case e.Status == http.StatusServiceUnavailable, e.Status == http.StatusGatewayTimeout:
		return Unreachable
	case e.Status == http.StatusNotFound:
		return NotFound
	case e.Status < http.StatusInternalServerError:
		return Refused
	}
	return Failed
}
