package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/gin-gonic/gin"

	"almanac/job"
)

const codeBadRequest = "BadRequest"

// statuses are those of the kinds of failure that are shown.
var statuses = map[job.Kind]int{
	job.KindInvalid:     http.StatusBadRequest,
	job.KindNotFound:    http.StatusNotFound,
	job.KindConflict:    http.StatusConflict,
	job.KindTooLarge:    http.StatusRequestEntityTooLarge,
	job.KindUnavailable: http.StatusServiceUnavailable,
}

// statusClientClosedRequest is only ever logged: the client is gone.
const statusClientClosedRequest = 499

// retryAfter is how many seconds a client should wait for what is not
// available now.
const retryAfter = "2"

var internalError = errorEnvelope{job.ErrorBody{Code: "InternalServerError", Message: "internal error"}}

// fail answers a request with an error. What is not for the caller is logged.
func (s *server) fail(c *gin.Context, err error) {
	c.Abort()
	ctx := c.Request.Context()
	if errors.Is(ctx.Err(), context.Canceled) {
		c.Status(statusClientClosedRequest)
		return
	}
	e, _ := errors.AsType[*job.Error](err)
	status, shown := statuses[job.KindOf(err)]
	if !shown && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e, status, shown = s.late(), http.StatusServiceUnavailable, true
	}
	if !shown {
		s.log.ErrorContext(ctx, "request failed", slog.Any("error", err), slog.Any("cause", rootOf(err)), requestID(c))
		_ = reply(c, http.StatusInternalServerError, internalError)
		return
	}
	if status == http.StatusServiceUnavailable {
		c.Header("Retry-After", retryAfter)
	}
	_ = reply(c, status, errorEnvelope{e.Body()})
}

// rootOf returns the innermost error, which a [job.Error] keeps out of its text.
func rootOf(err error) error {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err
}

// late returns the error for a request that took too long.
func (s *server) late() *job.Error {
	return &job.Error{
		Kind: job.KindUnavailable, Code: "ServiceUnavailable",
		Message: fmt.Sprintf("There was no answer within %s. What was asked for may have been done or not; look, and try again.", s.timeout),
	}
}
