package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"almanac/job"
)

const codeBadRequest = "BadRequest"

// statuses are the HTTP statuses of the kinds of error that are shown to callers.
var statuses = map[job.Kind]int{
	job.KindInvalid:     http.StatusBadRequest,
	job.KindNotFound:    http.StatusNotFound,
	job.KindConflict:    http.StatusConflict,
	job.KindTooLarge:    http.StatusRequestEntityTooLarge,
	job.KindForbidden:   http.StatusForbidden,
	job.KindUnavailable: http.StatusServiceUnavailable,
}

// statusClientClosedRequest is for the log only: the client has closed the connection.
const statusClientClosedRequest = 499

// retryAfter is the Retry-After of 503 answers, in seconds.
const retryAfter = "2"

var internalError = errorEnvelope{job.ErrorBody{Code: "InternalServerError",
	Message: "Almanac could not process the request. Its log says why, under the ID in the header x-ms-request-id.",
}}

// fail answers a request with an error. Internal errors are logged and answered with 500 without their
// text.
func (s *server) fail(c *gin.Context, err error) {
	c.Abort()
	ctx := c.Request.Context()
	if errors.Is(ctx.Err(), context.Canceled) {
		c.Status(statusClientClosedRequest)
		return
	}
	e := s.publicError(ctx, err)
	if e == nil {
		s.Log.ErrorContext(ctx, "request failed", slog.Any("error", err), slog.Any("cause", rootOf(err)), requestID(c))
		_ = reply(c, http.StatusInternalServerError, internalError)
		return
	}
	if e.Kind == job.KindUnavailable {
		c.Header("Retry-After", retryAfter)
	}
	body := e.Body()
	if e.Unanswered {
		body.Message += afterNoAnswer(c.Request.Method)
	}
	c.Set(codeKey, body.Code)
	_ = reply(c, statuses[e.Kind], errorEnvelope{body})
}

// afterNoAnswer returns what a caller should do who got no answer to a request of that method.
func afterNoAnswer(method string) string {
	if slices.Contains(reading, method) {
		return " Try again."
	}
	return " A change may or may not have been applied: check before you try again."
}

// publicError returns the error to show to the caller; nil for an internal error.
func (s *server) publicError(ctx context.Context, err error) *job.Error {
	e, _ := errors.AsType[*job.Error](err)
	switch {
	case e != nil && statuses[e.Kind] != 0:
		return e
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &job.Error{
			Kind: job.KindUnavailable, Code: "ServiceUnavailable", Unanswered: true,
			Message: fmt.Sprintf("There was no answer within %s.", s.Timeout),
		}
	}
	return nil
}

// rootOf returns the innermost error, which the text of a [job.Error] leaves out.
func rootOf(err error) error {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err
}
