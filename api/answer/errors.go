package answer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"almanac/job"
)

// statuses are the HTTP statuses of the kinds of error that are shown to callers.
var statuses = map[job.Kind]int{
	job.KindInvalid:     http.StatusBadRequest,
	job.KindNotFound:    http.StatusNotFound,
	job.KindConflict:    http.StatusConflict,
	job.KindTooLarge:    http.StatusRequestEntityTooLarge,
	job.KindForbidden:   http.StatusForbidden,
	job.KindUnavailable: http.StatusServiceUnavailable,

	job.KindPrecondition: http.StatusPreconditionFailed,
	job.KindTooMany:      http.StatusTooManyRequests,
}

// statusClientClosedRequest is for the log only: the client has closed the connection.
const statusClientClosedRequest = 499

// RetryAfter is the Retry-After of 503 answers, in seconds.
const RetryAfter = "2"

var internal = job.ErrorBody{Code: "InternalServerError",
	Message: "Almanac could not process the request. Its log says why, under the ID in the header x-ms-request-id.",
}

// Errors answers requests that failed.
type Errors struct {
	Log     *slog.Logger  // gets internal errors, which are not shown
	Timeout time.Duration // of a request, for the message if it is over
}

// Handle adapts a handler that returns an error.
func (e Errors) Handle(f func(*gin.Context) error) gin.HandlerFunc {
	return func(c *gin.Context) {
		if err := f(c); err != nil {
			e.Fail(c, err)
		}
	}
}

// Fail answers a request with an error, and ends it. Internal errors are logged and answered with 500 without their
// text.
func (e Errors) Fail(c *gin.Context, err error) {
	ctx := c.Request.Context()
	if errors.Is(ctx.Err(), context.Canceled) {
		c.Abort()
		c.Status(statusClientClosedRequest)
		return
	}
	status := http.StatusInternalServerError
	if shown := e.public(ctx, err); shown != nil {
		status = statuses[shown.Kind]
		if shown.RetryAfter > 0 {
			c.Header("Retry-After", strconv.Itoa(int((shown.RetryAfter+time.Second-1)/time.Second)))
		}
	}
	if status == http.StatusServiceUnavailable {
		c.Header("Retry-After", RetryAfter)
	}
	Error(c, status, e.Body(ctx, c.Request.Method, err, "request failed", LogID(c)))
}

// Body returns what the sender of a request of that method is shown of an error. It logs one that is internal, as
// failure with attrs.
func (e Errors) Body(ctx context.Context, method string, err error, failure string, attrs ...slog.Attr) job.ErrorBody {
	if shown := e.public(ctx, err); shown != nil {
		body := shown.Body()
		if shown.Unanswered {
			body.Message += afterNoAnswer(method, shown.Unchanged)
		}
		return body
	}
	if !errors.Is(ctx.Err(), context.Canceled) {
		e.Log.LogAttrs(
			ctx, slog.LevelError, failure,
			append([]slog.Attr{slog.Any("error", err), slog.Any("cause", rootOf(err))}, attrs...)...,
		)
	}
	return internal
}

// afterNoAnswer returns what the sender of a request of that method should do who got no answer.
func afterNoAnswer(method string, unchanged bool) string {
	switch {
	case method == http.MethodGet || method == http.MethodHead:
		return " Try again."
	case unchanged:
		return " Nothing was changed. Try again."
	}
	return " A change may or may not have been applied: check before you try again."
}

// public returns the error to show to the caller; nil for an internal error.
func (e Errors) public(ctx context.Context, err error) *job.Error {
	shown, _ := errors.AsType[*job.Error](err)
	switch {
	case shown != nil && statuses[shown.Kind] != 0:
		return shown
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &job.Error{
			Kind: job.KindUnavailable, Code: "ServiceUnavailable", Unanswered: true,
			Message: fmt.Sprintf("There was no answer within %s.", e.Timeout),
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

// Recover is a handler that answers 500 and logs if a later one panics.
func (e Errors) Recover(c *gin.Context) {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(err) // net/http handles it
		}
		e.Log.ErrorContext(c.Request.Context(), "handler panicked",
			slog.Any("panic", cause), slog.String("stack", string(debug.Stack())), LogID(c))
		c.Abort()
		if !c.Writer.Written() {
			Error(c, http.StatusInternalServerError, internal)
		}
	}()
	c.Next()
}
