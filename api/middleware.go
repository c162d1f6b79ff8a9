package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"almanac/access"
	"almanac/job"
)

const (
	headerRequestID     = "X-Ms-Request-Id"
	headerCorrelationID = "X-Ms-Correlation-Request-Id"
	headerRoutingID     = "X-Ms-Routing-Request-Id" // region:time:correlation
)

// identify sets the headers that all answers have.
func (s *server) identify(c *gin.Context) {
	correlation := c.GetHeader(headerCorrelationID)
	if len(correlation) != len(uuid.Nil.String()) || uuid.Validate(correlation) != nil {
		correlation = uuid.NewString()
	}
	c.Header(headerRequestID, uuid.NewString())
	c.Header(headerCorrelationID, correlation)
	c.Header(headerRoutingID, "ALMANAC:"+time.Now().UTC().Format("20060102T150405Z")+":"+correlation)
	c.Header("Cache-Control", "no-store")
	c.Header("Pragma", "no-cache")
	c.Header("Expires", "-1")
	c.Header("X-Content-Type-Options", "nosniff")
}

// parameters are the names in route templates, as callers know them.
var parameters = strings.NewReplacer(":jc", "{collection}", ":job", "{job}", ":id", "{id}", ":file", "{file}")

// observe measures every request.
func (s *server) observe(c *gin.Context) {
	if s.Observe == nil {
		return
	}
	route := c.FullPath()
	if _, short, long := strings.Cut(route, provider); long {
		route = short
	}
	ctx, end := s.Observe(c.Request, parameters.Replace(route))
	c.Request = c.Request.WithContext(ctx)
	c.Next()
	end(c.Writer.Status())
}

// logAccess logs every request, at level debug for probes. It leaves out the query, which may hold secrets
// sent by mistake.
func (s *server) logAccess(c *gin.Context) {
	start := time.Now()
	c.Next()
	level := slog.LevelInfo
	if isProbe(c.FullPath()) {
		level = slog.LevelDebug
	}
	s.Log.LogAttrs(c.Request.Context(), level, "request answered",
		slog.String("method", c.Request.Method), slog.String("path", c.Request.URL.Path),
		slog.Int("status", c.Writer.Status()), slog.Int("bytes", max(c.Writer.Size(), 0)),
		slog.Duration("took", time.Since(start)), slog.String("client", c.ClientIP()), requestID(c), principal(c))
}

// principal returns the log attribute with who sent the request; an empty one, which is not logged, if nothing asked.
func principal(c *gin.Context) slog.Attr {
	if who := access.PrincipalOf(c.Request.Context()); who != nil {
		return slog.String("principal", who.ID())
	}
	return slog.Attr{}
}

// requestID returns the log attribute with the request ID of the answer.
func requestID(c *gin.Context) slog.Attr {
	return slog.String("request", c.Writer.Header().Get(headerRequestID))
}

// recoverPanic answers 500 and logs if a handler panics.
func (s *server) recoverPanic(c *gin.Context) {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(err) // net/http handles it
		}
		s.Log.ErrorContext(c.Request.Context(), "handler panicked",
			slog.Any("panic", cause), slog.String("stack", string(debug.Stack())), requestID(c))
		c.Abort()
		if !c.Writer.Written() {
			_ = reply(c, http.StatusInternalServerError, internalError)
		}
	}()
	c.Next()
}

// limitTime gives the request a deadline.
func (s *server) limitTime(c *gin.Context) {
	ctx, cancel := context.WithTimeout(c.Request.Context(), s.Timeout)
	defer cancel()
	c.Request = c.Request.WithContext(ctx)
	c.Next()
}

// admit aborts requests that the guard answers itself.
func (s *server) admit(c *gin.Context) {
	if s.Guard == nil {
		return
	}
	admitted := false
	s.Guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { admitted = true })).ServeHTTP(c.Writer, c.Request)
	if !admitted {
		c.Abort()
	}
}

// refuseCrossOrigin answers 403 to requests that a browser sends for a page of another site: where the API asks
// for no login, any page that its user visits could otherwise call it. Other clients are not affected.
func (s *server) refuseCrossOrigin(c *gin.Context) {
	if err := s.crossOrigin.Check(c.Request); err != nil {
		s.fail(c, &job.Error{
			Kind: job.KindForbidden, Code: "CrossOriginRequestForbidden",
			Message: "Web pages of other sites may not send requests that change something.", Err: err,
		})
	}
}

// handle adapts a handler that returns an error.
func (s *server) handle(f func(*gin.Context) error) gin.HandlerFunc {
	return func(c *gin.Context) {
		if err := f(c); err != nil {
			s.fail(c, err)
		}
	}
}

// readBody reads a body of any content type, up to the limit set by [New]. A Content-Encoding other than
// identity is an error.
func readBody(c *gin.Context) ([]byte, error) {
	if encoding := strings.Join(c.Request.Header.Values("Content-Encoding"), ", "); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, &job.Error{
			Kind: job.KindInvalid, Code: codeBadRequest,
			Message: fmt.Sprintf("The body has the Content-Encoding %.40q; send it without one.", encoding),
		}
	}
	body, err := c.GetRawData()
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, &job.Error{
			Kind: job.KindTooLarge, Code: "RequestEntityTooLarge",
			Message: fmt.Sprintf("The body is larger than %d bytes, which is the limit.", tooLarge.Limit),
		}
	}
	if err != nil {
		return nil, &job.Error{Kind: job.KindInvalid, Code: codeBadRequest, Message: "The body could not be read to its end.", Err: err}
	}
	return body, nil
}
